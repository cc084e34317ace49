"""Absent is not unknown. Every observed part is Present, Absent or Unknown; nothing is deleted on Unknown.

Absent means a real ``Status`` NotFound that names our kind and object. A proxy's 404 page, a denied
read, a timeout: Unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from moorage.core.errors import ApiProblem

T = TypeVar("T")


@dataclass(frozen=True)
class Present(Generic[T]):
    """The object was read."""

    value: T


@dataclass(frozen=True)
class Absent:
    """The API server said, in a Status naming the object, that it does not exist."""


@dataclass(frozen=True)
class Unknown:
    """It could not be learned whether the object exists; ``why`` is for people."""

    why: str


Observed: TypeAlias = Present[T] | Absent | Unknown


def from_problem(problem: ApiProblem, plural: str, name: str) -> Absent | Unknown:
    """Read the failure of an exact-name GET: a NotFound Status naming ``plural``/``name`` is Absent."""
    named = problem.details_kind == plural and problem.details_name == name
    if problem.kind == "status" and problem.http_status == 404 and problem.reason == "NotFound" and named:
        return Absent()
    said = problem.message or problem.reason or f"HTTP {problem.http_status}"
    return Unknown(said)
