"""What can go wrong with one call on its way: the knobs, what each may hit, and the fault it makes.

``Fault`` is data that ``proxy`` carries out; ``KNOBS`` names them by what they are felt as; ``CALLS`` says
which calls a verb makes, so that ``allowed`` is the table of what there is to try. Pure.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .wire import Answer

TIMEOUT = 3.0
"""Seconds a disturbed verb gives one call: the setting ``request_timeout``."""
HELLO_UP, HELLO_DOWN = 165, 530
"""Bytes of an upgraded stream, each way, that are its upgrade and the link's hello; the link's own follow."""
CONTENTS = 1 << 13
BINARY = 1 << 22


@dataclass(frozen=True)
class Fault:
    """One call's fate. ``before``/``after``: seconds it is held before it is sent on, or between its answer
    and our passing it on. ``reset``: broken unsent; ``instead``: answered by us, unsent; ``drop``: carried
    out, the answer lost. ``cut_at``/``silent_at``: bytes after which what comes back (``up``: what is sent
    on a stream) ends or stays away. ``server``: who is asked; ``oldest``: a watch begins at any version that
    server still has; ``lag``: seconds by which its events are late."""

    knob: str
    before: float = 0.0
    after: float = 0.0
    reset: bool = False
    instead: Answer | None = field(default=None, repr=False)
    drop: bool = False
    cut_at: int | None = None
    silent_at: int | None = None
    up: bool = False
    server: int = 1
    oldest: bool = False
    lag: float = 0.0


READS = frozenset(
    f"get {what}"
    for what in ("pods", "persistentvolumeclaims", "namespaces", "nodes", "storageclasses", "/version")
) | frozenset({"list events", "get pods/log"})
CREATES = frozenset({"create pods", "create persistentvolumeclaims"})
DRY_RUNS = frozenset({"create pods (dry run)", "create persistentvolumeclaims (dry run)"})
DELETES = frozenset({"delete pods", "delete persistentvolumeclaims"})
WRITES = CREATES | DELETES | DRY_RUNS
WATCH, EXEC, FORWARD, LINK = "watch pods", "get pods/exec", "get pods/portforward", "link"
"""``link``: the pseudo call of an upgraded stream to agentctl once the hello has passed."""

Make = Callable[[str, random.Random], Fault]


def some_byte(rng: random.Random, most: int) -> int:
    """Small ones as often as large ones: what is said first matters most."""
    return int(most ** rng.random()) - 1


def status(code: int, reason: str, message: str, **headers: str) -> Answer:
    """The API server's own word."""
    said = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    body = json.dumps({**said, "message": message}).encode()
    return Answer(code, body, {"Content-Type": "application/json", **headers})


def _dropped(call: str, rng: random.Random) -> Fault:
    return Fault("commit_then_drop", drop=True)


def _slow(call: str, rng: random.Random) -> Fault:
    """A moment, or longer than is waited for; before it is carried out (it still will be) or after."""
    seconds = rng.choice((0.2, TIMEOUT + 0.5))
    return Fault("slow", before=seconds) if rng.random() < 0.5 else Fault("slow", after=seconds)


def _reset(call: str, rng: random.Random) -> Fault:
    return Fault("rst", reset=True)


def _cut_answer(call: str, rng: random.Random) -> Fault:
    return Fault("rst_after", cut_at=some_byte(rng, CONTENTS))


def _conflict(call: str, rng: random.Random) -> Fault:
    if call in DELETES:
        return Fault("409", instead=status(409, "Conflict", "the object has been modified"))
    quota = status(409, "Conflict", 'Operation cannot be fulfilled on resourcequotas "q": modified')
    exists = status(409, "AlreadyExists", f"{call.split()[1]} of that name already exists")
    return Fault("409", instead=rng.choice((quota, exists)))


def _busy(call: str, rng: random.Random) -> Fault:
    return Fault("429", instead=status(429, "TooManyRequests", "try again later", **{"Retry-After": "1"}))


