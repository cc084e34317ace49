"""One name for two calls: of the class, with a sandbox's id first, and of a sandbox, without it.

Used by the two faces of the sandbox. E2B's users write ``Sandbox.kill(sandbox_id)`` and ``sandbox.kill()``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

Q = ParamSpec("Q")
P = ParamSpec("P")
S = TypeVar("S")
R = TypeVar("R")


class Either(Generic[Q, S, P, R]):
    """``of_class`` is what the class answers to, ``of_object`` what an object of it does."""

    def __init__(self, of_class: Callable[Q, R], of_object: Callable[Concatenate[S, P], R]) -> None:
        self._of_class = of_class
        self._of_object = of_object
        self.__doc__ = of_object.__doc__

    @overload
    def __get__(self, instance: None, owner: type[S]) -> Callable[Q, R]: ...

    @overload
    def __get__(self, instance: S, owner: type[S]) -> Callable[P, R]: ...

    def __get__(self, instance: S | None, owner: type[S]) -> Any:
        if instance is None:
            return self._of_class
        return self._of_object.__get__(instance, owner)
