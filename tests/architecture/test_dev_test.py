"""What ``./dev test`` runs for the words after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.test.__main__ import parts
from tools.test.options import parse

CI = {"CI": "true"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "agentctl").mkdir()
    (tmp_path / "agentctl/go.mod").write_text("module agentctl\n")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "environment", "titles"),
    [
        ("", {}, ["go test", "pytest"]),
        ("--cluster", {}, ["go test", "pytest"]),
        ("tests/core -k plan", {}, ["pytest"]),
        ("--mutants", {}, ["mutants"]),
        ("--mutants delete-without-uid", {}, ["mutants"]),
        ("--kubernetes 1.32", {}, ["pytest on Kubernetes 1.32"]),
        ("--faults 5000", {}, ["faults in the embedded cluster", "faults on the way to a real one"]),
        ("", CI, ["check", "go test", "mutants", "pytest"]),
        ("tests/core", CI, ["pytest"]),
    ],
)
def test_the_parts_of_a_run(
    words: str, environment: dict[str, str], titles: list[str], checkout: Path
) -> None:
    assert [part.title for part in parts(parse(words.split(), environment), checkout)] == titles


def test_where_there_is_kubectl_the_contract_runs_on_the_embedded_cluster_too(checkout: Path) -> None:
    chosen = parts(parse([], {}), checkout, kubectl=True)
    assert [part.title for part in chosen] == ["go test", "pytest on the embedded cluster", "pytest"]
    assert "--embedded" in chosen[1].argv


def test_ci_runs_the_contract_on_it_but_for_the_crashes_and_a_part_in_mode_plain(checkout: Path) -> None:
    here, whole, plain = [
        part.argv
        for environment in ({}, CI)
        for part in parts(parse([], environment), checkout, kubectl=True)
        if "--embedded" in part.argv
    ]
    no_crashes = "--ignore=tests/contract/sessions/test_crash.py"
    assert whole[whole.index("--embedded") :] == ("--embedded", "tests/contract", no_crashes)
    assert "tests/contract" not in here
    assert "--plain" in plain


def test_without_a_cluster_the_tests_that_need_one_are_not_selected(checkout: Path) -> None:
    light, cluster = (parts(parse(words, {}), checkout)[-1].argv for words in ([], ["--cluster"]))
    assert "not cluster and not node" in light
    assert "-m" not in cluster[cluster.index("pytest") :]


def test_words_of_pytest_reach_it_in_order(checkout: Path) -> None:
    (part,) = parts(parse(["--cluster", "-k", "stop", "tests/contract", "-x"], {}), checkout)
    assert part.argv[-4:] == ("-k", "stop", "tests/contract", "-x")


def test_only_ci_runs_the_race_detector(checkout: Path) -> None:
    here, ci = (parts(parse([], environment), checkout) for environment in ({}, CI))
    assert [("-race" in part.argv) for part in here if part.title == "go test"] == [False]
    assert [("-race" in part.argv) for part in ci if part.title == "go test"] == [True]


def test_the_name_of_a_mutant_is_not_a_word_of_pytest() -> None:
    options = parse(["--mutants", "delete-without-uid", "-x"], {})
    assert (options.mutant, options.pytest) == ("delete-without-uid", ("-x",))


def test_as_many_schedules_of_faults_run_as_are_asked_for() -> None:
    assert parse(["--faults", "5000", "-x"], {}).faults == "5000"
    assert parse(["--faults", "-x"], {}).faults == "200"
    assert parse([], {}).faults == ""
