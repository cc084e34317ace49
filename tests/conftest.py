"""The real cluster as pytest fixtures; and which tests may use it.

A test marked `cluster` (API server) or `node` (also a kubelet) runs only with --cluster,
MOORAGE_TEST_CLUSTER=1 or CI=true; else it is deselected, and nothing here starts anything. The
first test that asks for the fixture `cluster` starts it; docs/test-cluster.md lists the variables.
With --embedded, those of tests/contract run on the embedded cluster instead, and no others.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from testcluster import testrun
from testcluster.audit import AuditLog, Judge
from testcluster.cluster import Cluster
from testcluster.shell import wait_for
from testcluster.testrun import RealCluster

from moorage.store import open_store
from tests import postgresql as postgres
from tests.embedded.running import MODE, EmbeddedAudit, Threaded, as_real, on_this_machine

ASKED = "MOORAGE_TEST_CLUSTER"
EMBEDDED = "MOORAGE_TEST_EMBEDDED"
CONTRACT = Path(__file__).parent / "contract"
TIERS = ("cluster", "node")
Rules = list[dict[str, Any]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cluster", action="store_true", help="also run tests marked cluster or node")
    parser.addoption("--embedded", action="store_true", help="run tests/contract on the embedded cluster")
    parser.addoption("--plain", action="store_true", help="with --embedded: its node in mode plain")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--cluster") or os.environ.get("CI") == "true":
        os.environ[ASKED] = "1"  # the workers of pytest-xdist and the table of skips read it here
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a run that is ended takes its cluster down
    # A run in the background of a script begins with Ctrl-C ignored, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # as under nohup
    if config.getoption("--embedded"):
        os.environ[EMBEDDED] = "1"
    if config.getoption("--plain"):
        os.environ[MODE] = "plain"
    testrun.begin_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    testrun.end_run()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _leave_out_programs_that_are_missing(config, items)
    _leave_out_a_database_that_is_missing(config, items)
    tiers = {item: _tier(item) for item in items}
    config.stash[NODES] = 0
    if os.environ.get(EMBEDDED) == "1":
        chosen = [item for item, tier in tiers.items() if tier and item.path.is_relative_to(CONTRACT)]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
        return
    if os.environ.get(ASKED) != "1":
        left_out = [item for item, tier in tiers.items() if tier]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item, tier in tiers.items() if not tier]
        return
    if os.environ.get(testrun.VERSION):
        chosen = [i for i, tier in tiers.items() if tier == "cluster" and not i.get_closest_marker("newest")]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
        return
    own = not os.environ.get(testrun.KUBECONFIG)
    for item, tier in tiers.items():
        if tier == "node" and own and os.geteuid():
            item.add_marker(pytest.mark.skip(reason="a real node needs root"))
    config.stash[NODES] = int("node" in tiers.values() and not os.geteuid())


def _leave_out_programs_that_are_missing(config: pytest.Config, items: list[pytest.Item]) -> None:
    """README asks a newcomer for less than some tests call. In CI such a test runs, and fails."""
    if os.environ.get("CI") == "true":
        return
    wanted = {item: item.get_closest_marker("program") for item in items}
    left_out = [item for item, mark in wanted.items() if mark and shutil.which(mark.args[0]) is None]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _leave_out_a_database_that_is_missing(config: pytest.Config, items: list[pytest.Item]) -> None:
    """As programs that are missing; `./dev test` says so. In CI it is installed before."""
    if os.environ.get("CI") == "true" or postgres.programs() is not None:
        return
    left_out = [item for item in items if item.get_closest_marker("postgresql")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def postgresql() -> Iterator[postgres.Server]:
    """A PostgreSQL server with a database `migrated` that has our tables."""
    programs = postgres.programs()
    assert programs is not None, f"install {postgres.PACKAGE}"
    server = postgres.Server(programs)
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="session")
def migrated(postgresql: postgres.Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with our tables, to begin others from."""
    name = postgresql.new_database()

    async def make() -> None:
        folder = tmp_path_factory.mktemp("migrated")
        await (await open_store(folder, database_url=postgresql.url(name))).close()

    asyncio.run(make())
    return name


