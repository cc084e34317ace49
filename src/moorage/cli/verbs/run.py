"""``moorage run``: record a session, follow its agent, end with the agent's exit code."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.agents import apply, choose, read_prompt, say_missing
from moorage.cli.command import Call, verb, words_after_dashes
from moorage.cli.forms import to_yaml
from moorage.cli.launching import Asked, build_request
from moorage.cli.output import print_list, print_object
from moorage.cli.profile_flags import POD, WORKSPACE, profile_flags
from moorage.cli.progress import ProgressPrinter
from moorage.cli.running import follow_launched
from moorage.cli.shapes import deleted_object, session_object
from moorage.cli.values import DURATION
from moorage.cli.verbs import VERBS
from moorage.core.errors import NotFound, UsageError
from moorage.ports.sessions import SessionVerbs


@verb(
    "run",
    help=VERBS["run"].summary
    + """

    Output of CMD goes to stdout unchanged; progress goes to stderr. Ends with the exit code of CMD (128+n
    after signal n), or 125 when Moorage itself failed. The session stays, stopped, unless --rm.

    AGENT is a preset of `moorage preset ls`: it knows the program's command, and keeps its conversation in
    the workspace, so that it goes on from there after a pause. CMD are then further words for it. PATH is
    a repository or directory, as for --source.

    Ctrl-C sends SIGINT to the agent; a second one leaves it running. With -it keys go to the agent, and
    ctrl-p ctrl-q leaves it running.""",
    examples=(
        "moorage run --source . -- make test",
        "moorage run claude-code . -e ANTHROPIC_API_KEY --prompt 'Mend the test'",
        "moorage run codex https://host/a.git -e CODEX_API_KEY -it -- --model gpt-5",
        "moorage run --context dev -n ai --template pod.yaml --source . -- make test",
        "moorage run --template pod.yaml --source https://host/a.git -e TOKEN -- agent",
        "moorage run --template pod.yaml --workspace empty_dir --rm -it -- bash",
    ),
    takes_command=True,
    groups={
        "The Pod": (*POD, "start_timeout"),
        "The workspace": ("source", "source_ref", *WORKSPACE),
        "The agent": (
            *("prompt", "prompt_file", "env", "env_file", "cwd", "grace"),
            *("no_restart", "tty", "interactive"),
        ),
        "The session": ("name", "detach", "wait", "timeout", "remove", "dry_run"),
    },
)
@click.option(
    "--source", metavar="PATH|URL", default="", help="Repository or directory that fills it (default: none)."
)
@click.option(
    "--source-ref", metavar="REF", default="", help="Branch, tag or commit (default: as it is there)."
)
@profile_flags("PodTemplate to start from (- reads stdin); required on a cluster you named.")
@click.option(
    "--start-timeout", metavar="TIME", type=DURATION, default=600.0, help="Limit of the start (default: 10m)."
)
@click.option("--prompt", metavar="TEXT", help="What AGENT is told, once (default: nothing); - reads stdin.")
@click.option("--prompt-file", metavar="FILE", help="File that holds it (default: none); - reads stdin.")
@click.option(
    "-e",
    "--env",
    metavar="NAME[=VALUE]",
    multiple=True,
    help="Secret variable; NAME alone takes ours; repeatable.",
)
@click.option("--env-file", metavar="FILE", multiple=True, help="Lines of NAME=VALUE or NAME; repeatable.")
@click.option(
    "--cwd", metavar="DIR", default="/workspace", help="Where it starts, absolute (default: /workspace)."
)
@click.option(
    "--grace", metavar="TIME", type=DURATION, default=10.0, help="From SIGTERM to SIGKILL (default: 10s)."
)
@click.option("--no-restart", is_flag=True, help="Do not restart after an interruption.")
@click.option("-t", "--tty", is_flag=True, help="Give the agent a terminal.")
@click.option("-i", "--interactive", is_flag=True, help="Pass our stdin to the agent.")
@click.option("--name", metavar="NAME", default="", help="Name of the session (default: made up).")
@click.option("-d", "--detach", is_flag=True, help="Return once the agent runs; print its name.")
@click.option("--wait", is_flag=True, help="With -d: return once it has ended, with its code.")
@click.option(
    "--timeout", metavar="TIME", type=DURATION, help="Leave it running after so long; 6 (default: never)."
)
@click.option("--rm", "remove", is_flag=True, help="Remove the session once the agent has ended.")
@click.option("--dry-run", is_flag=True, help="Check all, print the objects, create nothing.")
@click.argument("words", nargs=-1, metavar="[AGENT] [PATH]")
async def command(
    call: Call, words: tuple[str, ...], detach: bool, remove: bool, dry_run: bool, **given: Any
) -> int:
    after = words_after_dashes()
    preset, source = choose(words, given.pop("source"), call.wiring.presets())
    if preset is None and not after:
        raise UsageError(
            "no command to run",
            hint="put it after --: moorage run -- CMD; or name an agent: moorage run claude-code",
        )
    told = read_prompt(
        given.pop("prompt"), given.pop("prompt_file"), stdin_taken_by=_wants_stdin(call, given)
    )
    made = apply(preset, after, told, tty=given["tty"])
    argv = made.argv if made else tuple(after or ())
    asked = Asked(argv=argv, preset=made, source=source, detach=detach, remove=remove, **given)
    request = build_request(call, asked)
    if preset is not None:
        say_missing(call, preset, request.env, request.template_text)
    async with call.sessions() as sessions:
        if sessions.where:
            call.terminal.note(f"running on {sessions.where}")
            if isolation := await sessions.isolation():
                call.terminal.note(isolation)
        if dry_run:
            objects = await sessions.preview(request)
            print_list(call, objects, lambda: "---\n".join(to_yaml(item) for item in objects))
            return 0
        report = ProgressPrinter(call.terminal)
        session = await sessions.launch(request, report)
        if not call.options.quiet:
            call.terminal.say(f"session {session.name}")
        elif not detach:  # detached, the name is the data on stdout
            call.terminal.say(session.name)
        code = await follow_launched(call, sessions, session.name, report, asked)
        if detach and (code == 0 or asked.wait):
            shown = await _shown(sessions, session.name)
            print_object(call, shown, lambda: f"{session.name}\n")
        return code


async def _shown(sessions: SessionVerbs, name: str) -> dict[str, Any]:
    """The session that was launched; of one that somebody has removed meanwhile what ``wait`` tells."""
    try:
        return session_object(await sessions.view(name))
    except NotFound:
        return deleted_object(name)


def _wants_stdin(call: Call, given: dict[str, Any]) -> str:
    if given["interactive"]:
        return "-i"
    return "--template -" if call.default("template", given["template"]) == "-" else ""
