"""A skip that is not in the committed table fails a run, and so does a line of it that is not needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check.skips import Skip
from tools.test.skip_table import PLAIN, SkipTable, asked_tiers

ROOT = Path(__file__).resolve().parents[2]
TEST = "tests/contract/test_node.py::test_oom"
LISTED = [Skip(1, TEST, "4", "needs cgroup v2")]


def report(outcome: str, reason: str = "", tier: str = "4", nodeid: str = TEST) -> pytest.TestReport:
    longrepr = ("file", 1, f"Skipped: {reason}") if outcome == "skipped" else None
    return pytest.TestReport(
        nodeid=nodeid,
        location=("file", 1, "test"),
        keywords={},
        outcome=outcome,  # type: ignore[arg-type]  # a word of the table below
        longrepr=longrepr,
        when="call",
        user_properties=[("tier", tier)],
    )


@pytest.mark.parametrize(
    ("skips", "seen", "fault"),
    [
        (LISTED, report("skipped", "needs cgroup v2"), ""),
        (LISTED, report("skipped", "needs cgroup v2", nodeid=f"{TEST}[limit]"), ""),
        ([], report("skipped", "needs cgroup v2"), "was skipped: needs cgroup v2"),
        (LISTED, report("skipped", "felt like it"), "was skipped: felt like it"),
        (LISTED, report("passed"), "ran, but tests/skips.txt says it is skipped"),
        ([], report("passed"), ""),
        ([], report("skipped", "no cluster", tier="3"), ""),
    ],
    ids=[
        "listed",
        "listed with parameters",
        "not listed",
        "other reason",
        "not needed",
        "passes",
        "tier not asked",
    ],
)
def test_a_run_is_held_to_the_table(skips: list[Skip], seen: pytest.TestReport, fault: str) -> None:
    table = SkipTable(skips, asked={"1", "4"})
    table.judge(seen)
    assert [message.partition(") ")[2] for message in table.faults] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("environment", "user", "tiers"),
    [
        ({}, 0, {"1", "2", PLAIN}),
        ({"MOORAGE_TEST_CLUSTER": "1"}, 0, {"1", "2", PLAIN, "3", "4"}),
        ({"MOORAGE_TEST_CLUSTER": "1"}, 1000, {"1", "2", PLAIN, "3"}),
        ({"MOORAGE_TEST_CLUSTER": "1", "MOORAGE_TEST_KUBECONFIG": "/k"}, 0, {"1", "2", PLAIN}),
    ],
    ids=["light", "root must run the node", "others cannot", "own cluster: tests say what it cannot do"],
)
def test_root_with_a_cluster_may_skip_no_tier(
    environment: dict[str, str], user: int, tiers: set[str]
) -> None:
    assert asked_tiers(environment, user) == tiers


@pytest.mark.parametrize("processes", ["0", "1"], ids=["one process", "xdist"])
def test_an_unlisted_skip_fails_a_whole_run(pytester: pytest.Pytester, processes: str) -> None:
    settings = f"addopts = -n {processes}\nasyncio_default_fixture_loop_scope = function\n"
    pytester.makeini(f"[pytest]\npythonpath = '{ROOT}'\n{settings}")
    pytester.makeconftest("pytest_plugins = ['tools.test.skip_table']")
    pytester.makepyfile("import pytest\n\ndef test_it():\n    pytest.skip('felt like it')\n")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*test_it (tier 1) was skipped: felt like it"])


@pytest.mark.parametrize(("mode", "tier"), [("namespaces", "2"), ("plain", PLAIN)])
def test_on_the_embedded_cluster_the_table_itself_skips_what_it_lists_and_nothing_else(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: str, tier: str
) -> None:
    monkeypatch.setenv("MOORAGE_TEST_EMBEDDED", "1")
    monkeypatch.setenv("MOORAGE_TEST_NODE_MODE", mode)
    pytester.makeini(f"[pytest]\npythonpath = '{ROOT}'\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest("pytest_plugins = ['tools.test.skip_table']")
    pytester.makepyfile(test_it="def test_own():\n    assert False\n\ndef test_all():\n    pass\n")
    pytester.path.joinpath("tests").mkdir()
    pytester.path.joinpath("tests/skips.txt").write_text(f"test_it.py::test_own | {tier} | sees too much\n")
    result = pytester.runpytest_subprocess("-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*sees too much*"])
    assert result.ret == pytest.ExitCode.OK
