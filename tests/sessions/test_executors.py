"""Which cluster a session is looked for on: the one it was made on, unless flags name another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from moorage.core.errors import NotFound, UsageError
from moorage.core.session import Identity
from moorage.ports.cluster import Cluster
from moorage.ports.store import Store
from moorage.sessions.executors import BuiltIn, ExecutorConfig, Executors
from moorage.store import open_store
from tests.cli.scripted_views import make_session

from .fake_cluster import FakeCluster

MADE_ON = ExecutorConfig("/k/config", "build", "agents")
CURRENT = ExecutorConfig("/k/config", "production", "ai")
SESSION = make_session(identity=Identity("inst", MADE_ON.id, "profile", "task", "s00000000001"))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(tmp_path)
    await Executors(opened, _nowhere, None).remember(MADE_ON)
    yield opened
    await opened.close()


async def _nowhere(config: ExecutorConfig) -> Cluster:
    raise AssertionError(config)


@pytest.mark.parametrize(
    ("given", "by_namespace", "asked"),
    [
        (None, None, MADE_ON),
        (None, CURRENT, MADE_ON),
        (CURRENT, None, ExecutorConfig("/k/config", "production", "agents")),
    ],
    ids=["nothing named", "a namespace alone", "another context"],
)
async def test_a_session_is_looked_for_where_it_was_made_unless_a_cluster_is_named(
    store: Store, given: ExecutorConfig | None, by_namespace: ExecutorConfig | None, asked: ExecutorConfig
) -> None:
    connected = []

    async def connect(config: ExecutorConfig) -> Cluster:
        connected.append(config)
        return FakeCluster()

    completed = (lambda: by_namespace) if by_namespace else None
    await Executors(store, connect, given, by_namespace=completed).of(SESSION)
    assert connected == [asked]


async def test_a_namespace_alone_says_where_new_sessions_go(store: Store) -> None:
    executors = Executors(store, _nowhere, None, by_namespace=lambda: CURRENT)
    assert executors.chosen() == CURRENT
    assert executors.where == "context production, namespace ai"


OWN = ExecutorConfig("/data/embedded/kubeconfig", "embedded", "default", embedded=True)
BUILT_IN = BuiltIn(OWN, b"", "linux/amd64", lambda: False)


@pytest.mark.parametrize(
    ("given", "by_namespace", "built_in", "chosen"),
    [
        (CURRENT, None, BUILT_IN, CURRENT),
        (None, CURRENT, BUILT_IN, CURRENT),
        (None, None, BUILT_IN, OWN),
        (None, None, None, None),
    ],
    ids=["a cluster", "a namespace", "nothing", "nothing, and none is built in"],
)
async def test_a_new_session_goes_to_the_embedded_cluster_only_where_nothing_is_named(
    store: Store,
    given: ExecutorConfig | None,
    by_namespace: ExecutorConfig | None,
    built_in: BuiltIn | None,
    chosen: ExecutorConfig | None,
) -> None:
    completed = (lambda: by_namespace) if by_namespace else None
    executors = Executors(store, _nowhere, given, by_namespace=completed, built_in=built_in)
    if chosen is not None:
        assert executors.chosen() == chosen
        assert executors.where == chosen.where
        return
    assert executors.where == ""
    with pytest.raises(UsageError, match="no cluster was named"):
        executors.chosen()


async def test_a_broken_cluster_that_was_named_is_never_replaced_by_the_embedded_one(store: Store) -> None:
    def broken() -> ExecutorConfig:
        raise NotFound("no kubeconfig")

    with pytest.raises(NotFound, match="no kubeconfig"):
        Executors(store, _nowhere, None, by_namespace=broken, built_in=BUILT_IN).chosen()


async def test_a_session_made_on_the_embedded_cluster_stays_there_whatever_is_built_in(store: Store) -> None:
    executors = Executors(store, _nowhere, None, built_in=BUILT_IN)
    await executors.remember(OWN)
    session = make_session(identity=Identity("inst", OWN.id, "profile", "task", "s00000000003"))
    assert await executors.recorded(session) == OWN


async def test_a_session_whose_cluster_is_not_on_record_says_how_to_name_it(store: Store) -> None:
    lost = make_session(identity=Identity("inst", "elsewhere", "profile", "task", "s00000000002"))
    assert await Executors(store, _nowhere, None).recorded(lost) is None
    with pytest.raises(NotFound) as refused:
        await Executors(store, _nowhere, None).of(lost)
    assert refused.value.hint == "name its cluster with --context and -n"


@pytest.mark.parametrize("field", ["kubeconfig", "context", "namespace"])
async def test_a_place_that_could_not_be_recorded_is_refused_in_words(store: Store, field: str) -> None:
    async def connect(config: ExecutorConfig) -> Cluster:
        return FakeCluster()

    place = ExecutorConfig(**{"kubeconfig": "/k", "context": "c", "namespace": "n", field: "x\udcff"})  # type: ignore[arg-type]
    executors = Executors(store, connect, place)
    with pytest.raises(UsageError, match=f"the {field} is not UTF-8 text"):
        await executors.cluster(executors.chosen())
