"""Kubeconfig files in, a target or an error with its place out."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from moorage.core.errors import DocumentError, NotFound, UsageError
from moorage.kube import kubeconfig
from moorage.kube.target import FromFile, Inline, Target

SECRET = "planted-secret-8d1f"

GOOD = f"""
current-context: x
contexts:
- name: x
  context: {{cluster: c, user: u, namespace: team}}
clusters:
- name: c
  cluster:
    server: https://api.example:6443
users:
- name: u
  user:
    token: {SECRET}
"""


def load(folder: Path, text: str | bytes = GOOD, context: str | None = None) -> Target:
    path = folder / "config"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return kubeconfig.load(str(path), context, None, {})


def test_a_plain_file_is_understood(tmp_path: Path) -> None:
    target = load(tmp_path)
    assert (target.server, target.namespace, target.context) == ("https://api.example:6443", "team", "x")
    assert target.login.token == SECRET
    assert SECRET not in repr(target)


def test_json_byte_order_marks_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + GOOD.strip().replace("\n", "\r\n").encode()
    assert load(tmp_path, text).login.token == SECRET
    json = '{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":"https://h"}}]}'
    assert load(tmp_path, json).server == "https://h"


def test_of_several_files_the_first_that_names_a_thing_wins_as_a_whole(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("users:\n- name: u\n  user: {token: first}\ncurrent-context: x\n")
    two.write_text(GOOD.replace("current-context: x", "current-context: other"))
    listed = os.pathsep.join(["", str(one), str(tmp_path / "missing"), str(two)])
    target = kubeconfig.load(None, None, "mine", {"KUBECONFIG": listed})
    assert (target.login.token, target.server, target.namespace) == (
        "first",
        "https://api.example:6443",
        "mine",
    )


def test_without_a_list_the_file_in_the_home_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(GOOD)
    assert kubeconfig.load(None, None, None, {"HOME": str(tmp_path)}).context == "x"


def test_relative_paths_belong_to_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    for name in ("ca", "cert", "key"):
        (folder / name).write_text(name)
    text = GOOD.replace("server:", "certificate-authority: ca\n    server:").replace(
        f"token: {SECRET}", "client-certificate: ./cert\n    client-key: ../deep/key"
    )
    target = load(folder, text)
    assert target.trust.authority == FromFile(folder / "ca")
    assert [path.read_text() for path in target.watched()[1:]] == ["ca", "cert", "key"]


def test_data_wins_over_a_file_and_a_token_file_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("x")
    data = base64.b64encode(b"authority").decode()
    text = GOOD.replace(
        "server:", f"certificate-authority-data: {data}\n    certificate-authority: gone\n    server:"
    )
    target = load(tmp_path, text.replace("token:", "tokenFile: t\n    token:"))
    assert target.trust.authority == Inline(b"authority")
    assert (target.login.token, target.login.token_file) == ("", tmp_path / "t")


def test_a_plugin_is_read_and_its_relative_command_belongs_to_the_file(tmp_path: Path) -> None:
    plugin = """exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [a, "1"]
      env: [{name: K, value: v}]
      interactiveMode: IfAvailable
      provideClusterInfo: true"""
    found = load(tmp_path, GOOD.replace(f"token: {SECRET}", plugin)).login.plugin
    assert found is not None
    assert (found.command, found.args, found.env) == (str(tmp_path / "bin/login"), ("a", "1"), (("K", "v"),))
    assert found.provide_cluster_info


def test_a_bare_command_is_left_to_the_path(tmp_path: Path) -> None:
    plugin = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}"
    found = load(tmp_path, GOOD.replace(f"token: {SECRET}", plugin)).login.plugin
    assert found is not None
    assert (found.command, found.interactive_mode) == ("aws", "IfAvailable")


def test_a_clusters_extension_reaches_the_plugin_with_its_types(tmp_path: Path) -> None:
    extension = """extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: a, interactive: true, port: 8080, text: "true", nothing: null}"""
    plugin = "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}"
    text = GOOD.replace(f"token: {SECRET}", plugin).replace("    server:", f"    {extension}\n    server:")
    found = load(tmp_path, text).login.plugin
    assert found is not None
    assert found.cluster_config == {
        "audience": "a",
        "interactive": True,
        "port": 8080,
        "text": "true",
        "nothing": None,
    }


def test_a_context_without_user_is_anonymous(tmp_path: Path) -> None:
    login = load(tmp_path, GOOD.replace(" user: u,", "")).login
    assert (login.token, login.certificate, login.plugin) == ("", None, None)


def user(text: str) -> str:
    return GOOD.replace(f"token: {SECRET}", text)


def cluster(text: str) -> str:
    return GOOD.replace("server: https://api.example:6443", text)


EXEC = "exec: {{apiVersion: client.authentication.k8s.io/{version}, command: '{command}'{more}}}"

# what is wrong: (the text, the field the error names, its code)
BAD: dict[str, tuple[str, str, str]] = {
    "no YAML": ("a: [1,", "", "syntax"),
    "a tab": ("a:\n\t- b", "", "syntax"),
    "a list": ("- a", "", "type"),
    "a word": ("hello", "", "type"),
    "empty": ("", "current-context", "required"),
    "no current context": (GOOD.replace("current-context: x", ""), "current-context", "required"),
    "an unknown current context": (
        GOOD.replace("current-context: x", "current-context: y"),
        "current-context",
        "unknown",
    ),
    "a current context of another type": (
        GOOD.replace("current-context: x", "current-context: [x]"),
        "current-context",
        "type",
    ),
    "contexts as a mapping": ("current-context: x\ncontexts: {x: 1}", "contexts", "type"),
    "an entry without a name": ("contexts:\n- context: {}", "contexts[0].name", "required"),
    "an entry that is text": ("contexts:\n- x", "contexts[0]", "type"),
    "a name twice": ("contexts:\n- name: x\n- name: x", "contexts[1].name", "duplicate"),
    "a key twice": (GOOD + "users: []\n", "users", "duplicate"),
    "a key that is a list": ("? [a]\n: b", "", "type"),
    "a context that names no cluster": (
        GOOD.replace("cluster: c, ", ""),
        "contexts[name=x].context.cluster",
        "required",
    ),
    "an unknown cluster": (
        GOOD.replace("cluster: c,", "cluster: d,"),
        "contexts[name=x].context.cluster",
        "unknown",
    ),
    "an unknown user": (GOOD.replace("user: u,", "user: v,"), "contexts[name=x].context.user", "unknown"),
    "a namespace that is a list": (
        GOOD.replace("namespace: team", "namespace: [a]"),
        "contexts[name=x].context.namespace",
        "type",
    ),
    "a cluster that is text": (
        GOOD.replace("  cluster:\n    server: https://api.example:6443", "  cluster: c"),
        "clusters[name=c].cluster",
        "type",
    ),
    "no server": (cluster("insecure-skip-tls-verify: true"), "clusters[name=c].cluster.server", "required"),
    "a server without a host": (
        cluster("server: 'https://'"),
        "clusters[name=c].cluster.server",
        "not_a_url",
    ),
    "a server with a bad port": (
        cluster("server: https://h:x"),
        "clusters[name=c].cluster.server",
        "not_a_url",
    ),
    "a server of another scheme": (
        cluster("server: ftp://h"),
        "clusters[name=c].cluster.server",
        "unsupported",
    ),
    "a SOCKS proxy": (
        cluster(f"{{server: h, proxy-url: 'socks5://u:{SECRET}@p:1'}}").replace(
            "cluster:\n    {", "cluster: {"
        ),
        "clusters[name=c].cluster.proxy-url",
        "unsupported",
    ),
    "an authority that is no base64": (
        cluster("{server: h, certificate-authority-data: '***'}").replace("cluster:\n    {", "cluster: {"),
        "clusters[name=c].cluster.certificate-authority-data",
        "not_base64",
    ),
    "an authority that is not there": (
        cluster("{server: h, certificate-authority: nowhere}").replace("cluster:\n    {", "cluster: {"),
        "clusters[name=c].cluster.certificate-authority",
        "missing",
    ),
    "insecure with an authority": (
        cluster("{server: h, insecure-skip-tls-verify: true, certificate-authority-data: YQ==}").replace(
            "cluster:\n    {", "cluster: {"
        ),
        "clusters[name=c].cluster.insecure-skip-tls-verify",
        "contradiction",
    ),
    "insecure as a word": (
        cluster("{server: h, insecure-skip-tls-verify: sure}").replace("cluster:\n    {", "cluster: {"),
        "clusters[name=c].cluster.insecure-skip-tls-verify",
        "type",
    ),
    "user name and password": (
        user(f"username: joe\n    password: {SECRET}"),
        "users[name=u].user.username",
        "unsupported",
    ),
    "an auth provider": (
        user("auth-provider: {name: gcp}"),
        "users[name=u].user.auth-provider",
        "unsupported",
    ),
    "a certificate without a key": (
        user("client-certificate-data: YQ=="),
        "users[name=u].user.client-key",
        "required",
    ),
    "a key without a certificate": (
        user("client-key-data: YQ=="),
        "users[name=u].user.client-certificate",
        "required",
    ),
    "a token with a line break": (
        user(f'token: "{SECRET}\\nX-Evil: 1"'),
        "users[name=u].user.token",
        "invalid",
    ),
    "a token that is a mapping": (user("token: {}"), "users[name=u].user.token", "type"),
    "a token file that is not there": (user("tokenFile: nowhere"), "users[name=u].user.tokenFile", "missing"),
    "a plugin of another version": (
        user(EXEC.format(version="v1alpha1", command="a", more="")),
        "users[name=u].user.exec.apiVersion",
        "unsupported",
    ),
    "a plugin without a command": (
        user(EXEC.format(version="v1beta1", command="", more="")),
        "users[name=u].user.exec.command",
        "required",
    ),
    "a v1 plugin without a mode": (
        user(EXEC.format(version="v1", command="a", more="")),
        "users[name=u].user.exec.interactiveMode",
        "required",
    ),
    "a plugin of an unknown mode": (
        user(EXEC.format(version="v1", command="a", more=", interactiveMode: Maybe")),
        "users[name=u].user.exec.interactiveMode",
        "unsupported",
    ),
    "plugin arguments as text": (
        user(EXEC.format(version="v1beta1", command="a", more=", args: -x")),
        "users[name=u].user.exec.args",
        "type",
    ),
    "a plugin environment without names": (
        user(EXEC.format(version="v1beta1", command="a", more=", env: [{value: x}]")),
        "users[name=u].user.exec.env",
        "type",
    ),
    "groups without a user to act as": (user("as-groups: [a]"), "users[name=u].user.as", "required"),
    "an alias that holds itself": ("a: &a [*a]", "", "too_deep"),
    "an alias bomb": (
        "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9)),
        "",
        "too_large",
    ),
    "endless nesting": ("[" * 5000, "", "too_deep"),
}


@pytest.mark.parametrize(("text", "field", "code"), BAD.values(), ids=BAD.keys())
def test_a_fault_is_named_with_its_place_and_without_a_secret(
    tmp_path: Path, text: str, field: str, code: str
) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, text)
    (problem,) = caught.value.problems
    assert (problem.field, problem.code) == (field, code)
    assert str(tmp_path / "config") in caught.value.message
    assert SECRET not in f"{caught.value.message} {caught.value.hint} {caught.value.problems}"


def test_a_fault_has_line_and_column(tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, GOOD.replace("cluster: c,", "cluster: d,"))
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (5, 22)
    assert problem.hint == "clusters here: c"


def test_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="not UTF-8"):
        load(tmp_path, b"a: \xff\xfe")


def test_a_context_that_was_asked_for_and_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        load(tmp_path, context="prod")
    assert (caught.value.field, caught.value.hint) == ("context", "contexts here: x")


@pytest.mark.parametrize(
    ("path", "error"),
    [("missing", NotFound), ("", UsageError), (".", UsageError)],
    ids=["missing", "empty", "folder"],
)
def test_a_file_that_cannot_be_read_is_an_error_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, error: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as caught:
        kubeconfig.load(path, None, None, {})
    assert caught.value.field == "kubeconfig"


def test_no_configuration_at_all_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        kubeconfig.load(None, None, None, {"HOME": str(tmp_path)})
    assert str(tmp_path / ".kube" / "config") in caught.value.message


def test_names_for_completion_never_fail(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(dedent(GOOD))
    bad.write_text("{")
    assert kubeconfig.context_names(str(good), {}) == ["x"]
    assert kubeconfig.context_names(str(bad), {}) == []


@pytest.mark.parametrize(
    "server",
    [f"https://bob:{SECRET}@h:6443", f"https://{SECRET}@h", f"bob:{SECRET}@h", f"https://h/?token={SECRET}"],
)
def test_a_login_in_the_address_of_a_server_is_refused_and_not_shown(tmp_path: Path, server: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, GOOD.replace("https://api.example:6443", server))
    (problem,) = caught.value.problems
    assert (problem.field, problem.code) == ("clusters[name=c].cluster.server", "unsupported")
    assert SECRET not in str(caught.value) + repr(problem)