def _broken(call: str, rng: random.Random) -> Fault:
    """Said by the API server, not having done it or (500) perhaps having."""
    code, reason = rng.choice(((500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout")))
    return Fault("5xx", instead=status(code, reason, "the server could not do that"))


def _page(call: str, rng: random.Random) -> Fault:
    """Of something in between, which knows no Kubernetes: an error, or what it takes for a success."""
    code = rng.choice((200, 404, 413, 502))
    page = b"<html><body><h1>something in between</h1></body></html>"
    return Fault("html", instead=Answer(code, page, {"Content-Type": "text/html"}))


def _watch_cut(call: str, rng: random.Random) -> Fault:
    return Fault("watch_cut", cut_at=some_byte(rng, CONTENTS))


def _watch_silent(call: str, rng: random.Random) -> Fault:
    return Fault("watch_silent", silent_at=some_byte(rng, CONTENTS))


def _expired(call: str, rng: random.Random) -> Fault:
    """The version is gone: said at once, as an event, or not at all."""
    said = status(410, "Expired", "too old resource version")
    event = b'{"type":"ERROR","object":' + said.body + b"}\n"
    as_json = {"Content-Type": "application/json"}
    return Fault(
        "watch_gone", instead=rng.choice((said, Answer(200, event, as_json), Answer(200, b"", as_json)))
    )


def _second(call: str, rng: random.Random) -> Fault:
    lag = rng.choice((0.0, 1.0)) if call == WATCH else 0.0
    return Fault("two_apiservers", server=2, oldest=call == WATCH, lag=lag)


def _exec_cut(call: str, rng: random.Random) -> Fault:
    up = rng.random() < 0.5
    return Fault("exec_cut", cut_at=some_byte(rng, BINARY if up else 600), up=up)


def _forward_cut(call: str, rng: random.Random) -> Fault:
    up = rng.random() < 0.5
    return Fault("portforward_cut", cut_at=some_byte(rng, HELLO_UP if up else HELLO_DOWN), up=up)


def _stalled(call: str, rng: random.Random) -> Fault:
    """The node took the connection; nothing, or not all of the hello, comes of it."""
    return Fault("accept_stall", silent_at=some_byte(rng, HELLO_DOWN))


def _link_cut(call: str, rng: random.Random) -> Fault:
    return Fault("link_cut", cut_at=some_byte(rng, rng.choice((1 << 8, 1 << 15))), up=rng.random() < 0.5)


STREAMS = frozenset({EXEC, FORWARD})
ANY = READS | WRITES | STREAMS | {WATCH}
KNOBS: dict[str, tuple[frozenset[str], Make]] = {
    "commit_then_drop": (CREATES | DELETES, _dropped),
    "slow": (READS | WRITES | STREAMS, _slow),
    "rst": (ANY, _reset),
    "rst_after": (READS | WRITES, _cut_answer),
    "409": (WRITES, _conflict),
    "429": (ANY, _busy),
    "5xx": (ANY, _broken),
    "html": (ANY, _page),
    "watch_cut": (frozenset({WATCH}), _watch_cut),
    "watch_silent": (frozenset({WATCH}), _watch_silent),
    "watch_gone": (frozenset({WATCH}), _expired),
    "two_apiservers": (ANY, _second),
    "exec_cut": (frozenset({EXEC}), _exec_cut),
    "portforward_cut": (frozenset({FORWARD}), _forward_cut),
    "accept_stall": (frozenset({FORWARD}), _stalled),
    "link_cut": (frozenset({LINK}), _link_cut),
}

_LOOK = ("get /version", "get namespaces", "get pods")
_CLAIM = "get persistentvolumeclaims"
_LINKED = (FORWARD, LINK)
_DRIVEN = (*_LOOK, _CLAIM, WATCH, *_LINKED)
_STARTED = ("create pods", "list events", "get nodes", EXEC)
_ENDED = ("delete pods", "delete persistentvolumeclaims")
CALLS: dict[str, tuple[str, ...]] = {
    "run": (*DRY_RUNS, "get storageclasses", *_DRIVEN, "create persistentvolumeclaims", *_STARTED),
    "attach": _DRIVEN,
    "resume": _DRIVEN,
    "resume-paused": (*_DRIVEN, *_STARTED),
    "exec": (*_LOOK, *_LINKED),
    "cp": (*_LOOK, *_LINKED),
    "port-forward": (*_LOOK, *_LINKED),
    "logs": (*_LOOK, *_LINKED),
    "ls": _LOOK,
    "events": ("list events",),
    "stop": _DRIVEN,
    "pause": (*_DRIVEN, "delete pods"),
    "reset": (*_DRIVEN, "delete pods", *_STARTED),
    "archive": (*_DRIVEN, *_ENDED),
    "rm": (*_DRIVEN, *_ENDED),
}
"""Calls that each verb makes for certain when nothing goes wrong."""


def hits(knob: str, verb: str) -> list[str]:
    """The calls of that verb which the knob may hit."""
    return sorted(KNOBS[knob][0].intersection(CALLS[verb]))


def allowed() -> list[tuple[str, str]]:
    """Every knob with every verb that makes a call it may hit."""
    return [(knob, verb) for knob in KNOBS for verb in CALLS if hits(knob, verb)]
