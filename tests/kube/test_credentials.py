"""Credentials that change while we run: plugins, token files, rotated certificates."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from moorage.core.errors import ApiError
from moorage.core.kinds import NAMESPACES
from moorage.kube import exec_plugin
from moorage.kube.exec_plugin import blank_tokens, exec_info
from moorage.kube.target import ExecPlugin, Login, Target, Trust

SECRET = "planted-secret-8d1f"
PATH = "/api/v1/namespaces/n"
V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "n", "uid": "u"}}


@pytest.fixture
def accepts(api: Any) -> Callable[..., None]:
    """Let the server accept only these tokens, and 401 all others."""

    def make(*tokens: str) -> None:
        async def handle(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") in [f"Bearer {token}" for token in tokens]:
                return web.json_response(NAMESPACE)
            said = {"kind": "Status", "apiVersion": "v1", "code": 401, "reason": "Unauthorized"}
            return web.json_response(said, status=401)

        api.on("GET", PATH, handle)

    return make


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """A user whose plugin is a script; each run is a line in ``runs``, its answers come from ``answers``."""

    def make(*answers: str, version: str = V1, script: str = "", **more: Any) -> dict[str, Any]:
        for number, text in enumerate(answers):
            (tmp_path / f"answer{number}").write_text(text)
        path = tmp_path / "plugin"
        body = script or f'cat "{tmp_path}/answer$n" 2>/dev/null || cat "{tmp_path}/answer{len(answers) - 1}"'
        path.write_text(
            f"#!/bin/sh\ntouch {tmp_path}/runs\nn=$(wc -l < {tmp_path}/runs)\n"
            f'printf "%s\\n" "$KUBERNETES_EXEC_INFO" >> {tmp_path}/runs\n{body}\n'
        )
        path.chmod(0o755)
        return {
            "exec": {"apiVersion": version, "command": str(path), "interactiveMode": "IfAvailable", **more}
        }

    return make


def credential(token: str = "", version: str = V1, **status: Any) -> str:
    body = {**({"token": token} if token else {}), **status}
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": body})


def runs(folder: Path) -> list[dict[str, Any]]:
    path = folder / "runs"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_a_plugins_token_is_used(
    api: Any, accepts: Any, plugin: Any, tmp_path: Path, version: str
) -> None:
    accepts("t1")
    cluster = api.cluster(plugin(credential("t1", version), version=version))
    await cluster.get(NAMESPACES, "n")
    await cluster.get(NAMESPACES, "n")
    assert [run["apiVersion"] for run in runs(tmp_path)] == [version]
    assert runs(tmp_path)[0]["spec"] == {"interactive": False}


async def test_many_calls_at_once_run_the_plugin_once(
    api: Any, accepts: Any, plugin: Any, tmp_path: Path
) -> None:
    accepts("t1")
    cluster = api.cluster(plugin(credential("t1")))
    await asyncio.gather(*(cluster.get(NAMESPACES, "n") for _ in range(20)))
    assert len(runs(tmp_path)) == 1


async def test_a_401_runs_the_plugin_once_more_for_all_who_got_it(
    api: Any, accepts: Any, plugin: Any, tmp_path: Path
) -> None:
    accepts("t2")
    cluster = api.cluster(plugin(credential("t1"), credential("t2")))
    await asyncio.gather(*(cluster.get(NAMESPACES, "n") for _ in range(5)))
    assert len(runs(tmp_path)) == 2


async def test_a_second_401_is_an_answer(api: Any, accepts: Any, plugin: Any, tmp_path: Path) -> None:
    accepts("never")
    cluster = api.cluster(plugin(credential("t1"), credential("t2")))
    with pytest.raises(ApiError) as caught:
        await cluster.get(NAMESPACES, "n")
    assert caught.value.problem.http_status == 401
    assert "credentials" in caught.value.hint
    assert (len(runs(tmp_path)), len(api.requests)) == (2, 2)


async def test_a_403_never_runs_the_plugin_again(api: Any, refuse: Any, plugin: Any, tmp_path: Path) -> None:
    api.on("GET", PATH, refuse(403, "Forbidden", "namespaces is forbidden"))
    with pytest.raises(ApiError) as caught:
        await api.cluster(plugin(credential("t1"))).get(NAMESPACES, "n")
    assert caught.value.problem.reason == "Forbidden"
    assert (len(runs(tmp_path)), len(api.requests)) == (1, 1)


async def test_an_expired_credential_is_replaced_before_it_is_used(
    api: Any, accepts: Any, plugin: Any, tmp_path: Path
) -> None:
    accepts("t1", "t2")
    old, new = "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
    answers = credential("t1", expirationTimestamp=old), credential("t2", expirationTimestamp=new)
    cluster = api.cluster(plugin(*answers))
    for _ in range(3):
        await cluster.get(NAMESPACES, "n")
    used = [request.headers["Authorization"] for request in api.seen("GET", PATH)]
    assert used == ["Bearer t1", "Bearer t2", "Bearer t2"]


BAD_PLUGINS: dict[str, tuple[dict[str, str], str]] = {
    "fails": (
        {"script": f"echo no session {SECRET}{SECRET} >&2; exit 3"},
        "failed with exit code 3: no session …",
    ),
    "asks for a password": (
        {"script": "printf 'Password: ' >&2; read -r answer || exit 9"},
        "failed with exit code 9: Password:",
    ),
    "says nothing": ({"script": "true"}, "printed no JSON object"),
    "prints text": ({"script": f"echo {SECRET}"}, "printed no JSON object"),
    "prints another kind": ({"script": 'echo \'{"kind": "Pod"}\''}, "kind is not ExecCredential"),
    "answers in another version": ({"script": f"echo '{credential('t', V1BETA1)}'"}, "another apiVersion"),
    "gives nothing": ({"script": f"echo '{credential()}'"}, "neither a token nor a client certificate"),
    "gives half a pair": ({"script": f"echo '{credential(clientKeyData='k')}'"}, "only one of"),
    "gives a number": ({"script": f"echo '{credential(token=7)}'"}, "status.token that is no text"),  # type: ignore[arg-type]
    "gives a strange time": (
        {"script": f"echo '{credential('t', expirationTimestamp='soon')}'"},
        "expirationTimestamp that is no RFC 3339 time",
    ),
    "has no status": (
        {"script": f'echo \'{{"kind": "ExecCredential", "apiVersion": "{V1}"}}\''},
        "printed no status",
    ),
    "needs a terminal": ({"script": "true", "interactiveMode": "Always"}, "needs a terminal"),
}


@pytest.mark.parametrize(("how", "said"), BAD_PLUGINS.values(), ids=BAD_PLUGINS.keys())
async def test_a_plugin_that_cannot_help_is_named_and_nothing_is_sent(
    api: Any, plugin: Any, how: dict[str, str], said: str
) -> None:
    with pytest.raises(ApiError) as caught:
        await api.cluster(plugin(**how)).get(NAMESPACES, "n")
    assert said in caught.value.message
    assert SECRET not in caught.value.message
    assert caught.value.problem.sent == "no"
    assert caught.value.problem.reason == "CredentialPlugin"
    assert api.requests == []


async def test_a_plugin_that_prints_without_end_is_ended(api: Any, plugin: Any) -> None:
    with pytest.raises(ApiError, match="printed far too much"):
        await api.cluster(plugin(script="exec yes")).get(NAMESPACES, "n")
    assert api.requests == []


async def test_a_plugin_that_leaves_a_process_with_its_stdout_is_not_waited_for(
    api: Any, accepts: Any, plugin: Any, tmp_path: Path
) -> None:
    accepts("t1")
    (tmp_path / "credential").write_text(credential("t1"))
    script = f"sleep 300 & echo $! > {tmp_path}/left; cat {tmp_path}/credential"
    try:
        assert await api.cluster(plugin(script=script)).get(NAMESPACES, "n") == NAMESPACE
    finally:
        os.kill(int((tmp_path / "left").read_text()), signal.SIGKILL)  # it was left alone


async def test_a_plugin_that_takes_too_long_is_said_to(
    api: Any, plugin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exec_plugin, "TIMEOUT", 0.0)
    with pytest.raises(ApiError, match="did not finish"):
        await api.cluster(plugin(script="exec sleep 300")).get(NAMESPACES, "n")


async def test_a_missing_plugin_shows_the_install_hint(api: Any) -> None:
    user = {"exec": {"apiVersion": V1BETA1, "command": "no-such-plugin", "installHint": "get it from us"}}
    with pytest.raises(ApiError, match="no-such-plugin is not installed") as caught:
        await api.cluster(user).get(NAMESPACES, "n")
    assert caught.value.hint == "get it from us"


async def test_a_slow_plugin_does_not_use_up_the_time_of_the_call(
    api: Any, accepts: Any, plugin: Any, tmp_path: Path
) -> None:
    accepts("t1")
    (tmp_path / "credential").write_text(credential("t1"))
    script = f"sleep 2.5; cat {tmp_path}/credential"
    answer = await api.cluster(plugin(script=script), timeout=2.0).get(NAMESPACES, "n")
    assert answer == NAMESPACE


def test_a_plugin_is_told_about_the_cluster_only_where_it_asks() -> None:
    plugin = ExecPlugin(V1, "x", provide_cluster_info=True, cluster_config={"a": "b"})
    trust = Trust(insecure=False, server_name="other")
    told = json.loads(
        exec_info(Target("https://h", "ns", trust, Login(plugin=plugin)), b"CA", interactive=True)
    )
    assert told["spec"]["interactive"] is True
    assert told["spec"]["cluster"] == {
        "server": "https://h",
        "tls-server-name": "other",
        "certificate-authority-data": "Q0E=",
        "config": {"a": "b"},
    }


SAID: dict[str, tuple[str, str]] = {
    "a long token": (
        "error: token eyJhbGciOiJSUzI1NiIsImtpZCI6.abc expired\nplease log in",
        "error: token … expired please log in",
    ),
    "a short token": ("token pw12 is not good", "token … is not good"),
    "a short code": ("the code was 123456", "the code was …"),
    "a header": ("sent Authorization: Bearer pw", "sent Authorization: *** ***"),
    "a bearer": ("tried bearer pw.", "tried bearer ***"),
    "an assignment": ("password=pw&user=x", "password=***&user=x"),
    "JSON": ('{"access_token": "pw", "a": 1}', '{"access_token": ***, "a": 1}'),
    "a login in a URL": ("GET https://bob:pw@h/", "GET https://***@h/"),
    "terminal escapes": ("\x1b[31mno session\x1b[0m", "no session"),
    "only words": ("the token expired, the key is missing", "the token expired, the key is missing"),
}


@pytest.mark.parametrize(("said", "shown"), SAID.values(), ids=SAID.keys())
def test_what_could_be_a_secret_is_blanked_in_a_plugins_words(said: str, shown: str) -> None:
    assert blank_tokens(said.encode()) == shown


def test_of_a_plugins_words_the_last_are_shown() -> None:
    assert blank_tokens(b"first " * 1000 + b"and last") == (" first" * 100 + " and last")[-300:]


async def test_a_static_token_that_is_refused_is_not_sent_twice(api: Any, accepts: Any) -> None:
    accepts("other")
    with pytest.raises(ApiError):
        await api.cluster({"token": "t"}).get(NAMESPACES, "n")
    assert len(api.requests) == 1


async def test_a_token_file_is_read_again_on_a_401(api: Any, accepts: Any, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")
    accepts("old", "new")
    cluster = api.cluster({"tokenFile": "token"})
    await cluster.get(NAMESPACES, "n")
    file.write_text("newest\n")
    await cluster.get(NAMESPACES, "n")  # still the old one, still good
    api._handlers.clear()
    accepts("newest")
    await cluster.get(NAMESPACES, "n")
    used = [request.headers["Authorization"] for request in api.seen("GET", PATH)]
    assert used == ["Bearer old", "Bearer old", "Bearer old", "Bearer newest"]


async def test_a_rotated_kubeconfig_is_taken_up_on_a_401(api: Any, accepts: Any) -> None:
    accepts("second")
    cluster = api.cluster({"token": "first"})
    api.kubeconfig({"token": "second"})
    await cluster.get(NAMESPACES, "n")
    assert len(api.requests) == 2


async def test_a_kubeconfig_caught_half_written_leaves_the_last_good_one(api: Any, accepts: Any) -> None:
    accepts("first")
    cluster = api.cluster({"token": "first"})
    await cluster.get(NAMESPACES, "n")
    api.kubeconfig().write_text('{"clusters": [')
    await cluster.get(NAMESPACES, "n")
    assert len(api.requests) == 2


async def fails(kind: str, request: web.Request) -> web.StreamResponse:
    if kind == "cut":
        assert request.transport is not None
        request.transport.abort()
    if kind == "denied":
        said = {"kind": "Status", "apiVersion": "v1", "code": 401, "reason": "Unauthorized"}
        return web.json_response(said, status=401)
    return web.Response(status=200 if kind == "page" else 502, text="<html>hello</html>")


@pytest.mark.parametrize("kind", ["cut", "denied", "page", "gateway"])
@pytest.mark.parametrize("verb", ["get", "exec", "watch"])
async def test_no_error_shows_a_credential_not_even_in_what_caused_it(
    api: Any, kind: str, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    for path in (PATH, "/api/v1/namespaces", "/api/v1/namespaces/ns/pods/p/exec"):
        api.on("GET", path, functools.partial(fails, kind))
    cluster = api.cluster({"token": SECRET}, timeout=5)
    shown = ""
    if verb == "watch":
        async with cluster.watch(NAMESPACES) as cache:
            await cache.changed(10)
            shown = repr(cache.get("n"))
    else:
        with pytest.raises(ApiError) as caught:
            await (cluster.get(NAMESPACES, "n") if verb == "get" else cluster.exec("p", "c", ["x"]))
        error: BaseException | None = caught.value
        shown = "".join(traceback.format_exception(error))
        while error is not None:
            shown += repr(error) + repr(getattr(error, "problem", ""))
            error = error.__cause__
    assert shown
    assert SECRET not in shown + caplog.text


async def test_switching_the_current_context_does_not_move_a_running_process(
    api: Any, accepts: Any, tmp_path: Path
) -> None:
    accepts("second")
    cluster = api.cluster({"token": "first"})
    path = api.kubeconfig({"token": "second"})
    document = json.loads(path.read_text())
    document["clusters"].append({"name": "o", "cluster": {"server": "https://other.example"}})
    document["contexts"].append({"name": "other", "context": {"cluster": "o"}})
    path.write_text(json.dumps({**document, "current-context": "other"}))
    await cluster.get(NAMESPACES, "n")  # 401 at first, then with the rotated token of its own context
    assert len(api.requests) == 2
