"""Each flag that people expect does something: what is seen or asked differs with and without it.

Those that pass on what is typed (``-i``, ``--read-only``) are in test_streams and test_terminal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from moorage.cli import watching
from moorage.cli.forwarding import Forwarder
from moorage.cli.terminal import Terminal
from moorage.core.session import Phase
from moorage.ports.link import Output
from moorage.ports.sessions import Check
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli, Result
from tests.cli.scripted_views import make_view

LONG = "a reason that is far too long for what is left of eighty columns of a terminal, so it is cut"


@dataclass(frozen=True)
class Case:
    """``flag`` is put behind ``verb``; ``without`` stands in its place where something must."""

    verb: tuple[str, ...]
    flag: tuple[str, ...]
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.verb[0], *self.flag])


NAME = "brisk-otter"
RUN = ("run", "--template", "TEMPLATE")
CASES = [
    *(Case(("ls",), flag) for flag in (("-A",), ("-a",), ("-q",), ("-n", "staging"), ("--state", "Paused"))),
    *(Case(("ls",), ("-o", form)) for form in ("wide", "json", "yaml", "name", "jsonpath={.kind}")),
    Case(("ls",), ("-o", "custom-columns=N:.name")),
    Case(("ls", "-A"), ("--sort-by", "name")),
    Case(("ls",), ("-w",)),
    Case(("ls",), ("-l", "!moorage.dev/task-id")),
    Case(("ls",), ("--no-color",)),
    Case(("describe", NAME), ("-o", "json")),
    Case(("logs", NAME), ("-f",)),
    Case(("logs", NAME), ("--tail", "1")),
    Case(("logs", NAME), ("-c", "side")),
    Case(("logs", NAME), ("--all-containers",)),
    Case(("logs", NAME, "-c", "side"), ("-p",)),
    Case(("logs", NAME, "-c", "side"), ("--timestamps",)),
    Case(("logs", NAME, "-c", "side"), ("--since", "10m")),
    Case(("attach", NAME), ("--from-start",)),
    Case(("exec", NAME), ("-t",)),
    Case(("exec", NAME), ("-w", "/tmp")),
    Case(("exec", NAME), ("-e", "A=1")),
    Case(("stop", NAME), ("--force",)),
    Case(("stop", NAME), ("-q",)),
    Case(("stop", NAME), ("--no-wait",), ("--wait",)),
    Case(("rm", NAME, "-y"), ("--no-wait",), ("--wait",)),
    Case(("rm", NAME, "-y"), ("--keep-workspace",)),
    Case(("rm", NAME), ("-y",)),
    Case(("rm", NAME), ("--force",)),
    Case(("rm", NAME, "-y"), ("--dry-run",)),
    Case(("rm", "-y"), ("--all",), (NAME,)),
    Case(("rm", "-y"), ("-l", "moorage.dev/task-id"), (NAME,)),
    Case(("rm", NAME, "-y"), ("-f", "NAMES")),
    *(
        Case(("fork", NAME), flag)
        for flag in (("--n", "2"), ("--name", "other"), ("--method", "clone"), ("--live",), ("--dry-run",))
    ),
    Case(("changes", NAME), ("--stat",)),
    Case(("export", NAME), ("--branch", "other"), ("--branch", "work")),
    Case(("archive", NAME), ("-y",)),
    Case(("events", NAME), ("-w",)),
    Case(("port-forward", NAME), ("0:80",), ("0:81",)),
    Case(("port-forward", NAME, "0:80", "-o", "json"), ("--address", "127.0.0.1")),
    Case(("wait", NAME, "--timeout", "0"), ("--for", "paused"), ("--for", "running")),
    Case(("wait", NAME, "--for", "paused"), ("--timeout", "0"), ("--timeout", "1ms")),
    Case(("doctor",), ("-o", "json")),
    Case(("doctor",), ("--bundle", "REPORT")),
    Case(("doctor",), ("--launch",)),
    Case(("doctor", "--launch"), ("--start-timeout", "1m")),
    Case(("doctor",), ("--template", "TEMPLATE")),
    Case(("doctor",), ("--main-container", "work")),
    Case(("doctor",), ("--platform", "linux/arm64")),
    Case(("doctor",), ("--helper-image", f"x@sha256:{'0' * 64}")),
    Case(("doctor",), ("--transport", "exec")),
    Case(("doctor",), ("--workspace", "empty_dir")),
    Case(("doctor",), ("--workspace-size", "1Gi")),
    Case(("doctor",), ("--storage-class", "fast")),
    Case(("doctor",), ("--access-mode", "ReadWriteMany")),
    Case(("doctor",), ("--claim", "given")),
    Case(("version",), ("--client",)),
    Case(("version",), ("-o", "json")),
    Case(RUN, ("--name", "given")),
    Case(RUN, ("-e", "A=1")),
    Case(RUN, ("--env-file", "ENV")),
    Case(RUN, ("--start-timeout", "1m")),
    Case(RUN, ("--rm",)),
    Case(RUN, ("-d",)),
    Case(RUN, ("-q",)),
    Case((*RUN, "-d"), ("--wait",)),
    Case(RUN, ("-t",)),
    Case(RUN, ("--dry-run",)),
    Case(RUN, ("--source", "https://git.example/a.git")),
    Case(("stop", "nobody"), ("-v",)),
    *(
        Case(("ls",), flag)
        for flag in (("--context", "c"), ("--kubeconfig", "k"), ("--request-timeout", "9s"))
    ),
    Case(("ls",), ("--data-dir", "d")),
    Case(("ls",), ("--as", "jane")),
    Case(("whoami",), ("-o", "json")),
    Case(("rm", NAME), ("--no-input",)),
]


@pytest.fixture
def stage(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Everything as it was before the first command."""
    monkeypatch.setattr(watching, "INTERVAL", 0.0001)
    monkeypatch.setattr(Terminal, "stdout_tty", True)
    monkeypatch.setattr(Terminal, "can_ask", property(lambda self: not self.no_input))
    monkeypatch.setattr("moorage.cli.confirm._ask", _yes)
    monkeypatch.setattr(Forwarder, "wait", _nothing)
    (cli.folder / "env").write_text("A=1\n")
    (cli.folder / "names").write_text("a-first\n")

    def fresh() -> None:
        fresh_verbs = type(cli.verbs)()
        vars(cli.verbs).update(vars(fresh_verbs))
        cli.verbs.views = [
            make_view(NAME, reason=LONG, created_at=1_795_000_900.0),
            make_view("a-first", "Paused", namespace="staging"),
            make_view("z-last", "Stopped", phase=Phase.ARCHIVED),
        ]
        cli.verbs.checks = [Check("server", "ok", "fine")]
        cli.verbs.history = [SessionEvent(1.0, "Created", "m")]
        cli.verbs.transcript = [Output(0, b"one\ntwo\n")]
        cli.verbs.objects = [{"kind": "Pod", "metadata": {"name": "moorage-x"}}]
        cli.wiring.settings_set = {"namespace": "agents"}

    return fresh