@pytest.fixture
def postgresql_url(postgresql: postgres.Server, migrated: str) -> Iterator[str]:
    """Of a database of this test alone."""
    name = postgresql.new_database(migrated)
    yield postgresql.url(name)
    postgresql.drop(name)


NODES = pytest.StashKey[int]()


def _tier(item: pytest.Item) -> str:
    tier = next((name for name in reversed(TIERS) if item.get_closest_marker(name)), "")
    if not tier and "cluster" in getattr(item, "fixturenames", ()):
        raise pytest.UsageError(f"{item.nodeid} uses the fixture cluster: mark it `cluster` or `node`")
    return tier


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Threaded | None]:
    """The embedded cluster of this run, None where it runs on a real one."""
    if os.environ.get(EMBEDDED) != "1":
        yield None
        return
    threaded = on_this_machine(tmp_path_factory.mktemp("embedded"))
    threaded.start()
    yield threaded
    threaded.end()


@pytest.fixture(scope="session")
def short() -> Iterator[Path]:
    """A folder whose path is short enough for unix sockets."""
    with tempfile.TemporaryDirectory(prefix="moorage-e", dir=testrun.new_dir().parent) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def cluster(
    pytestconfig: pytest.Config,
    embedded: Threaded | None,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> RealCluster:
    """The cluster of this run. With tests marked `node` among the selected ones it has a real node."""
    if embedded is not None:
        return as_real(embedded, tmp_path_factory.mktemp("kubeconfig"), request.getfixturevalue("short"))
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    if capture is None:
        return testrun.acquire(pytestconfig.stash[NODES])
    with capture.global_and_fixture_disabled():  # a first build takes minutes: let it be seen
        return testrun.acquire(pytestconfig.stash[NODES])


@pytest.fixture
def kubeconfig(cluster: RealCluster) -> Path:
    """Path of the administrator's kubeconfig."""
    return cluster.kubeconfig


@pytest.fixture
def kubectl(cluster: RealCluster) -> Callable[..., str]:
    """`kubectl(*args, stdin=None, check=True, kubeconfig=None)` → stdout; Failure when refused."""
    return cluster.kubectl


@pytest.fixture
def namespace(cluster: RealCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of this test alone, with its default ServiceAccount."""
    slug = re.sub("[^a-z0-9]+", "-", request.node.name.lower())[:36].strip("-")
    name = f"{slug}-{secrets.token_hex(3)}"
    cluster.kubectl("create", "namespace", name)
    wait_for(
        "the ServiceAccount", lambda: cluster.kubectl("-n", name, "get", "serviceaccount", "default"), 30
    )
    yield name
    cluster.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def local_cluster(cluster: RealCluster) -> Cluster:
    """The launcher's own cluster, for what a kubeconfig cannot do: audit log, volumes on disk, restarts.
    Of the embedded one: images, the processes of containers, certificates."""
    if cluster.local is None:
        pytest.skip("needs the launcher's own cluster, not MOORAGE_TEST_KUBECONFIG")
    return cluster.local


@pytest.fixture
def audit(embedded: Threaded | None, request: pytest.FixtureRequest) -> Judge:
    """What the API servers were asked since the test began."""
    if embedded is not None:
        return Judge(EmbeddedAudit(embedded.cluster))
    return Judge(AuditLog(request.getfixturevalue("local_cluster")))


@pytest.fixture
def limited_user(cluster: RealCluster, namespace: str, tmp_path: Path) -> Callable[[Rules], Path]:
    """`limited_user(rules)` → kubeconfig of a user who may do just that, in the test's namespace."""
    return lambda rules: testrun.limited_kubeconfig(cluster, namespace, rules, tmp_path)
