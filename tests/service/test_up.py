"""``moorage up`` as a person uses it: real processes, the embedded cluster, HTTP."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from moorage.own_server import OwnServer

AGENT = "n=$(($(cat runs 2>/dev/null || echo 0) + 1)); echo $n > runs; echo run $n; exec sleep 1000"
PORT = "127.0.0.1:0"


@dataclass
class Folder:
    """A data folder, and the commands typed for it."""

    data: Path
    environ: dict[str, str]

    def __call__(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "moorage", *words],
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    @property
    def pid(self) -> int:
        found = OwnServer(self.data).running()
        assert found is not None
        return found.pid


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MOORAGE_")}
    made = Folder(
        tmp_path / "data", {**environ, "MOORAGE_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)}
    )
    yield made
    made("down", "-y")


class Api:
    """A browser that is signed in."""

    def __init__(self, http: aiohttp.ClientSession, url: str, csrf: str) -> None:
        self._http, self._url, self._headers = http, url, {"X-CSRF-Token": csrf}

    async def __call__(self, method: str, path: str, body: Any = None, code: int = 200) -> Any:
        async with self._http.request(
            method, f"{self._url}/api/v1/{path}", json=body, headers=self._headers
        ) as answer:
            said = await answer.read()
            assert answer.status == code, said
            return await answer.json(content_type=None) if said else None

    async def until(self, session: str, status: str) -> Any:
        while (seen := await self("GET", f"sessions/{session}"))["status"] != status:
            assert seen["status"] != "Failed", seen
            await asyncio.sleep(0.1)  # sleep: a server is asked again, as a person would
        return seen


async def signed_in(http: aiohttp.ClientSession, link: str) -> Api:
    url, _, once = link.strip().partition("/signin#")
    async with http.post(f"{url}/api/v1/signin/link", json={"link": once}) as answer:
        assert answer.status == 200, await answer.text()
        return Api(http, url, (await answer.json())["csrf_token"])


def jar() -> aiohttp.CookieJar:
    return aiohttp.CookieJar(unsafe=True)  # cookies of an address without a name


async def test_a_session_outlives_the_server_that_started_it(folder: Folder) -> None:
    link = folder("up", "-d", "--listen", PORT).stdout
    async with aiohttp.ClientSession(cookie_jar=jar()) as http:
        api = await signed_in(http, link)
        task = await api("POST", "tasks", {"title": "count"}, code=201)
        launch = {"command": ["sh", "-c", AGENT], "name": "s"}
        session = (await api("POST", f"tasks/{task['id']}/sessions", launch, code=201))["id"]
        first = await api.until(session, "Running")
        said = await api("POST", f"sessions/{session}/exec", {"argv": ["cat", "runs"]})
        assert (said["exit_code"], base64.b64decode(said["stdout"])) == (0, b"1\n")

    os.kill(folder.pid, signal.SIGKILL)
    assert "s" in folder("ls", "-o", "name").stdout.split()
    link = folder("up", "-d", "--listen", PORT).stdout
    async with aiohttp.ClientSession(cookie_jar=jar()) as http:
        api = await signed_in(http, link)
        again = await api.until(session, "Running")
        assert (again["pod_name"], again["restarts"]) == (first["pod_name"], 0)
        assert folder("logs", "s").stdout == "run 1\n"
        assert folder("exec", "s", "--", "cat", "runs").stdout == "1\n"
        await api("POST", f"sessions/{session}/pause")
        assert (await api("POST", f"sessions/{session}/resume"))["status"] == "Running"
        gone = await api("DELETE", f"sessions/{session}")
        assert len(gone["deletes"]) == 2
    assert folder("ls", "-o", "name").stdout == ""


async def test_a_link_signs_in_once_and_a_second_up_gives_another(folder: Folder) -> None:
    first = folder("up", "-d", "--listen", PORT)
    async with aiohttp.ClientSession(cookie_jar=jar()) as http:
        await signed_in(http, first.stdout)
        url, _, once = first.stdout.strip().partition("/signin#")
        async with http.post(f"{url}/api/v1/signin/link", json={"link": once}) as answer:
            assert answer.status == 401
    second = folder("up", "--listen", PORT)
    assert f"runs already: {url} (process {folder.pid})" in second.stderr
    async with aiohttp.ClientSession(cookie_jar=jar()) as http:
        await signed_in(http, second.stdout)


async def test_with_a_second_person_the_embedded_cluster_is_off_and_says_why(folder: Folder) -> None:
    link = folder("up", "-d", "--listen", PORT).stdout
    async with aiohttp.ClientSession(cookie_jar=jar()) as http:
        api = await signed_in(http, link)
        assert [one["name"] for one in (await api("GET", "executors"))["items"]] == ["embedded"]
        await api("POST", "users", {"name": "second", "role": "member"}, code=201)
        assert (await api("GET", "executors"))["items"] == []
        task = await api("POST", "tasks", {"title": "t"}, code=201)
        refused = await api("POST", f"tasks/{task['id']}/sessions", {"command": ["true"]}, code=404)
        assert "has several" in refused["detail"]


def test_a_server_that_other_machines_reach_has_no_embedded_cluster(folder: Folder) -> None:
    done = folder("up", "-d", "--listen", "0.0.0.0:0")
    assert "the embedded cluster is off: this server can be reached from other machines" in done.stderr


def test_an_address_that_is_taken_is_told_by_the_detached_one_too(folder: Folder, tmp_path: Path) -> None:
    folder("up", "-d", "--listen", PORT)
    found = OwnServer(folder.data).running()
    assert found is not None
    other = Folder(tmp_path / "other", {**folder.environ, "MOORAGE_DATA_DIR": str(tmp_path / "other")})
    refused = other("up", "-d", "--listen", found.url.removeprefix("http://"), code=1)
    assert "cannot be listened on" in refused.stderr
    assert "--listen HOST:PORT" in refused.stderr
