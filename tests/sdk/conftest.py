"""A sandbox on scripted verbs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from moorage import AsyncSandbox
from tests.sdk.fakes import Verbs


@pytest.fixture
def verbs() -> Verbs:
    """The script, and what was asked of it."""
    return Verbs()


@pytest.fixture
async def sandbox(verbs: Verbs) -> AsyncIterator[AsyncSandbox]:
    """One that was connected to, so that nothing of its launch is in the way."""
    connected = await AsyncSandbox.connect("brisk-otter", at=verbs)
    verbs.calls.clear()
    yield connected
    await connected.close()
