"""Mutants are usable as written, and the program that runs them cannot be fooled."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tools.mutants.copy import broken
from tools.mutants.mutant import Mutant, Unusable, read, read_all
from tools.mutants.tests import Runner, Verdict, go_verdict, pytest_verdict

ROOT = Path(__file__).resolve().parents[2]
MUTANT = Mutant(
    "sample", "one is less than two", "a.py", old="a < b", new="a > b", tests=("tests/test_a.py::test_x",)
)


def test_every_mutant_still_fits_the_code_it_breaks() -> None:
    for mutant in read_all(ROOT):
        assert mutant.applied_to((ROOT / mutant.file).read_text()), mutant.name


def test_every_test_a_mutant_names_is_in_the_tree() -> None:
    for mutant in read_all(ROOT):
        for test in mutant.tests:
            place, _, name = test.partition("::")
            files = [ROOT / place] if place.endswith(".py") else (ROOT / place).glob("*_test.go")
            text = "".join(file.read_text() for file in files)
            assert f" {name.rsplit('::', 1)[-1].partition('[')[0]}(" in text, f"{mutant.name} names {test}"


@pytest.mark.parametrize(
    "text", ["if a < b and a < b:\n    x\n", "if a > b:\n    x\n"], ids=["twice", "never"]
)
def test_a_mutant_must_fit_exactly_once(text: str) -> None:
    with pytest.raises(Unusable, match="it must stand there once"):
        MUTANT.applied_to(text)


def test_a_mutant_that_is_not_python_proves_nothing_and_is_refused() -> None:
    with pytest.raises(Unusable, match="is not Python"):
        MUTANT.applied_to("if a < b\n")


def test_the_copy_is_whole_again_after_a_mutant(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = a < b\n")
    with broken(tmp_path, MUTANT):
        assert (tmp_path / "a.py").read_text() == "x = a > b\n"
    assert (tmp_path / "a.py").read_text() == "x = a < b\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("promise = 'p'\n", "has no file, old, tests"),
        (
            "promise = 'p'\nfile = 'f'\nold = 'o'\nnew = 'n'\ntests = ['t']\nteir = 3\n",
            "teir means nothing here",
        ),
        ("promise = 'p'\nfile = 'f'\nold = 'o'\nnew = 'n'\ntests = ['t']\ntier = 9\n", "tier must be one of"),
        ("promise = \n", "sample.toml"),
    ],
    ids=["parts missing", "a misspelt key", "no such tier", "not TOML"],
)
def test_a_mutant_with_a_fault_is_named(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "sample.toml"
    path.write_text(text)
    with pytest.raises(Unusable, match=why):
        read(path)


def test_each_run_sees_the_code_of_its_moment(tmp_path: Path) -> None:
    for name in ("tools/__init__.py", "tools/mutants"):
        given, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if given.is_dir() else shutil.copy)(given, target)
    (tmp_path / "src").mkdir()
    (tmp_path / "test_it.py").write_text("from it import one\ndef test_it(): assert one == 1\n")
    seen = []
    with closing(Runner(tmp_path)) as runner:
        for value in ("1", "2", "1", "x"):
            (tmp_path / "src/it.py").write_text(f"one = {value}\n")
            seen.append(runner.run(["test_it.py::test_it"])[0])
    assert seen == [Verdict.PASSED, Verdict.FAILED, Verdict.PASSED, Verdict.BROKEN]


REPORTS = {
    "passed": ("<testcase><properties/></testcase>", Verdict.PASSED),
    "failed": ("<testcase><failure/></testcase>", Verdict.FAILED),
    "one of two failed": ("<testcase/><testcase><failure/></testcase>", Verdict.FAILED),
    "failed, then its end did too": (
        "<testcase><failure/></testcase><testcase><error/></testcase>",
        Verdict.FAILED,
    ),
    "a fixture or import that breaks": ("<testcase><error/></testcase>", Verdict.BROKEN),
    "skipped": ("<testcase><skipped/></testcase>", Verdict.BROKEN),
    "one of two skipped": ("<testcase/><testcase><skipped/></testcase>", Verdict.BROKEN),
    "nothing of that name": ("", Verdict.BROKEN),
}


@pytest.mark.parametrize(("cases", "verdict"), REPORTS.values(), ids=REPORTS.keys())
def test_only_a_test_that_ran_and_failed_has_caught_a_mutant(cases: str, verdict: Verdict) -> None:
    assert pytest_verdict(f"<testsuites><testsuite>{cases}</testsuite></testsuites>") is verdict


def test_a_run_without_a_report_has_caught_nothing() -> None:
    assert pytest_verdict("") is Verdict.BROKEN


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "--- PASS: TestIt (0.00s)\nok\n", Verdict.PASSED),
        (1, "--- FAIL: TestIt (0.00s)\nFAIL\n", Verdict.FAILED),
        (2, "goroutine 1\npanic: nil\n", Verdict.FAILED),
        (1, "./a.go:3: undefined: x\nFAIL [build failed]\n", Verdict.BROKEN),
        (0, "testing: warning: no tests to run\n", Verdict.BROKEN),
    ],
)
def test_a_go_test_that_did_not_build_has_caught_nothing(code: int, output: str, verdict: Verdict) -> None:
    assert go_verdict(code, output) is verdict
