"""How an error reaches a person: one function prints every error, one table gives every exit code.

Called by ``cli.app`` only. Messages come from core.errors and never hold credentials; control characters
in them are shown, not obeyed.
"""

from __future__ import annotations

import json
from typing import Any

from moorage.cli.terminal import Terminal
from moorage.core.errors import DocumentError, MoorageError, Problem, UsageError

OWN_FAILURE = 125
"""Exit code of run and exec for any failure of Moorage's own, as docker uses it."""

INTERRUPTED = 130
BROKEN_PIPE = 141


class Declined(MoorageError):
    """A person said no: nothing went wrong, so no word of an error is printed."""

    code = "declined"


def exit_code(error: MoorageError, *, carries_command: bool) -> int:
    """The code a command ends with. Verbs that pass on a command's code keep their own failures apart."""
    if carries_command and not isinstance(error, UsageError):
        return OWN_FAILURE
    return error.exit_code


def print_error(terminal: Terminal, error: MoorageError, *, as_json: bool, verbose: bool = False) -> None:
    """``error: what``, then why, field and line, then ``hint: what to do next``; or one JSON object.
    ``verbose`` adds the code and all details."""
    if as_json:
        terminal.say(json.dumps(error_object(error), ensure_ascii=True))
        return
    if isinstance(error, Declined):
        terminal.say(error.message)
        return
    red, reset = ("\x1b[31m", "\x1b[0m") if terminal.colour(stderr=True) else ("", "")
    terminal.say_prefixed(f"{red}error:{reset} ", error.message)
    for line in _details(error):
        terminal.say(f"  {line}")
    if verbose:
        terminal.say(f"  code: {error.code}")
        for key, value in error.details.items():
            terminal.say(f"  {key}: {value}")
    if hint := _hint(error):
        terminal.say(f"  hint: {hint}")


def error_object(error: MoorageError) -> dict[str, Any]:
    """The JSON form: ``{code, message, field, hint, errors}``."""
    problems = error.problems if isinstance(error, DocumentError) else []
    return {
        "code": error.code,
        "message": error.message,
        "field": error.field,
        "hint": error.hint,
        "errors": [problem_object(problem) for problem in problems],
    }


def problem_object(problem: Problem) -> dict[str, Any]:
    """One fault of a document as ``{field, code, line, column, message, hint}``."""
    return {
        "field": problem.field,
        "code": problem.code,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "hint": problem.hint,
    }


def problem_line(problem: Problem, file: str = "") -> str:
    """One fault as ``FILE:LINE:COLUMN: field: message (code)``, parts that are unknown left out."""
    place = [file] if file else []
    if problem.line:
        place += [str(problem.line), str(problem.column)] if problem.column else [str(problem.line)]
    head = ":".join(place)
    parts = [head, problem.field, f"{problem.message} ({problem.code})"]
    return ": ".join(part for part in parts if part)


def _hint(error: MoorageError) -> str:
    """What to do next: for a document with a single fault, what mends that one."""
    if isinstance(error, DocumentError) and len(error.problems) == 1:
        return error.problems[0].hint or error.hint
    return error.hint


def _details(error: MoorageError) -> list[str]:
    lines = [f"field: {error.field}"] if error.field else []
    category = error.details.get("category")
    if category:
        lines.append(f"why: {category}")
    cause = error.__cause__
    if isinstance(cause, MoorageError) and cause.message not in error.message:
        lines.append(f"why: {cause.message}")
    if isinstance(error, DocumentError):
        for problem in error.problems:
            if problem.message in error.message and problem.hint in ("", _hint(error)):
                continue  # the message is this very fault, and its hint comes last
            lines.append(problem_line(problem))
            if problem.hint and problem.hint != _hint(error):
                lines.append(f"  hint: {problem.hint}")
    return lines
