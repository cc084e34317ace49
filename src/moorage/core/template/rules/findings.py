"""What the checks of one template collect. Made by template.py, filled by the type check and the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from moorage.core.document.nodes import Place, at
from moorage.core.errors import Problem

KnownElsewhere: TypeAlias = Callable[[str], bool]
"""Does the connected server's OpenAPI know a field? Asked with its path, ``template.spec.newField``."""


def _nowhere(path: str) -> bool:
    return False


@dataclass
class Findings:
    """Errors refuse the template; warnings do not. ``refuse_policy`` makes risks errors."""

    refuse_policy: bool = False
    known_elsewhere: KnownElsewhere = _nowhere
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def error(self, place: Place, path: str, code: str, message: str, hint: str) -> None:
        self.errors.append(at(place, path, code, message, hint))

    def warning(self, place: Place, path: str, code: str, message: str, hint: str) -> None:
        self.warnings.append(at(place, path, code, message, hint))

    def risk(self, place: Place, path: str, code: str, message: str, hint: str) -> None:
        """Something an administrator's policy may refuse."""
        if self.refuse_policy:
            self.error(place, path, code, f"{message}; the policy refuses it", hint)
        else:
            self.warning(place, path, code, message, hint)


def in_document_order(problems: list[Problem]) -> tuple[Problem, ...]:
    """Sorted by place; what has none comes first; equal places keep the order of the rules. No repeats."""
    return tuple(dict.fromkeys(sorted(problems, key=lambda problem: (problem.line, problem.column))))
