"""A pytest plugin: every skip stands in ``tests/skips.txt``, and every line there is still needed.

Loaded by ``conftest.py`` at the root. A test of a tier that this run did not ask for, or that this machine
cannot ask for (tier 4 without root), may be skipped; anything else that is skipped without being in the table
fails the run. So does a line of the table whose test ran.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.check.skips import TABLE, Skip, parse

PLAIN = "2-plain"
"""Tier 2 on a node in mode plain."""

EMBEDDED = ("2", PLAIN)
"""Here the same files run as on a real cluster, and know nothing of it: the table does not only allow their
skips, it makes them."""

TIER = "tier"  # the property that carries a test's tier from where it runs to where it is judged


class SkipTable:
    """Compares the skips of one run with the table. Pure but for what pytest calls."""

    def __init__(self, skips: list[Skip], asked: set[str]) -> None:
        self._reasons = {(skip.test, skip.tier): skip.reason for skip in skips}
        self._asked = asked
        self.faults: list[str] = []

    def judge(self, report: pytest.TestReport) -> None:
        """Look at one phase of one test."""
        test = report.nodeid.partition("[")[0]
        tier = str(dict(report.user_properties).get(TIER, "1"))
        listed = self._reasons.get((test, tier))
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = reason_of(report)
            if tier in self._asked and listed != reason:
                self.faults.append(f"{test} (tier {tier}) was skipped: {reason}")
        elif report.when == "call" and report.passed and listed is not None:
            self.faults.append(f"{test} (tier {tier}) ran, but {TABLE} says it is skipped")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.judge(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.faults.append(f"{report.nodeid} was skipped whole; skip its tests, and list them in {TABLE}")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.faults and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.faults:
            terminalreporter.section(f"differs from {TABLE}", red=True)
            for fault in dict.fromkeys(self.faults):
                terminalreporter.line(fault)


def reason_of(report: pytest.TestReport) -> str:
    """``longrepr`` of a skip is (file, line, "Skipped: reason")."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def tier_of(item: pytest.Item) -> str:
    if os.environ.get("MOORAGE_TEST_EMBEDDED") == "1":
        return PLAIN if os.environ.get("MOORAGE_TEST_NODE_MODE") == "plain" else "2"
    # Markers, not keywords: those also hold the names of folders, and tests/cluster is one.
    if item.get_closest_marker("node"):
        return "4"
    return "3" if item.get_closest_marker("cluster") else "1"


def asked_tiers(environment: Mapping[str, str], user: int) -> set[str]:
    """Which tiers must run. On someone's own cluster the tests say themselves what it cannot do."""
    asked = {"1", "2", PLAIN}
    if environment.get("MOORAGE_TEST_KUBECONFIG"):
        return asked
    if environment.get("MOORAGE_TEST_CLUSTER") == "1":
        asked.add("3")
        if user == 0:
            asked.add("4")
    return asked


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    listed = {(skip.test, skip.tier): skip.reason for skip in read_table(config)}
    for item in items:
        tier = tier_of(item)
        item.user_properties.append((TIER, tier))
        reason = listed.get((item.nodeid.partition("[")[0], tier))
        if tier in EMBEDDED and reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


def read_table(config: pytest.Config) -> list[Skip]:
    table = Path(config.rootpath) / TABLE
    return parse(table.read_text()) if table.exists() else []


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # with several processes, only the one that hears all of them judges
    plugin = SkipTable(read_table(config), asked_tiers(os.environ, os.geteuid()))
    config.pluginmanager.register(plugin, "moorage-skip-table")
