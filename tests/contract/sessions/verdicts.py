"""How a scenario judges a refusal: exit code, category, hint, and that nothing of ours is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from testcluster.audit import Event

from .commands import Done, Moorage

OWN_FAILURE = 125
"""Exit code of `moorage run` when Moorage itself, or the start, failed."""

CONFLICT = 5
"""Exit code of the other commands when something else is there, or is not what was recorded."""

Kubectl = Callable[..., str]


def told(done: Done, category: str, *words: str) -> None:
    """The message on stderr names the category and gives a hint; ``words`` stand in it."""
    assert f"  why: {category}\n" in done.err, done.err
    _, found, hint = done.err.partition("  hint: ")
    assert found, done.err
    assert hint.strip(), done.err
    for word in words:
        assert word in done.err, f"{word!r} is not in: {done.err}"


def failed_start(moorage: Moorage, name: str, run: list[str | Path]) -> Done:
    """A `moorage run` that must fail, with the verdict of what it waits for. What may still mend itself is
    told when the limit of the start is over: a limit too short for this machine today is tried longer."""
    for limit in ("2s", "10s", "60s"):
        words = ["run", "--name", name, "--start-timeout", limit, *run[1:]]
        done = moorage(*words, code=OWN_FAILURE)
        if "  why: timeout\n" not in done.err:
            break
        moorage("rm", "-y", name)
    return done


def recorded(moorage: Moorage, name: str, category: str) -> Any:
    """The session shows the same verdict when asked later; returns it."""
    session = moorage.session(name)
    diagnosis = session["diagnosis"]
    assert diagnosis is not None, session
    assert (session["status"], diagnosis["category"]) == ("Failed", category), diagnosis
    assert all(diagnosis[part] for part in ("reason", "message", "hint")), diagnosis
    return diagnosis


def objects(kubectl: Kubectl, namespace: str) -> str:
    """Names of all Pods and claims of the namespace."""
    return kubectl("-n", namespace, "get", "pods,pvc", "-o", "name")


def foreign_writes(events: Iterable[Event], uids: Iterable[str]) -> list[str]:
    """What Moorage did to objects that are not its own; must be empty."""
    theirs = set(uids)
    return [str(event) for event in events if event.succeeded and event.uid in theirs]
