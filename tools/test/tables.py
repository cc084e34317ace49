"""A pytest plugin: a table that a test has counted is shown at the end of the run, whichever process ran it.

Loaded by ``conftest.py`` at the root. A test hands one over as the property ``table``.
"""

from __future__ import annotations

import pytest

PROPERTY = "table"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    for report in reports:
        for name, told in report.user_properties if report.when == "call" else ():
            if name == PROPERTY:
                terminalreporter.section(report.nodeid)
                terminalreporter.line(str(told))
