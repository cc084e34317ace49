"""READ: answers that are late, old, or about another object than the one that was there a moment ago.

A most-recent read (one without a resourceVersion) is linearizable on every API server: what lags behind are
lists from a watch cache, reads that ask for any version, and watches. So the stale knobs hit those alone.
"""

from __future__ import annotations

import random
import uuid

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call
from moorage.embedded.faults import Answer
from moorage.embedded.refusal import Refusal, not_found
from moorage.embedded.registry.kinds import key
from moorage.embedded.storage.store import copy

from .answering import DropBefore, SlowBefore, instead, resource_of
from .knob import Knob, Strike

GETS = frozenset(
    f"get {plural}" for plural in ("pods", "persistentvolumeclaims", "namespaces", "nodes", "storageclasses")
)
LISTS = frozenset(f"list {plural}" for plural in ("pods", "events"))
READS = GETS | LISTS | {"get /version"}
BACK = 50
"""Versions by which a stale answer is behind."""


class Stale(Strike):
    """The answer is as of an earlier version than the client's own last write."""

    def wants(self, call: Call) -> bool:
        return call.verb == "list" or call.query.get("resourceVersion") == "0"

    def read_version(self, call: Call) -> int | None:
        assert self.cluster is not None
        self.hit(call)
        return max(1, self.cluster.store.version - self.rng.randint(1, BACK))


class NotYetThere(Strike):
    """A cache that has not heard of the object says NotFound, the next time it is there."""

    def wants(self, call: Call) -> bool:
        return call.query.get("resourceVersion") == "0"

    async def request(self, call: Call) -> Answer | None:
        self.hit(call)
        raise not_found(resource_of(call), call.name)


class Swapped(Strike):
    """Before this read, or between it and whatever follows it, the object is replaced by somebody else's of
    that name, with all our labels or none. ``made``: (plural, what is there now, UID of what was there)."""

    def __init__(self, rng: random.Random, times: int = 1) -> None:
        super().__init__(rng, times)
        self.made: list[tuple[str, Json, str]] = []
        self._before = rng.random() < 0.5

    async def request(self, call: Call) -> Answer | None:
        if self._before:
            self._swap(call)
        return None

    async def response(self, call: Call, answer: Answer) -> Answer:
        if answer.status == 200 and not self._before:
            self._swap(call)
        return answer

    def _swap(self, call: Call) -> None:
        assert self.cluster is not None
        store, where, kind = self.cluster.store, (call.namespace, call.name), key(resource_of(call))
        old = store.get(kind, where)
        if old is not None:
            self.hit(call)
            new = foreign(old, alike=self.rng.random() < 0.5)
            store.remove(kind, where)
            new = store.put(kind, where, new)
            self.made.append((call.resource, new, old["metadata"]["uid"]))


def foreign(old: Json, *, alike: bool) -> Json:
    """An object of the same name and shape, made by somebody else. ``alike``: in all but its nonce."""
    made = copy(old)
    names = ("name", "namespace", "creationTimestamp", *(("labels",) if alike else ()))
    made["metadata"] = {name: made["metadata"][name] for name in names if name in made["metadata"]}
    made["metadata"]["uid"] = str(uuid.uuid4())
    made["status"] = {"phase": "Pending"}
    return made


def _html(call: Call) -> Answer:
    return Answer(404, b"<html><h1>404 page not found</h1></html>", "text/html")


def _nameless(call: Call) -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource", {})


def _gateway(call: Call) -> Answer:
    return Answer(502, b"<html><h1>502 Bad Gateway</h1></html>", "text/html")


def _broken(call: Call) -> Refusal:
    return Refusal(500, "InternalError", "etcdserver: leader changed", {})


def _busy(call: Call) -> Refusal:
    return Refusal(429, "TooManyRequests", "too many requests, please try again later", {}, retry_after=1)


KNOBS = (
    Knob("list_stale", "READ", LISTS, Stale),
    Knob("two_apiservers", "READ", LISTS, Stale),
    Knob("get_404_then_200", "READ", GETS, NotYetThere),
    Knob("uid_swap", "READ", frozenset({"get pods", "get persistentvolumeclaims"}), Swapped),
    Knob("404_html", "READ", READS, instead(_html)),
    Knob("404_nameless", "READ", GETS, instead(_nameless)),
    Knob("read_502_html", "READ", READS, instead(_gateway)),
    Knob("read_500", "READ", READS, instead(_broken)),
    Knob("read_429", "READ", READS, instead(_busy)),
    Knob("read_drop", "READ", READS, DropBefore),
    Knob("read_slow", "READ", READS, SlowBefore),
)
