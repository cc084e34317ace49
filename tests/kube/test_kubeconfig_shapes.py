"""Kubeconfigs seen in the wild (docs/cases.md): understood, or refused with file, line and field."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.core.errors import DocumentError
from moorage.kube import kubeconfig
from moorage.kube.target import FromFile, Inline, Target

SECRET = "planted-secret-8d1f"
CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "kubeconfigs.yaml").read_text())
UNDERSTOOD = [case for case in CASES if "target" in case]
REFUSED = [case for case in CASES if "refused" in case]
PRIVATE = 0o600


def ids(cases: list[dict[str, Any]]) -> list[str]:
    return ["case {}: {}".format(*case["name"].split(" ", 1)) for case in cases]


def written(folder: Path, case: dict[str, Any]) -> Path:
    """The case as a file, with the files that kubeconfigs name beside it."""
    for name in ("ca.crt", "client.crt", "client.key", "token"):
        (folder / name).write_text(name)
    text = case["document"]
    for word in ("ca", "cert", "key"):
        text = text.replace(f"{{{word}}}", base64.b64encode(word.encode()).decode())
    path = folder / "config"
    path.write_text(text)
    path.chmod(int(case.get("mode", "0o600"), 8))
    return path


def material(value: object) -> str | None:
    return {Inline: "inline", FromFile: "file", type(None): None}[type(value)]


def told(target: Target) -> dict[str, Any]:
    """What a target says, in the words of the cases; what is empty is left out."""
    plugin = target.login.plugin
    said = {
        "server": target.server,
        "namespace": target.namespace,
        "server_name": target.trust.server_name,
        "proxy_url": target.proxy_url,
        "authority": material(target.trust.authority),
        "certificate": material(target.login.certificate),
        "plugin": plugin
        and {
            "command": plugin.command,
            "args": list(plugin.args),
            "env": [list(pair) for pair in plugin.env],
            **({"provide_cluster_info": True} if plugin.provide_cluster_info else {}),
            **({"install_hint": plugin.install_hint} if plugin.install_hint else {}),
        },
    }
    return {name: value for name, value in said.items() if value}


@pytest.mark.parametrize("case", UNDERSTOOD, ids=ids(UNDERSTOOD))
def test_a_kubeconfig_from_the_wild_is_understood(tmp_path: Path, case: dict[str, Any]) -> None:
    target = kubeconfig.load(str(written(tmp_path, case)), None, None, {})
    assert told(target) == case["target"]


@pytest.mark.parametrize("case", REFUSED, ids=ids(REFUSED))
def test_a_kubeconfig_that_is_a_danger_or_a_mistake_is_refused_with_line_and_field(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    path = written(tmp_path, case)
    with pytest.raises(DocumentError) as caught:
        kubeconfig.load(str(path), None, None, {})
    (problem,) = caught.value.problems
    assert [problem.line, problem.field, problem.code] == case["refused"]
    assert str(path) in caught.value.message
    assert problem.hint
    assert SECRET not in f"{caught.value} {problem}"


def test_case_k8_of_two_files_the_first_entry_and_the_first_current_context_win(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(
        "current-context: b\nclusters: [{name: c, cluster: {server: 'https://one'}}]\nusers: null\n"
    )
    two.write_text(
        "current-context: a\nclusters: [{name: c, cluster: {server: 'https://two', tls-server-name: t}}]\n"
        "contexts:\n- {name: a, context: {cluster: c}}\n- {name: b, context: {cluster: c, namespace: b}}\n"
    )
    target = kubeconfig.load(None, None, None, {"KUBECONFIG": f"{one}:{two}"})
    assert (target.context, target.namespace, target.server) == ("b", "b", "https://one")
    assert target.trust.server_name == ""  # an entry wins as a whole


def test_case_130_from_another_folder_every_relative_path_belongs_to_its_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, files in (("one", ("ca.crt",)), ("two", ("token", "plugin", "client.crt", "client.key"))):
        (tmp_path / folder).mkdir()
        for name in files:
            (tmp_path / folder / name).write_text(f"{folder}/{name}")
    (tmp_path / "one" / "config").write_text(
        "current-context: t\n"
        "clusters: [{name: c, cluster: {server: 'https://h', certificate-authority: ca.crt}}]\n"
        "contexts: [{name: t, context: {cluster: c, user: t}}, {name: p, context: {cluster: c, user: p}}]\n"
    )
    (tmp_path / "two" / "config").write_text(
        "users:\n- name: t\n"
        "  user: {tokenFile: ./token, client-certificate: client.crt, client-key: ../two/client.key}\n"
        "- name: p\n"
        "  user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin}}\n"
    )
    monkeypatch.chdir(tmp_path)
    listed = {"KUBECONFIG": ":one/config::missing:two/config:"}
    token, plugin = (kubeconfig.load(None, context, None, listed) for context in (None, "p"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    materials = (token.trust.authority, token.login.certificate, token.login.key)
    assert [part.path.read_text() for part in materials if isinstance(part, FromFile)] == [
        "one/ca.crt",
        "two/client.crt",
        "two/client.key",
    ]
    assert token.login.token_file is not None
    assert token.login.token_file.read_text() == "two/token"
    assert plugin.login.plugin is not None
    assert Path(plugin.login.plugin.command).read_text() == "two/plugin"


@pytest.mark.parametrize("server", ["http://127.0.0.1:8001", "http://localhost:8001", "http://[::1]:8001"])
def test_without_tls_only_this_machine_is_spoken_to(tmp_path: Path, server: str) -> None:
    text = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
    text += f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
    assert kubeconfig.load(str(written(tmp_path, {"document": text})), None, None, {}).server == server


def test_a_device_that_everybody_may_write_is_an_empty_kubeconfig() -> None:
    assert kubeconfig.context_names("/dev/null", {}) == []
    with pytest.raises(DocumentError) as caught:
        kubeconfig.load("/dev/null", None, None, {})
    assert caught.value.problems[0].code == "required"


def test_a_program_above_the_folder_is_named_by_its_whole_path_only(tmp_path: Path) -> None:
    text = "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
    text += (
        "clusters: [{name: c, cluster: {server: 'https://h'}}]\nusers: [{name: u, user: {exec: {apiVersion: "
    )
    text += "client.authentication.k8s.io/v1beta1, command: COMMAND}}}]\n"
    for command in ("/usr/../bin/login", "./bin/../login", "bin/login"):
        path = written(tmp_path, {"document": text.replace("COMMAND", command)})
        plugin = kubeconfig.load(str(path), None, None, {}).login.plugin
        assert plugin is not None
        assert plugin.command == str(tmp_path / command)
    for command in ("../login", "bin/../../login", "./.."):
        with pytest.raises(DocumentError, match="leaves the folder"):
            kubeconfig.load(
                str(written(tmp_path, {"document": text.replace("COMMAND", command)})), None, None, {}
            )
