"""A cluster in which everything works, for tests of the connection test; and what can be broken in it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass

from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, QUOTAS, Json
from moorage.embedded import EmbeddedCluster
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer, NoFaults
from moorage.embedded.refusal import Refusal
from moorage.ports.sessions import ConnectionTest, LaunchRequest
from moorage.sessions.doctor import connection_test
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.parts import Parts

from .stage import MODES, TEMPLATE

SCRIPT = "the script below, at rights, grants it"
PROFILE = LaunchRequest(TEMPLATE, ["true"], MODES["managed_pvc"])
AGENTS = ExecutorConfig("", "test", "agents")
HERE = "/api/v1/namespaces/agents"
RIGHTS = tuple(
    f"rights.{name}"
    for name in (
        "pods",
        "pods/exec",
        "pods/portforward",
        "pods/log",
        "persistentvolumeclaims",
        "events",
    )
)
KEYS = (
    "connection",
    "authentication",
    "cluster",
    "version",
    "discovery",
    "namespace",
    *RIGHTS,
    "template",
    "storage",
    "pod_security",
    "admission.claim",
    "admission.pod",
    "streaming",
    "helper",
)


@dataclass
class Place:
    """A cluster in which everything works, until a test breaks it."""

    api: EmbeddedCluster
    parts: Parts

    async def check(self, profile: LaunchRequest | None = PROFILE, *, launch: bool = False) -> ConnectionTest:
        return await connection_test(self.parts, AGENTS, profile, launch=launch)

    def objects(self) -> list[str]:
        """Everything that a session could leave."""
        found = self.api.objects()
        return [obj["metadata"]["name"] for kind in (PODS, CLAIMS) for obj in found.list(kind)]

    def deny(self, what: str) -> None:
        """Nobody may do it any more, e.g. ``get pods/exec``."""
        self.api.deny(lambda call: str(call).removesuffix(" (dry run)") == what)


class At(NoFaults):
    """A fault of the requests that ``chosen`` picks."""

    def __init__(self, chosen: Callable[[Call], bool], does: Callable[[], Answer | None]) -> None:
        self._chosen, self._does = chosen, does

    async def request(self, call: Call) -> Answer | None:
        return self._does() if self._chosen(call) else None


class Says(NoFaults):
    """Another body in place of what the server says to ``path``."""

    def __init__(self, path: str, change: Callable[[Json], Json]) -> None:
        self._path, self._change = path, change

    async def response(self, call: Call, answer: Answer) -> Answer:
        if call.path != self._path:
            return answer
        return dataclasses.replace(answer, body=json.dumps(self._change(json.loads(answer.body))).encode())


def refuse(error: Exception) -> Callable[[], Answer | None]:
    def raise_it() -> Answer | None:
        raise error

    return raise_it


def on(*words: str) -> Callable[[Call], bool]:
    return lambda call: str(call) in words


def upgrades(call: Call) -> bool:
    return call.verb == "watch" and call.query.get("timeoutSeconds") == "5"


def html(status: int = 200) -> Callable[[], Answer]:
    return lambda: Answer(status, b"<html>welcome</html>", "text/html")


def admission(kind: str, change: Callable[[Json], Json]) -> Callable[[Place], object]:
    return lambda place: place.api.add_webhook(
        lambda call, draft: change(draft) if call.resource == kind else draft
    )


def denied_by_webhook(draft: Json) -> Json:
    raise Refusal(403, "Forbidden", 'admission webhook "cost.example" denied the request: no budget', {})


def with_command(draft: Json) -> Json:
    draft["spec"]["containers"][0]["command"] = ["sh"]
    return draft


def quota(place: Place) -> None:
    spec = {"hard": {"requests.storage": "1Mi"}}
    place.api.objects().create(QUOTAS, {"metadata": {"name": "q", "namespace": "agents"}, "spec": spec})


def restricted(place: Place) -> None:
    objects = place.api.objects()
    found = objects.get(NAMESPACES, "", "agents")
    assert found is not None
    found["metadata"].setdefault("labels", {})["pod-security.kubernetes.io/enforce"] = "restricted"
    objects.update(NAMESPACES, found)


def denying(what: str) -> Callable[[Place], object]:
    return lambda place: place.deny(what)


def faults(made: NoFaults) -> Callable[[Place], object]:
    return lambda place: place.api.set_faults(made)
