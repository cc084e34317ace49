"""``moorage template check``: is a file a template that a session can start from? Needs no cluster."""

from __future__ import annotations

import json
from typing import Any

import click

from moorage.cli.command import Call, VerbGroup, verb
from moorage.cli.failures import problem_line, problem_object
from moorage.cli.launching import HELPERS, PLATFORMS, TRANSPORTS, choice, read_template
from moorage.cli.output import print_object
from moorage.cli.text import plain
from moorage.cli.verbs import VERBS
from moorage.core.errors import Problem
from moorage.core.owned import MAIN_CONTAINER
from moorage.core.session import WorkspaceMode
from moorage.core.template import CheckedTemplate, TemplateOptions, check_template

_FIRST = ("wrong_kind", "yaml_syntax", "yaml_tab", "json_syntax", "control_character")
"""Faults that keep the rest of a document from being looked at."""

_MODES = tuple(mode.value for mode in WorkspaceMode)


@verb(
    "check",
    help="""Check a Pod template without a cluster.

    Prints every fault with field, line and column, and what a launch would add; with -q nothing. Ends with 0
    when the template is valid, 1 when it is not.""",
    examples=(
        "moorage template check pod.yaml",
        "moorage template check pod.yaml -o json",
        "moorage -q template check pod.yaml && echo valid",
    ),
)
@click.option("--main-container", metavar="NAME", help="Container the agent runs in (default: agent).")
@click.option("--platform", metavar="OS/ARCH", help="linux/amd64 (default) or linux/arm64.")
@click.option("--workspace", metavar="MODE", help="managed_pvc (default), existing_claim or empty_dir.")
@click.option("--transport", metavar="HOW", help="auto (default), portforward or exec.")
@click.option("--helper", metavar="HOW", help="exec (default) or image.")
@click.argument("file", metavar="FILE")
async def check(
    call: Call,
    file: str,
    main_container: str | None,
    platform: str | None,
    workspace: str | None,
    transport: str | None,
    helper: str | None,
) -> int:
    options = TemplateOptions(
        main_container=call.default("main_container", main_container, MAIN_CONTAINER),
        platform=choice("--platform", call.default("platform", platform, "linux/amd64"), PLATFORMS),
        workspace_mode=choice("--workspace", call.default("workspace", workspace, "managed_pvc"), _MODES),
        transport=choice("--transport", call.default("transport", transport, "auto"), TRANSPORTS),
        helper_source=choice("--helper", call.default("helper", helper, "exec"), HELPERS),
    )
    checked = check_template(read_template(file, field="FILE"), options)
    if call.options.quiet:
        pass  # the exit code is the answer
    elif call.output == "name":
        call.terminal.data(f"{file}\n")
    else:
        print_object(call, verdict_object(checked), lambda: _human(file, checked))
    return 0 if checked.valid else 1


def verdict_object(checked: CheckedTemplate) -> dict[str, Any]:
    """``{valid, errors, warnings, additions}`` as documented in docs/cli.md."""
    return {
        "valid": checked.valid,
        "errors": [problem_object(problem) for problem in checked.errors],
        "warnings": [problem_object(problem) for problem in checked.warnings],
        "additions": [
            {"field": a.field, "value": a.value, "why": a.why, "how": a.how} for a in checked.additions
        ],
    }


def _human(file: str, checked: CheckedTemplate) -> str:
    lines = [line for problem in checked.errors for line in _fault("error", file, problem)]
    lines += [line for problem in checked.warnings for line in _fault("warning", file, problem)]
    lines += [f"{a.how}: {a.field} = {json.dumps(a.value)} ({a.why})" for a in checked.additions]
    count = len(checked.errors)
    lines.append(f"{file}: valid" if checked.valid else f"{file}: not valid, {count} error{'s'[: count > 1]}")
    if any(problem.code in _FIRST for problem in checked.errors):
        lines[-1] += "; the rest is checked once this is right"
    return "".join(f"{plain(line)}\n" for line in lines)


def _fault(word: str, file: str, problem: Problem) -> list[str]:
    lines = [f"{word}: {problem_line(problem, file)}"]
    return [*lines, f"  hint: {problem.hint}"] if problem.hint else lines


command = VerbGroup("template", help=VERBS["template"].summary, commands=[check])