async def _yes(*_: object) -> bool:
    return True


async def _nothing(_: object) -> None:
    return None


def seen(cli: Cli, words: tuple[str, ...]) -> tuple[Result, tuple[object, ...]]:
    """What a person sees, and what was asked for: requests and calls."""
    places = {
        "TEMPLATE": str(cli.template),
        "ENV": str(cli.folder / "env"),
        "NAMES": str(cli.folder / "names"),
        "REPORT": str(cli.folder / "r.tgz"),
    }
    argv = [places.get(word, word) for word in words]
    if words[0] in ("run", "exec"):
        argv += ["--", "make"]
    if "-w" in words and words[0] in ("ls", "events"):
        cli.verbs.scenes = [cli.verbs.views]
    result = cli(*argv)
    result = replace(result, out=re.sub(rb"(1\]?:|local_port\D+)\d+", rb"\1PORT", result.out))
    request = cli.verbs.request
    asked = (list(cli.verbs.calls), cli.wiring.options, request, request.env if request else None)
    return result, asked


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_flag_changes_what_is_seen_or_asked(cli: Cli, stage: Callable[[], None], case: Case) -> None:
    stage()
    without = seen(cli, case.verb + case.without)
    stage()
    given = seen(cli, case.verb + case.flag)
    assert given != without
    stage()
    assert seen(cli, case.verb + case.without)[0].out == without[0].out, (
        "nothing but the flag makes a difference"
    )
    assert "no such flag" not in given[0].err
    assert "there is no flag" not in given[0].err
