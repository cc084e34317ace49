"""The words after ``./dev test``: ours are taken out, the rest is pytest's. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FAULTS = "200"
"""Schedules of faults, where ``--faults`` names no number."""


@dataclass(frozen=True)
class Options:
    """What to run. ``mutants``: only these, or only the one ``mutant``; ``faults``: only the schedules of
    faults, so many of each ("" for everything else); ``kubernetes``: only tier 3, with a control plane of
    that version; ``in_ci``: all there is."""

    in_ci: bool
    cluster: bool
    service: bool
    mutants: bool
    mutant: str
    pytest: tuple[str, ...]
    faults: str = ""
    kubernetes: str = ""


def parse(words: Sequence[str], environment: Mapping[str, str]) -> Options:
    """The word after ``--mutants`` names one, unless it is an option or a path; that after ``--faults`` is a
    number, that after ``--kubernetes`` a version."""
    in_ci = environment.get("CI", "").lower() == "true"
    found = {
        "--cluster": in_ci,
        "--service": False,
        "--mutants": False,
        "--faults": False,
        "--kubernetes": False,
    }
    rest: list[str] = []
    mutant = faults = kubernetes = ""
    remaining = list(words)
    while remaining:
        word = remaining.pop(0)
        if word not in found:
            rest.append(word)
            continue
        found[word] = True
        if word == "--mutants" and remaining and is_name(remaining[0]):
            mutant = remaining.pop(0)
        if word == "--faults":
            faults = remaining.pop(0) if remaining and remaining[0].isdigit() else FAULTS
        if word == "--kubernetes":
            kubernetes = remaining.pop(0) if remaining else ""
    tiers = in_ci, found["--cluster"], found["--service"], found["--mutants"]
    return Options(*tiers, mutant, tuple(rest), faults, kubernetes)


def is_name(word: str) -> bool:
    return not word.startswith("-") and "/" not in word and not word.endswith(".py")
