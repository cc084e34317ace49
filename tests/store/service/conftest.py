"""The service's part of an open store."""

from __future__ import annotations

import pytest

from moorage.ports.service import ServiceStore
from moorage.store import SqlStore


@pytest.fixture
def service(store: SqlStore) -> ServiceStore:
    return store.service
