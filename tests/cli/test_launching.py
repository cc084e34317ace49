"""What ``run``'s flags become: the request, its environment, defaults from the settings."""

from __future__ import annotations

import pytest
import yaml

from moorage.core.errors import UsageError
from moorage.core.session import HelperSpec, WorkspaceMode, WorkspaceSpec
from moorage.ports.sessions import LaunchRequest
from tests.cli.harness import TEMPLATE, Cli


def request(cli: Cli, *argv: str) -> LaunchRequest:
    result = cli.run(*argv)
    assert cli.verbs.request is not None, result.err
    return cli.verbs.request


def test_every_flag_arrives(cli: Cli) -> None:
    asked = request(
        cli, "--name", "n", "--source", "https://h/r.git", "--source-ref", "main",
        "--workspace", "managed_pvc",
        "--workspace-size", "1Gi", "--storage-class", "fast", "--access-mode", "ReadWriteOnce",
        "--access-mode", "ReadWriteMany", "--helper", "image", "--helper-image", "r@sha256:d",
        "--main-container", "main", "--platform", "linux/arm64", "--transport", "exec",
        "--cwd", "/workspace/a",
        "--grace", "1m30s", "--start-timeout", "5m", "-t", "--no-restart",
        "--", "sh", "-c", "echo --help -- x",
    )  # fmt: skip
    assert asked == LaunchRequest(
        template_text=TEMPLATE.encode(),
        argv=("sh", "-c", "echo --help -- x"),
        workspace=WorkspaceSpec(
            mode=WorkspaceMode.MANAGED_PVC,
            size="1Gi",
            storage_class="fast",
            access_modes=("ReadWriteOnce", "ReadWriteMany"),
        ),
        name="n",
        main_container="main",
        platform="linux/arm64",
        helper=HelperSpec("image", "r@sha256:d"),
        source="https://h/r.git",
        source_ref="main",
        cwd="/workspace/a",
        tty=True,
        grace_seconds=90.0,
        start_timeout=300.0,
        restart_allowed=False,
        transport="exec",
    )


def test_without_flags_the_defaults_hold(cli: Cli) -> None:
    asked = request(cli)
    assert asked.workspace == WorkspaceSpec(mode=WorkspaceMode.MANAGED_PVC)
    assert asked.helper == HelperSpec()
    assert (asked.main_container, asked.platform, asked.transport) == ("", "linux/amd64", "auto")


def test_a_claim_alone_means_existing_claim_and_an_image_alone_means_image(cli: Cli) -> None:
    cli.wiring.settings_set = {"workspace": "managed_pvc", "helper": "exec"}
    assert request(cli, "--claim", "data").workspace == WorkspaceSpec(
        mode=WorkspaceMode.EXISTING_CLAIM, claim_name="data"
    )
    assert request(cli, "--helper-image", "r@sha256:d").helper == HelperSpec("image", "r@sha256:d")


def test_settings_fill_in_what_was_not_typed_and_flags_win(cli: Cli) -> None:
    cli.wiring.settings_set = {
        "template": str(cli.template), "workspace_size": "5Gi", "storage_class": "slow",
        "platform": "linux/arm64", "transport": "exec", "main_container": "work",
    }  # fmt: skip
    cli("run", "--workspace-size", "7Gi", "--", "x")
    asked = cli.verbs.request
    assert asked is not None
    assert asked.workspace == WorkspaceSpec(mode=WorkspaceMode.MANAGED_PVC, size="7Gi", storage_class="slow")
    assert (asked.platform, asked.transport, asked.main_container) == ("linux/arm64", "exec", "work")


@pytest.mark.parametrize("flag", ["--helper-image", "--workspace-size"])
def test_a_setting_of_another_mode_is_left_out_not_refused(cli: Cli, flag: str) -> None:
    cli.wiring.settings_set = {flag[2:].replace("-", "_"): "x"}
    asked = request(cli, "--workspace", "empty_dir")
    assert (asked.workspace.size, asked.helper) == ("", HelperSpec())


def test_words_after_the_dashes_are_never_flags(cli: Cli) -> None:
    assert request(cli, "--", "--help", "--rm", "-q", "--", "x").argv == ("--help", "--rm", "-q", "--", "x")


