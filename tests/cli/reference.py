"""What people expect of a command line for agents, as facts: what is there, by which test, and what is open.

The rows of the survey that were marked as a must. Read by test_reference.py, which walks them. A row says one
of: a flag, with the test in which its output or effect differs with and without it; behaviour, with its test;
an issue that will bring it, while nothing of it is there yet; a decision against it, and where that stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MATTER: Final = "tests/cli/test_flags_matter.py"
"""Its cases are flags; a flag proved there needs no other test."""


@dataclass(frozen=True)
class Flag:
    """``flag`` of ``verb`` ("" for all). ``test``: of MATTER's cases, unless it names another."""

    verb: str
    flag: str
    test: str = MATTER


@dataclass(frozen=True)
class Fact:
    """``what`` holds; ``test`` shows it."""

    what: str
    test: str


@dataclass(frozen=True)
class Open:
    """``what`` comes with ``issue``. ``verbs``: they must not be there before, or the row is stale."""

    what: str
    issue: int
    verbs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Otherwise:
    """``what`` was decided otherwise; ``words`` stand in ``page``."""

    what: str
    page: str
    words: str


def flags(verb: str, *names: str) -> tuple[Flag, ...]:
    return tuple(Flag(verb, name) for name in names)


FLAGS: Final[tuple[Flag, ...]] = (
    *flags("run", "--name", "-e", "--env-file", "--rm", "-d", "--wait", "-q", "-t"),
    Flag("run", "--timeout", "tests/cli/test_run_waiting.py::test_at_the_limit_the_agent_is_left_running"),
    Flag("run", "--template", "tests/cli/test_launching.py"),
    *flags("ls", "-A", "-l", "-o", "-w", "--state", "--sort-by", "-q"),
    *flags("logs", "-f", "--tail", "--since", "--timestamps", "-p", "-c", "--all-containers"),
    Flag("attach", "--read-only", "tests/cli/test_streams.py"),
    *flags("exec", "-t", "-w", "-e"),
    Flag("exec", "-i", "tests/cli/test_streams.py"),
    *flags("stop", "--wait"),
    *flags("rm", "-y", "--force", "--all", "-l", "-f", "--wait", "--keep-workspace", "--dry-run"),
    *flags("port-forward", "--address"),
    *flags("doctor", "-o", "--bundle"),
    *flags("wait", "--for", "--timeout"),
    *flags("version", "-o", "--client"),
    *flags("events", "-w"),
    *flags("", "-n", "--context", "--kubeconfig", "--as", "-o", "-q", "-v"),
    *flags("", "--no-input", "--no-color", "--request-timeout"),
)

FACTS: Final = (
    Fact("run follows its agent and ends with its code", "tests/cli/test_exit_codes.py"),
    Fact("an empty list is said on stderr, by its namespace, and is no failure", "tests/cli/test_tables.py"),
    Fact("describe ends with what to do next", "tests/cli/test_tables.py"),
    Fact("logs are there after the Pod is gone", "tests/sessions/test_lives.py"),
    Fact("ctrl-p ctrl-q leaves, a new size of the window arrives", "tests/cli/test_terminal.py"),
    Fact("exec needs --, ends with the code of its command", "tests/cli/test_exit_codes.py"),
    Fact("stdout and stderr of exec stay apart, stdin is piped", "tests/cli/test_streams.py"),
    Fact("cp takes either side, a tar on stdin or stdout, keeps modes", "tests/cli/test_cp.py"),
    Fact("stop of many prints each name, and what is stopped already is fine", "tests/cli/test_json.py"),
    Fact("a wish that changes nothing is no failure", "tests/sessions/test_nothing_to_do.py"),
    Fact("rm asks on a terminal, and says elsewhere what to type", "tests/cli/test_confirm.py"),
    Fact("rm deletes by proved UID alone", "tests/sessions/test_removals.py"),
    Fact("a forwarded port reaches the Pod that replaced another", "tests/sessions/test_ports.py"),
    Fact("doctor ends with 1 when a check failed", "tests/cli/test_json.py"),
    Fact("a report holds no credential", "tests/cli/test_bundle.py"),
    Fact("up serves, signs in once, and says where the first one is", "tests/cli/test_up.py"),
    Fact("whoami tells user, groups, place, server and rights", "tests/cli/test_whoami.py"),
    Fact("down ends what was started, and asks while Pods run", "tests/cli/test_down.py"),
    Fact("context and config are shown and changed", "tests/cli/test_config.py"),
    Fact("completion in three shells", "tests/cli/test_completion.py"),
    Fact("other words for ls, describe and resume", "tests/cli/test_choosing.py"),
    Fact("forms of output: wide, json, yaml, name, jsonpath, custom-columns", "tests/cli/test_forms.py"),
    Fact("the same paths and columns give what kubectl gives", "tests/contract/cli/test_forms.py"),
    Fact("a list in JSON is {kind: List, items}", "tests/cli/test_json.py"),
    Fact("colour by NO_COLOR, CLICOLOR_FORCE, TERM and the terminal", "tests/cli/test_tables.py"),
    Fact("every help begins with examples, and fits 80 columns", "tests/cli/test_help.py"),
    Fact("a slip in a verb or flag is answered with the nearest", "tests/cli/test_bad_usage.py"),
    Fact("the cost of --help is bounded", "tests/cli/test_start_cost.py"),
    Fact("exit codes are those of the documentation", "tests/cli/test_docs.py"),
    Fact(
        "settings: flag, variable, project file, user file, in this order", "tests/settings/test_settings.py"
    ),
    Fact("presets: run AGENT PATH", "tests/cli/test_presets.py"),
)

OPEN: Final = (
    Open("apply, diff and delete of manifests, with --dry-run=client|server", 9, ("apply", "diff", "delete")),
    Open("up serves the console too", 10),
    Open("REST with OpenAPI, problem documents, pagination, idempotency, ETag and SSE", 6),
    Open("an SDK with a sync and an async face, and an MCP server", 6, ("mcp",)),
    Open("idle stop and times to live of sandboxes", 7, ("sandbox", "pool")),
    Open("chart, image, upgrade path, monitors, alerts, start latency", 8),
    Open("schedules with time zones; one manifest for Kubernetes and ECS", 9, ("schedule",)),
    Open("the console: lists, logs, terminal, files, diffs, events, YAML, charts, themes, palette", 10),
    Open("the console: deep links, toasts, empty states, roles, live updates, phone, accessibility", 10),
)

OTHERWISE: Final = (
    Otherwise("get and delete for sessions", "docs/design.md", "without aliases across"),
    Otherwise(
        "port-forward on other addresses than loopback",
        "docs/design.md",
        "it is on loopback and dialled inside the link",
    ),
    Otherwise("run -t for the template", "docs/cli.md", "`-t` is the terminal, as for `exec` and docker"),
    Otherwise("exec as another user", "docs/cli.md", "as the user of the main container"),
    Otherwise("exec that is left behind", "docs/cli.md", "nothing is left behind"),
    Otherwise("logs --since of the agent's output", "docs/cli.md", "not of the agent's output"),
)
