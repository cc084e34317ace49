"""A running server as tests speak to it, and the people who do."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import aiohttp

from moorage.core.service.records import Role, Scope, Token, User
from moorage.core.session import Session
from moorage.server.parts import ServerParts
from moorage.server.who import KEY_PREFIX, digest, fresh_value
from tests.api.scripted_places import Obliging, ScriptedPlaces, Switch, obliging
from tests.sessions.stage import NOW, Stage

TEMPLATE = """\
apiVersion: v1
kind: PodTemplate
metadata: {name: test}
template:
  spec:
    containers:
      - {name: agent, image: "localhost/busybox:test"}
"""
EXECUTOR = {
    "name": "dev",
    "spec": {"auth_mode": "kubeconfig", "kubeconfig_path": "/etc/kube/dev", "namespace": "agents"},
}
PROFILE = {
    "name": "small",
    "spec": {
        "pod_template_yaml": TEMPLATE,
        "workspace": {"mode": "managed_pvc", "size": "1Gi"},
        "command": ["agent"],
    },
}


class Answer(NamedTuple):
    """``body``: decoded JSON, or the text."""

    status: int
    body: Any
    headers: Any

    @property
    def etag(self) -> str:
        return str(self.headers["ETag"])

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Field and code of each entry of ``errors``."""
        return [(one["field"], one["code"]) for one in self.body["errors"]]


@dataclass
class Client:
    """Somebody. ``headers`` go with every request."""

    base: str
    headers: dict[str, str] = field(default_factory=dict)
    user: User | None = None
    said: list[str] = field(default_factory=list)

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        etag: str = "",
        headers: dict[str, str] | None = None,
        data: bytes | io.BytesIO | None = None,
    ) -> Answer:
        """``path`` below /api/v1. Everything that was answered is kept in ``said``."""
        sent = {**self.headers, **({"If-Match": etag} if etag else {}), **(headers or {})}
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.request(method, self.base + path, json=body, data=data, headers=sent) as answer,
        ):
            text = await answer.text()
        self.said.append(f"{answer.headers} {text}")
        decoded = json.loads(text) if "json" in answer.content_type and text else text
        return Answer(answer.status, decoded, answer.headers)

    async def get(self, path: str, **more: Any) -> Answer:
        return await self.ask("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> Answer:
        return await self.ask("POST", path, body, **more)

    async def patch(self, path: str, body: Any, etag: str = "", **more: Any) -> Answer:
        return await self.ask("PATCH", path, body, etag=etag, **more)

    async def put(self, path: str, body: Any = None, etag: str = "", **more: Any) -> Answer:
        return await self.ask("PUT", path, body, etag=etag, **more)

    async def delete(self, path: str, **more: Any) -> Answer:
        return await self.ask("DELETE", path, **more)


@dataclass
class Service:
    """``stage``: the fake cluster below, and the session verbs as the command line has them."""

    parts: ServerParts
    stage: Stage
    port: int
    switch: Switch

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def nobody(self) -> Client:
        return Client(self.base)

    async def person(self, name: str, role: Role = Role.MEMBER, scope: Scope = Scope.FULL) -> Client:
        """A person, made where there is none of that name, with a token of their own."""
        known = [user for user in await self.parts.service.users.list_all() if user.name == name]
        if known:
            user = known[0]
        else:
            row = User(self.parts.ids.session_id(), name, role, created_at=NOW, updated_at=NOW)
            user = await self.parts.service.users.add(row)
        value = fresh_value(KEY_PREFIX)
        token = Token(self.parts.ids.session_id(), user.id, fresh_value()[:8], scope, created_at=NOW)
        await self.parts.service.people.add_token(token, digest(value))
        return Client(self.base, {"Authorization": f"Bearer {value}"}, user)

    async def administrator(self) -> Client:
        return await self.person("admin", Role.ADMINISTRATOR)

    async def profile(self, administrator: Client) -> dict[str, Any]:
        """An executor and a profile on it; the profile as the API shows it."""
        executor = (await administrator.post("/executors", EXECUTOR)).body
        made = await administrator.post(f"/executors/{executor['id']}/profiles", PROFILE)
        assert made.status == 201, made.body
        return dict(made.body)

    async def task(self, owner: Client, profile_id: str = "") -> str:
        made = await owner.post("/tasks", {"title": "mend it", "profile_id": profile_id})
        assert made.status == 201, made.body
        return str(made.body["id"])

    async def session(self, owner: Client, task_id: str) -> str:
        """A session on record, not yet running."""
        made = await owner.post(f"/tasks/{task_id}/sessions", {})
        assert made.status == 201, made.body
        return str(made.body["id"])

    def oblige(self, *sessions: Session) -> Obliging:
        """From now on every verb on these sessions succeeds, whatever their Pods do."""
        places = ScriptedPlaces(obliging(*sessions))
        self.switch.to = places
        return places.verbs
