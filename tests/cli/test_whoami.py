"""``whoami`` says what the API server says of us, and ``--as`` reaches whoever asks it."""

from __future__ import annotations

from dataclasses import replace

from moorage.core.errors import AccessDenied
from tests.cli.harness import Cli

SHOWN = """\
user       jane
groups     dev, system:authenticated
context    kind-dev
namespace  agents
server     https://cluster.example
pods       get, list; missing: create
pods/exec  get, create
"""


def test_it_says_who_where_and_what_may_be_done(cli: Cli) -> None:
    assert cli("whoami").text == SHOWN


def test_as_json_it_is_one_object_with_the_same(cli: Cli) -> None:
    shown = cli("whoami", "-o", "json").json
    assert (shown["kind"], shown["user"], shown["groups"]) == (
        "Identity",
        "jane",
        ["dev", "system:authenticated"],
    )
    assert shown["rights"][0] == {"resource": "pods", "verbs": ["get", "list"], "missing": ["create"]}
    assert cli("whoami", "-o", "name").text == "jane\n"


def test_what_is_not_known_is_said_and_what_a_server_says_does_not_drive_the_terminal(cli: Cli) -> None:
    cli.verbs.caller = replace(cli.verbs.caller, user="", groups=("\x1b[2J",), context="")
    shown = cli("whoami").text
    assert "(the server does not say)" in shown
    assert "\\x1b[2J" in shown
    assert "(the embedded cluster of this machine)" in shown


def test_a_server_that_refuses_us_is_4(cli: Cli) -> None:
    cli.verbs.failures = {"whoami": AccessDenied("Unauthorized")}
    assert cli("whoami").code == 4


def test_as_reaches_whoever_opens_the_cluster_before_or_after_the_verb(cli: Cli) -> None:
    for words in (("--as", "jane", "ls"), ("ls", "--as", "jane")):
        cli(*words)
        assert cli.wiring.options is not None
        assert cli.wiring.options.act_as == "jane"


def test_a_command_that_is_told_repeats_it(cli: Cli) -> None:
    assert "--as jane rm brisk-otter -y" in cli("rm", "brisk-otter", "--as", "jane").err
