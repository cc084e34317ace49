"""Every input that is kept, and as many near them as CI has time for, keeps the promises of its target.

``./dev fuzz`` looks for longer and by coverage, and adds what it finds to the corpus.
"""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from tests.fuzz.mutations import near
from tests.fuzz.target import CORPUS, Target, joined, messages, pieces
from tests.fuzz.targets import TARGETS

NEAR = 400
"""Inputs near the corpus for each target: a count, so that every machine tries the same ones."""
KEPT = [
    pytest.param(target, path, id=f"{target.name}-{path.name}")
    for target in TARGETS.values()
    for path in target.corpus()
]


def broken(target: Target, data: bytes) -> str:
    """How an input breaks a promise of its target; empty when it breaks none."""
    try:
        target.check(data)
    except Exception:
        return f"{data!r}\n{traceback.format_exc()}"
    return ""


@pytest.mark.parametrize(("target", "path"), KEPT)
def test_an_input_that_is_kept_breaks_no_promise(target: Target, path: Path) -> None:
    assert broken(target, path.read_bytes()) == ""


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_input_near_those_breaks_a_promise(target: Target) -> None:
    for data in near(target.starts(), 1, NEAR, target.longest):
        assert broken(target, data) == ""


def test_every_folder_of_the_corpus_has_a_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


def test_an_input_is_cut_as_it_was_joined_and_pieces_are_the_whole() -> None:
    parts = [b"", b"a", b"bc" * 300]
    data = joined(parts)
    assert list(messages(data)) == parts
    assert b"".join(pieces(data)) == data
    assert len(pieces(data)) > 1
