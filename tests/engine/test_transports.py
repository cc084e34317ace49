"""The way to agentctl: found out once, remembered, and looked for again when it no longer leads there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import LinkError
from moorage.core.session import Session, change
from moorage.engine import transports
from moorage.engine.transports import Transports, setting
from moorage.ports.store import Store
from moorage.store import open_store
from tests.store.samples import a_session


class Ways:
    """Which transports lead to agentctl; what was tried."""

    def __init__(self, *open_ways: str) -> None:
        self.open = set(open_ways)
        self.tried: list[str] = []

    async def connect(self, cluster: Any, pod: str, container: str, transport: str) -> tuple[str, str]:
        self.tried.append(transport)
        for way in ("portforward", "exec") if transport == "auto" else (transport,):
            if way in self.open:
                return "stream", way
        raise LinkError(f"nobody answers over {transport}")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    ways = Ways("exec")
    monkeypatch.setattr(transports, "connect", ways.connect)
    return ways


def on_runtime(name: str) -> Session:
    session = a_session()
    snapshot = session.inventory.snapshot
    template = {"template": {"spec": {"runtimeClassName": name, "containers": []}}}
    inventory = change(session.inventory, snapshot=change(snapshot, template=template))
    return change(session, inventory=inventory)  # type: ignore[no-any-return]


async def used(store: Store, session: Session) -> str:
    """What a process that starts now uses."""
    return (await Transports(None, store).reach(session))[1]  # type: ignore[arg-type]


async def test_exec_is_remembered_and_port_forward_not_tried_again(store: Store, ways: Ways) -> None:
    assert await used(store, a_session()) == "exec"
    assert await used(store, a_session("s00000000002")) == "exec"
    assert ways.tried == ["auto", "exec"]


async def test_a_remembered_exec_that_fails_gives_way_to_port_forward(store: Store, ways: Ways) -> None:
    await used(store, a_session())
    ways.open = {"portforward"}
    assert await used(store, a_session()) == "portforward"
    assert await store.get_setting(setting(a_session())) == "portforward"


async def test_where_nothing_leads_there_the_remembered_way_says_why_and_stays(
    store: Store, ways: Ways
) -> None:
    await used(store, a_session())
    ways.open = set()
    with pytest.raises(LinkError, match="nobody answers over exec"):
        await used(store, a_session())
    ways.open = {"portforward", "exec"}
    assert await used(store, a_session()) == "exec"


async def test_a_remembered_port_forward_gives_way_to_exec(store: Store, ways: Ways) -> None:
    ways.open = {"portforward", "exec"}
    assert await used(store, a_session()) == "portforward"
    ways.open = {"exec"}
    assert await used(store, a_session()) == "exec"


async def test_another_runtime_class_is_looked_at_for_itself(store: Store, ways: Ways) -> None:
    await used(store, on_runtime("gvisor"))
    ways.open = {"portforward", "exec"}
    assert await used(store, on_runtime("kata")) == "portforward"
    assert await used(store, on_runtime("gvisor")) == "exec"


@pytest.mark.parametrize("named", ["portforward", "exec"])
async def test_a_transport_that_a_person_named_is_used_and_not_remembered(
    store: Store, ways: Ways, named: str
) -> None:
    ways.open = {"portforward", "exec"}
    await store.put_setting(setting(a_session()), "exec" if named == "portforward" else "portforward")
    before = await store.get_setting(setting(a_session()))
    assert await used(store, change(a_session(), transport=named)) == named
    assert ways.tried == [named]
    assert await store.get_setting(setting(a_session())) == before