def test_variables_come_from_files_then_flags_then_our_own_environment(cli: Cli) -> None:
    first, second = cli.folder / "a.env", cli.folder / "b.env"
    first.write_bytes(b"\xef\xbb\xbf# note\r\n\r\nA=1\r\nB=two words = x \r\nOWN\r\n")
    second.write_text("A=2\nQUOTED='kept'\n  INDENTED=yes\nEMPTY=\n")
    cli.wiring.environ = {"OWN": "mine", "PASSED": "on"}
    env = request(cli, "--env-file", str(first), "--env-file", str(second), "-e", "A=3", "-e", "PASSED").env
    assert env == {
        "A": "3", "B": "two words = x ", "OWN": "mine", "QUOTED": "'kept'", "INDENTED": "yes", "EMPTY": "",
        "PASSED": "on",
    }  # fmt: skip


def test_values_are_in_no_output_and_no_repr(cli: Cli) -> None:
    secret = "hunter2-value"
    cli.wiring.environ = {"OWN": secret}
    for argv in (("-e", f"A={secret}"), ("-e", "OWN"), ("-vv", "-e", f"A={secret}", "--grace", "x")):
        result = cli.run(*argv)
        assert secret not in result.text + result.err
    assert secret not in repr(cli.verbs.request)


def test_a_fault_of_ours_shows_no_value_even_with_a_traceback(cli: Cli) -> None:
    cli.verbs.views = []
    result = cli("-vv", "run", "--template", str(cli.template), "-e", "A=hunter2-value", "--", "x")
    assert "Traceback" in result.err
    assert "hunter2-value" not in result.err


def test_a_dry_run_prints_the_objects_and_records_nothing(cli: Cli) -> None:
    cli.verbs.objects = [{"kind": "PersistentVolumeClaim"}, {"kind": "Pod", "spec": {"a": 1}}]
    result = cli.run("--dry-run")
    assert result.code == 0
    assert list(yaml.safe_load_all(result.text)) == cli.verbs.objects
    assert cli.run("--dry-run", "-o", "json").json == {"kind": "List", "items": cli.verbs.objects}
    assert cli.verbs.names("launch") == []


@pytest.mark.parametrize("how", ["exited", "failed"])
def test_rm_removes_the_session_however_the_agent_ended(cli: Cli, how: str) -> None:
    if how == "failed":
        cli.verbs.steps = [UsageError("cannot go on")]
    cli.run("--rm")
    assert cli.verbs.names("remove") == ["brisk-otter"]


def test_without_rm_it_is_kept_and_the_next_commands_are_told(cli: Cli) -> None:
    kept = "session brisk-otter is kept: moorage resume brisk-otter, or moorage rm brisk-otter\n"
    assert kept in cli.run().err
    assert kept in cli("attach", "brisk-otter").err
    assert cli.verbs.names("remove") == []


def test_global_flags_stand_before_or_after_the_verb_and_the_later_wins(cli: Cli) -> None:
    cli("--context", "a", "-n", "one", "ls", "-n", "two", "--request-timeout", "1m", "--data-dir", "/d")
    options = cli.wiring.options
    assert options is not None
    assert (options.context, options.namespace, options.request_timeout) == ("a", "two", 60.0)
    assert (options.data_dir, options.kubeconfig) == ("/d", "")


@pytest.mark.parametrize("words", [("-e", "A=s3cr3t\udcff"), ("-e", "B")], ids=["given", "taken from ours"])
@pytest.mark.parametrize(
    "verb", [("run", "--template", "pod.yaml"), ("exec", "calm-cove")], ids=["run", "exec"]
)
def test_a_variable_that_is_not_utf8_is_refused_and_its_value_not_shown(
    cli: Cli, verb: tuple[str, ...], words: tuple[str, ...]
) -> None:
    cli.wiring.environ = {"B": "s3cr3t\udcff"}
    result = cli(*verb, *words, "--", "env")
    assert result.code == 2
    assert "is not UTF-8 text" in result.err
    assert "s3cr3t" not in result.err
    assert cli.verbs.calls == []
