"""``-o json`` and yaml: stable shapes, the same object wherever it is printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from moorage.core.errors import Conflict, DocumentError, Problem
from moorage.core.session import AgentExit, AgentRun
from moorage.ports.sessions import Check
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli, compare
from tests.cli.scripted_views import make_view


def test_a_session_is_as_recorded(cli: Cli) -> None:
    cli.verbs.views = [
        make_view(run=AgentRun(start_id="s", started_at=1_795_000_050.0, exit=AgentExit(code=3)))
    ]
    compare("json/session.json", cli("ls", "-o", "json").text)


@pytest.mark.parametrize("verb", ["stop", "pause", "resume", "reset"])
def test_verbs_print_the_object_that_ls_lists(cli: Cli, verb: str) -> None:
    assert cli(verb, "brisk-otter", "-o", "json").json == cli("ls", "-o", "json").json


def test_describe_prints_the_same_object_with_events(cli: Cli) -> None:
    cli.verbs.history = [SessionEvent(1.0, "Created", "x", "pod/a")]
    described: dict[str, Any] = cli("describe", "brisk-otter", "-o", "json").json
    events = described.pop("events")
    assert events == [
        {"kind": "Event", "name": "Created", "at": "1970-01-01T00:00:01Z", "object": "pod/a", "message": "x"}
    ]
    assert described == cli("ls", "-o", "json").json["items"][0]


def test_a_detached_run_prints_the_object(cli: Cli) -> None:
    assert cli.run("-d", "-o", "json").json == cli("ls", "-o", "json").json["items"][0]


@pytest.mark.parametrize(
    "argv",
    [("ls",), ("doctor",), ("events", "brisk-otter"), ("version",), ("rm", "brisk-otter", "--dry-run")],
    ids=lambda argv: argv[0],
)
def test_yaml_says_what_json_says(cli: Cli, argv: tuple[str, ...]) -> None:
    cli.verbs.checks = [Check("server", "ok", "fine")]
    cli.verbs.history = [SessionEvent(1.0, "Created", "x")]
    assert yaml.safe_load(cli(*argv, "-o", "yaml").text) == cli(*argv, "-o", "json").json


def test_what_was_not_observed_is_null_not_zero(cli: Cli) -> None:
    cli.verbs.views = [make_view(observed_at=0.0, unknown="no answer")]
    session = cli("ls", "-o", "json").json["items"][0]
    assert (session["observed_at"], session["pod"]["restarts"], session["unknown"]) == (
        None,
        None,
        "no answer",
    )


def test_a_connection_test_is_printed_as_the_api_answers_it(cli: Cli) -> None:
    cli.verbs.checks = [
        Check("discovery", "warning", "partial"),
        Check("rights", "failed", "denied", "grant it", 12),
        Check("storage", "not_run", "rights failed"),
    ]
    result = cli("doctor", "-o", "json")
    assert result.code == 1
    found = result.json
    steps = found.pop("steps")
    assert found == {
        "kind": "ConnectionTest", "name": "agents", "success": False, "server_version": "v1.36.3",
        "namespace": "agents", "warnings": ["discovery: partial"], "error": "rights: denied",
    }  # fmt: skip
    assert steps[1] == {
        "kind": "Step", "name": "rights", "key": "rights", "status": "failed", "success": False,
        "duration_ms": 12, "detail": "denied", "fix": "grant it",
    }  # fmt: skip
    assert [step["success"] for step in steps] == [True, False, False]


def test_version_names_client_helper_and_server(cli: Cli) -> None:
    assert cli("version", "-o", "json").json == {
        "kind": "Version",
        "name": "0.1.0",
        "client": {"version": "0.1.0"},
        "helper": {"version": "0.1.0"},
        "server": {"version": "v1.36.3"},
        "server_error": "",
    }
    cli.verbs.calls.clear()
    assert cli("version", "--client", "-o", "json").json["server"] is None
    assert cli.verbs.calls == []


def test_an_error_is_one_object_on_stderr(cli: Cli) -> None:
    cli.verbs.failures["stop"] = Conflict("someone else holds it", hint="wait", field="session")
    result = cli("stop", "brisk-otter", "-o", "json")
    assert result.code == 5
    assert json.loads(result.err) == {
        "code": "conflict",
        "message": "someone else holds it",
        "field": "session",
        "hint": "wait",
        "errors": [],
    }
    assert result.json == {"kind": "List", "items": []}


def test_a_document_error_lists_every_fault(cli: Cli) -> None:
    problem = Problem("template.spec.os", "reserved", "os is ours", "remove it", 4, 7)
    cli.verbs.failures["launch"] = DocumentError("the template has 1 error", [problem], hint="look at it")
    assert json.loads(cli.run("-q", "-o", "json").err)["errors"] == [
        {
            "field": "template.spec.os", "code": "reserved", "line": 4, "column": 7,
            "message": "os is ours", "hint": "remove it",
        }
    ]  # fmt: skip
    assert cli.run("-q").err == (
        "error: the template has 1 error\n  4:7: template.spec.os: os is ours (reserved)\n  hint: remove it\n"
    )


def test_a_usage_error_is_json_when_json_was_asked_for(cli: Cli) -> None:
    for words in (("-o", "json"), ("-ojson",), ("--output=json",)):
        result = cli("stop", *words)
        assert (result.code, json.loads(result.err)["code"]) == (2, "usage")


def test_the_default_output_comes_from_the_settings_and_the_flag_wins(cli: Cli) -> None:
    cli.wiring.settings_set = {"output": "name"}
    assert cli("ls").text == "brisk-otter\n"
    assert cli("ls", "-o", "json").json["kind"] == "List"
    cli.wiring.settings_set = {"output": "xml"}
    assert cli("ls").code == 2


@pytest.mark.parametrize(("line", "valid"), [("", True), ("bogus: 1\n", False)])
def test_a_template_check_has_four_keys_and_needs_no_session(cli: Cli, line: str, valid: bool) -> None:
    cli.template.write_text(cli.template.read_text() + line)
    result = cli("template", "check", str(cli.template), "-o", "json")
    assert list(result.json) == ["valid", "errors", "warnings", "additions"]
    assert (result.code, result.json["valid"], result.json["errors"] == []) == (int(not valid), valid, valid)
    for problem in result.json["errors"] + result.json["warnings"]:
        assert list(problem) == ["field", "code", "line", "column", "message", "hint"]
    assert cli.verbs.calls == []
    assert cli.wiring.options is None


def test_verbose_errors_show_code_and_details(cli: Cli) -> None:
    cli.verbs.failures["stop"] = Conflict("held", details={"holder": "host:7"})
    assert "  code: conflict\n  holder: host:7\n" in cli("-v", "stop", "brisk-otter").err


def test_a_fault_that_the_message_tells_is_told_once(cli: Cli) -> None:
    first = Problem("output", "invalid_setting", "output: 'xml' is none of table", "one of table", 3)
    cli.verbs.failures["list_views"] = DocumentError(
        "moorage.toml:3: output: 'xml' is none of table (and 1 more)",
        [first, Problem("quiet", "invalid_setting", "neither true nor false", "true or false", 7)],
        hint="one of table",
    )
    assert cli("ls").err == (
        "error: moorage.toml:3: output: 'xml' is none of table (and 1 more)\n"
        "  7: quiet: neither true nor false (invalid_setting)\n"
        "    hint: true or false\n"
        "  hint: one of table\n"
    )


@pytest.mark.parametrize("flags", [(), ("-o", "json"), ("-o", "name")], ids=" ".join)
@pytest.mark.parametrize(("line", "code"), [("", 0), ("bogus: 1\n", 1), ("a: [", 1)])
def test_a_quiet_template_check_prints_nothing(
    cli: Cli, flags: tuple[str, ...], line: str, code: int
) -> None:
    cli.template.write_text(cli.template.read_text() + line)
    result = cli("-q", "template", "check", str(cli.template), *flags)
    assert (result.code, result.out, result.err) == (code, b"", "")


@pytest.mark.parametrize("text", ["kind: Pod\nbogus: 1\n", "a: [\n", "{,}"])
def test_a_check_that_stops_early_says_that_there_may_be_more(cli: Cli, text: str) -> None:
    cli.template.write_text(text)
    assert cli("template", "check", str(cli.template)).text.endswith(
        ": not valid, 1 error; the rest is checked once this is right\n"
    )
