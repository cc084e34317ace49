"""An API server in a dictionary, for the stories of this folder: every call is noted, any call may fail.

Implements what sessions use of ``ports.cluster.Cluster``. Its rules are Kubernetes' own: names are unique,
UIDs are not given twice, a delete is held to its UID, a deleted Pod terminates first. The same stories run
on a real API server and node in tests/contract/sessions; here, faults can be put between any two calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from moorage.core.errors import ApiError, ApiProblem
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, Json, Resource
from moorage.ports.cluster import ServerIdentity
from moorage.ports.streams import ByteStream, ExecStream

from .fake_watch import FakeCache, Pulse

TIMEOUT = ApiProblem("transport", 0, "NoAnswer", "timed out", "maybe")
FORBIDDEN = ApiProblem("status", 403, "Forbidden", "namespaces is forbidden", "no")
PROXY_404 = ApiProblem("http", 404, "", "<html>not here</html>", "maybe")


@dataclass(frozen=True)
class Call:
    """One request. ``uid``: the precondition of a delete."""

    verb: str
    plural: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.plural}/{self.name}"


@dataclass(frozen=True)
class Fault:
    """The next such call fails. ``carried_out``: only the answer is lost; ``lasting``: so do all after it."""

    verb: str
    plural: str
    problem: ApiProblem = TIMEOUT
    carried_out: bool = False
    lasting: bool = False


def status(http: int, reason: str, resource: Resource, name: str) -> ApiProblem:
    said = f'{resource.plural} "{name}" {reason}'
    return ApiProblem(
        "status", http, reason, said, "no", details_kind=resource.plural, details_name=name
    )  # fmt: skip


class FakeCluster:
    """``admission`` may change what is created; ``posted`` is told of each POST; ``stuck`` Pods never go."""

    namespace = "agents"

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Json] = {}
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self.server = ServerIdentity("https://api.test", "ca-1", "v1.36.0")
        self.admission: Callable[[Json], None] = lambda obj: None
        self.posted: Callable[[Json], None] = lambda obj: None
        self.stuck = False
        self.starts = True
        self.now: Callable[[], float] = lambda: 0.0
        self.pulse = Pulse()
        self._serial = 0
        self._caches: list[FakeCache] = []
        self.put(NAMESPACES, {"metadata": {"name": self.namespace}})

    # ---- for tests

    def put(self, resource: Resource, obj: Json) -> Json:
        """Make an object appear, as somebody else's hand would."""
        obj = deepcopy(obj)
        self._serial += 1
        namespaced = {"namespace": self.namespace} if resource.namespaced else {}
        given = {"uid": f"{resource.kind}-uid-{self._serial}", "resourceVersion": str(self._serial)}
        obj["metadata"] = {**namespaced, **obj["metadata"], **given}
        if resource is PODS and self.starts:
            obj["status"] = _running(obj)
        if resource is CLAIMS:
            obj["status"] = {"phase": "Bound"}
        self.objects[resource.plural, obj["metadata"]["name"]] = obj
        self.wake()
        return obj

    def drop(self, resource: Resource, name: str) -> None:
        """Make an object vanish."""
        self.objects.pop((resource.plural, name), None)
        self.wake()

    def only(self, resource: Resource) -> Json:
        """The one object of a kind."""
        (found,) = (obj for (plural, _), obj in self.objects.items() if plural == resource.plural)
        return found

    def of(self, resource: Resource) -> list[Json]:
        return [obj for (plural, _), obj in self.objects.items() if plural == resource.plural]

    def fail(self, verb: str, resource: Resource, problem: ApiProblem = TIMEOUT, **more: Any) -> None:
        self.faults.append(Fault(verb, resource.plural, problem, **more))

    def writes(self) -> list[str]:
        """What was really changed or tried to be: no reads, no dry runs."""
        return [str(call) for call in self.calls if call.verb in ("create", "delete", "patch")]

    def wake(self) -> None:
        """Whoever watches looks again."""
        for cache in self._caches:
            cache.event.set()

    def _note(self, verb: str, resource: Resource, name: str, uid: str = "") -> Fault | None:
        self.calls.append(Call(verb, resource.plural, name, uid))
        self.pulse.beat()
        for fault in self.faults:
            if (fault.verb, fault.plural) == (verb, resource.plural):
                if not fault.lasting:
                    self.faults.remove(fault)
                self.wake()
                if not fault.carried_out:
                    raise ApiError(fault.problem)
                return fault
        return None

    # ---- ports.cluster

    async def identity(self) -> ServerIdentity:
        return self.server

    async def openapi(self) -> Json:
        raise ApiError(FORBIDDEN)

    async def served(self, resource: Resource) -> frozenset[str]:
        everything = "pods pods/exec pods/portforward persistentvolumeclaims namespaces storageclasses "
        return frozenset((everything + "selfsubjectaccessreviews").split())

    async def try_websocket(self, namespace: str | None = None) -> None:
        self._note("watch", PODS, "")

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Json:
        self._note("get", resource, name)
        found = self.objects.get((resource.plural, name))
        if found is None:
            raise ApiError(status(404, "NotFound", resource, name))
        return deepcopy(found)

    async def list_all(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        page: int = 500,
    ) -> AsyncIterator[Json]:
        self._note("list", resource, "")
        for obj in self.of(resource):
            yield deepcopy(obj)

    async def create(
        self,
        resource: Resource,
        obj: Json,
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        not_after: float | None = None,
    ) -> Json:
        name = obj["metadata"]["name"]
        if not_after is not None and self.now() > not_after:
            raise ApiError(ApiProblem("transport", 0, "TooLate", "held up", "no"))
        if not dry_run:
            self.posted(obj)
        lost = self._note("dry-run" if dry_run else "create", resource, name)
        if dry_run:
            told = deepcopy(obj)
            self.admission(told)
            return told
        if (resource.plural, name) in self.objects:
            raise ApiError(status(409, "AlreadyExists", resource, name))
        admitted = deepcopy(obj)
        self.admission(admitted)
        made = self.put(resource, admitted)
        if lost is not None:
            raise ApiError(lost.problem)
        return deepcopy(made)

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str,
        resource_version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        lost = self._note("delete", resource, name, uid)
        found = self.objects.get((resource.plural, name))
        if found is None:
            raise ApiError(status(404, "NotFound", resource, name))
        if found["metadata"]["uid"] != uid:
            raise ApiError(status(409, "Conflict", resource, name))
        if resource_version not in (None, found["metadata"]["resourceVersion"]):
            raise ApiError(status(409, "Conflict", resource, name))
        if resource is PODS and grace_seconds != 0:
            found["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:30Z"
            if not self.stuck:
                asyncio.get_running_loop().call_soon(self.drop, resource, name)
        else:
            self.drop(resource, name)
        if lost is not None:
            raise ApiError(lost.problem)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterator[FakeCache]:
        cache = FakeCache()
        self._caches.append(cache)
        yield cache
        self._caches.remove(cache)

    async def replace(self, resource: Resource, obj: Json, namespace: str | None = None) -> Json:
        raise NotImplementedError

    async def patch(self, resource: Resource, name: str, patch: Any, *args: Any, **more: Any) -> Json:
        """Annotations only, of the object with the UID that the patch names."""
        uid = patch["metadata"]["uid"]
        self._note("patch", resource, name, uid)
        found = self.objects.get((resource.plural, name))
        if found is None:
            raise ApiError(status(404, "NotFound", resource, name))
        if found["metadata"]["uid"] != uid:
            raise ApiError(status(422, "Invalid", resource, name))
        self._serial += 1
        found["metadata"].setdefault("annotations", {}).update(patch["metadata"]["annotations"])
        found["metadata"]["resourceVersion"] = str(self._serial)
        return deepcopy(found)

    async def apply(self, *args: Any, **more: Any) -> Json:
        raise NotImplementedError

    async def exec(self, pod: str, container: str, command: Sequence[str], **more: Any) -> ExecStream:
        raise NotImplementedError

    async def port_forward(self, pod: str, port: int, *, namespace: str | None = None) -> ByteStream:
        raise NotImplementedError

    async def logs(self, pod: str, container: str, **more: Any) -> AsyncIterator[bytes]:
        self._note("logs", PODS, pod)
        yield f"log of {container} in {pod}".encode()

    async def close(self) -> None:
        """Nothing is open."""


def _running(pod: Json) -> Json:
    started = {"running": {"startedAt": "2027-01-15T07:59:00Z"}}
    names = [container["name"] for container in pod.get("spec", {}).get("containers", [])]
    statuses = [{"name": name, "state": started, "ready": True, "containerID": name} for name in names]
    ready = {"type": "Ready", "status": "True"}
    return {"phase": "Running", "conditions": [ready], "containerStatuses": statuses}
