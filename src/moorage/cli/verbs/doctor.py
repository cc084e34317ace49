"""``moorage doctor``: the connection test, of a cluster and of what a session is to be made of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from moorage.cli.command import Call, verb
from moorage.cli.forms import render
from moorage.cli.launching import Asked, build_request
from moorage.cli.profile_flags import POD, WORKSPACE, profile_flags
from moorage.cli.progress import ProgressPrinter
from moorage.cli.shapes import connection_test_object
from moorage.cli.tables import table
from moorage.cli.values import DURATION
from moorage.cli.verbs import VERBS
from moorage.core.errors import Conflict, NotFound, UsageError
from moorage.ports.sessions import Check, LaunchRequest


@verb(
    "doctor",
    help=VERBS["doctor"].summary
    + """

    Asks and dry-runs only; nothing is left in the cluster. With a template its Pod and claim are tried by
    the server, too. After a failure later steps are not run; their fixes stand below the table, and one
    script grants all missing rights. Ends with 1 when a step failed; warnings do not count.

    --launch also starts a Pod of the template, brings agentctl into it, runs a program and removes it all
    again, also after Ctrl-C. What a killed command leaves, the next run, rm or doctor --launch removes.

    --bundle writes an archive for whoever looks into a fault: versions, settings, checks, and of each
    session record, events, Pod and how much output is kept; no value of a variable, no command or output.""",
    examples=(
        "moorage doctor --context dev -n agents",
        "moorage doctor --context dev -n agents --template pod.yaml",
        "moorage doctor --context dev -n agents --template pod.yaml --launch",
        "moorage doctor --context dev --bundle report.tar.gz",
    ),
    groups={
        "What a session is to be made of": (*POD, *WORKSPACE),
        "A Pod to try": ("launch", "start_timeout"),
    },
)
@profile_flags("PodTemplate to try (- reads stdin; default: none is tried).")
@click.option("--launch", is_flag=True, help="Start a Pod of it for a moment; needs a template.")
@click.option(
    "--start-timeout", metavar="TIME", type=DURATION, help="Limit of that start (default: 10m, as of run)."
)
@click.option(
    "--bundle", metavar="FILE", default="", help="Write a report without credentials (default: none)."
)
async def command(call: Call, bundle: str, launch: bool, start_timeout: float | None, **given: Any) -> int:
    if start_timeout is not None:
        if not launch:
            raise UsageError("--start-timeout belongs to --launch", hint="without it nothing is started")
        given["start_timeout"] = start_timeout
    if bundle and Path(bundle).exists():
        raise Conflict(f"{bundle} is there already", field="--bundle", hint="name another file")
    profile = _profile(call, given)
    async with call.sessions() as sessions:
        if sessions.where:
            call.terminal.note(f"checking {sessions.where}")
        found = await sessions.doctor(profile, launch=launch, report=ProgressPrinter(call.terminal))
        if bundle:
            from moorage.cli.bundle import write_bundle

            count = await write_bundle(call, sessions, found, Path(bundle))
            call.terminal.note(
                f"wrote {bundle} with {count} session{'s'[: count != 1]}; read it before you hand it on"
            )
    shown = connection_test_object(found)
    call.terminal.data(render(call.form, shown, shown["steps"], lambda: _table(call, found.steps)))
    if call.output in ("table", "wide"):
        _say_fixes(call, found.steps)
    return 0 if found.success else 1


def _profile(call: Call, given: dict[str, Any]) -> LaunchRequest:
    """A template that only the settings name is tried where it can be read: a report must not need it."""
    try:
        return build_request(call, Asked(argv=("true",), **given))
    except NotFound as error:
        if given["template"] is not None:
            raise
        call.terminal.say(f"warning: {error.message}; it is not tried")
        without = build_request(call, Asked(argv=("true",), **{**given, "template": os.devnull}))
        return replace(without, template_text=None)


def _say_fixes(call: Call, steps: Sequence[Check]) -> None:
    """What stands in no column; what follows a fix's first line is a script, which no indent may spoil."""
    for step in steps:
        if step.status in ("failed", "warning") and (call.output == "table" or "\n" in step.fix):
            call.terminal.say(f"{step.status}: {step.key}: {step.detail}")
            if step.fix:
                call.terminal.say_lines(f"  hint: {step.fix}")


def _table(call: Call, checks: Sequence[Check]) -> str:
    """A fix is a command to type, so it is never cut: it stands below the table, or in a column with wide."""
    wide = call.output == "wide"
    header = ["KEY", "STATUS", "MS", "DETAIL", *(["FIX"] if wide else [])]
    rows = [
        [
            check.key,
            check.status,
            str(check.duration_ms),
            check.detail,
            *([check.fix.partition("\n")[0]] if wide else []),
        ]
        for check in checks
    ]
    return table(call.terminal, header, rows, flexible=() if wide else ("DETAIL",), right=("MS",))
