"""Every route, asked by everybody: roles.csv, written by hand, says what each is answered."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from moorage.core.service.records import Policy, Role, Scope, Token, User, Verdict
from moorage.server.app import PREFIX, make_app
from moorage.server.guard import ACTION
from moorage.server.routes.terminal import PATH as TERMINAL
from tests.api.scripted_places import on_record
from tests.api.service import EXECUTOR, PROFILE, Client, Service
from tests.sessions.stage import NOW

TABLE = Path(__file__).with_name("roles.csv")
ROWS = list(csv.DictReader(TABLE.read_text().splitlines()))
COLUMNS = ("anonymous", "owner", "other member", "administrator", "read-only token")
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/signin/password"): {"name": "nobody", "password": "a wrong one"},
    ("POST", "/signin/link"): {"link": "none of ours"},
    ("PUT", "/me/password"): {"password": "correct horse battery"},
    ("PATCH", "/executors/{executor_id}"): {},
    ("POST", "/executors/{executor_id}/profiles"): {**PROFILE, "name": "other"},
    ("PATCH", "/executors/{executor_id}/profiles/{profile_id}"): {},
    ("POST", "/executors"): {**EXECUTOR, "name": "other"},
    ("PUT", "/policies/{code}"): {"verdict": "refuse"},
    ("POST", "/kubernetes/test"): {"spec": EXECUTOR["spec"]},
    ("POST", "/tasks"): {"title": "one"},
    ("PATCH", "/tasks/{task_id}"): {"column": "done"},
    ("POST", "/tasks/{task_id}/sessions"): {},
    ("POST", "/sessions/{session_id}/exec"): {"argv": ["true"]},
    ("POST", "/users"): {"name": "newcomer"},
    ("PATCH", "/users/{user_id}"): {},
    ("POST", "/tokens"): {"name": "ci"},
    ("PUT", "/secrets/{name}"): {"value": "hunter2-hunter2"},
}
QUERIES = {"/sessions/{session_id}/files": "?path=/workspace/a"}


@dataclass
class Scene:
    """What a row's path may name; ``token`` and the like are made anew for each row, since some are
    deleted."""

    service: Service
    owner: Client
    names: dict[str, str]

    async def path(self, row: dict[str, str]) -> str:
        names = dict(self.names)
        for name, make in (
            ("user_id", self._victim),
            ("token_id", self._token),
            ("name", self._secret),
            ("code", self._policy),
        ):
            if f"{{{name}}}" in row["path"]:
                names[name] = await make()
        return row["path"].format(**names) + QUERIES.get(row["path"], "")

    async def _victim(self) -> str:
        ids = self.service.parts.ids
        row = User(ids.session_id(), ids.session_id(), Role.MEMBER, NOW, NOW)
        return (await self.service.parts.service.users.add(row)).id

    async def _token(self) -> str:
        ids = self.service.parts.ids
        assert self.owner.user is not None
        token = Token(ids.session_id(), self.owner.user.id, ids.session_id(), Scope.FULL, NOW)
        await self.service.parts.service.people.add_token(token, ids.nonce().encode())
        return token.id

    async def _secret(self) -> str:
        await self.service.parts.store.secrets.put("named/KEY", b"hunter2-hunter2")
        return "KEY"

    async def _policy(self) -> str:
        code = f"rule_{self.service.parts.ids.session_id()}"
        return (await self.service.parts.service.policies.add(Policy(code, Verdict.WARN, NOW))).id


@pytest.fixture
async def scene(service: Service) -> Scene:
    administrator, owner = await service.administrator(), await service.person("owner")
    profile = await service.profile(administrator)
    task = await service.task(owner, profile["id"])
    session = await on_record(service.parts, task, profile["executor_id"], profile["id"])
    service.oblige(session)
    names = {"executor_id": profile["executor_id"], "profile_id": profile["id"]}
    return Scene(service, owner, {**names, "task_id": task, "session_id": session.id})


async def who(scene: Scene, column: str) -> Client:
    service = scene.service
    return {
        "anonymous": service.nobody(),
        "owner": scene.owner,
        "other member": await service.person("other"),
        "administrator": await service.administrator(),
        "read-only token": await service.person("owner", scope=Scope.READ),
    }[column]


async def status(client: Client, method: str, path: str, body: Any) -> int:
    """Of the answer's head: some answers have no end."""
    if method == "WS":
        return await handshake(client, path)
    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
        http.request(
            method, client.base + path, json=body, headers={**client.headers, "If-Match": "*"}
        ) as told,
    ):
        return told.status


async def handshake(client: Client, path: str) -> int:
    async with aiohttp.ClientSession() as http:
        try:
            async with http.ws_connect(client.base + path, headers=client.headers):
                return 101
        except aiohttp.WSServerHandshakeError as refused:
            return refused.status


@pytest.mark.parametrize("column", COLUMNS)
async def test_each_route_answers_each_role_as_the_table_says(scene: Scene, column: str) -> None:
    client = await who(scene, column)
    told = {}
    for row in ROWS:
        key = (row["method"], row["path"])
        told[key] = await status(client, row["method"], await scene.path(row), BODIES.get(key))
    assert told == {(row["method"], row["path"]): int(row[column]) for row in ROWS}


def test_each_route_of_the_application_stands_in_the_table(service: Service) -> None:
    paths = make_app(service.parts).openapi()["paths"]
    routes = {
        (method.upper(), path.removeprefix(PREFIX)) for path, methods in paths.items() for method in methods
    }
    assert routes | {("WS", TERMINAL)} == {(row["method"], row["path"]) for row in ROWS}


def test_each_route_names_its_action(service: Service) -> None:
    paths = make_app(service.parts).openapi()["paths"]
    unnamed = [
        (method, path)
        for path, methods in paths.items()
        for method in methods
        if ACTION not in methods[method]
    ]
    assert unnamed == []
