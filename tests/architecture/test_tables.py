"""A table that a test has counted is shown, whether the test ran in this process or in one of several."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COUNTS = """
def test_counts(record_property):
    record_property("table", "knob  verb\\nslow  3")
"""


@pytest.mark.parametrize("at_once", ["0", "2"])
def test_what_a_test_counted_stands_at_the_end_of_the_run(pytester: pytest.Pytester, at_once: str) -> None:
    pytester.makeini(f"[pytest]\npythonpath = '{ROOT}'\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makeconftest("pytest_plugins = ['tools.test.tables']")
    pytester.makepyfile(COUNTS)
    result = pytester.runpytest_subprocess("-q", "-n", at_once)
    result.stdout.fnmatch_lines(["*::test_counts*", "knob  verb", "slow  3"])
    assert result.ret == 0
