"""Every input that is kept, and as many near them as CI has time for, keeps the promises of its target.

``./dev fuzz`` looks for longer and by coverage, and adds what it finds to the corpus.
"""

from __future__ import annotations

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


@pytest.mark.parametrize(("target", "path"), KEPT)
def test_an_input_that_is_kept_breaks_no_promise(target: Target, path: Path) -> None:
    target.check(path.read_bytes())


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_no_input_near_those_breaks_a_promise(target: Target) -> None:
    for number, data in enumerate(near(target.starts(), 1, NEAR, target.longest)):
        try:
            target.check(data)
        except Exception as error:
            raise AssertionError(f"input {number} near the corpus of {target.name}: {data!r}") from error


def test_every_folder_of_the_corpus_has_a_target() -> None:
    assert {folder.name for folder in CORPUS.iterdir()} == set(TARGETS)


def test_an_input_is_cut_as_it_was_joined_and_pieces_are_the_whole() -> None:
    parts = [b"", b"a", b"bc" * 300]
    data = joined(parts)
    assert list(messages(data)) == parts
    assert b"".join(pieces(data)) == data
    assert len(pieces(data)) > 1
