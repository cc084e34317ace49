"""AUTH/ENV: who may not, and a client whose surroundings are wrong.

``cert_no_AKI`` is no knob here: it is a property of a cluster's certificate, not of a call. Its story is case
131 in ``tests/kube/test_tls.py``.
"""

from __future__ import annotations

import json

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call
from moorage.embedded.refusal import Refusal, forbidden, unauthorized

from .answering import instead, resource_of
from .create import ALL
from .knob import CONNECT, Knob, Strike, Surroundings
from .read import READS

STREAMS = frozenset({"get pods/exec", "get pods/portforward", "get pods/log", "watch pods"})
EVERYTHING = ALL | READS | STREAMS
OFFSETS = (-86400.0, -3600.0, -30.0, 30.0, 3600.0, 86400.0)
YESTERDAY = "a-token-of-yesterday"
DEAD_PROXY = "http://127.0.0.1:9"


class TokenRotates(Strike):
    """The token in the client's file is refused, and a good one is written there at that moment."""

    def surround(self, client: Surroundings) -> None:
        document = json.loads(client.kubeconfig.read_text())
        file = client.kubeconfig.with_name("token")
        user = document["users"][0]["user"]
        good = user.pop("token", None) or file.read_text()
        if good == YESTERDAY:  # another strike was here just now, and knows the good one
            return
        self._file, self._good = file, good
        file.write_text(YESTERDAY)
        document["users"][0]["user"] = {"tokenFile": str(file)}
        client.kubeconfig.write_text(json.dumps(document))
        self.hit(CONNECT)

    def heard(self, event: Json) -> None:
        if self.used and event["responseStatus"]["code"] == 401:
            self._file.write_text(self._good)

    def undo(self, client: Surroundings) -> None:
        self._file.write_text(self._good)


class BadProxy(Strike):
    """The client is sent through a proxy at which nobody listens. By its kubeconfig: the one that the
    environment names is never used for loopback, where the embedded API is."""

    def surround(self, client: Surroundings) -> None:
        self._write(client, DEAD_PROXY)
        self.hit(CONNECT)

    def undo(self, client: Surroundings) -> None:
        self._write(client, "")

    def _write(self, client: Surroundings, proxy: str) -> None:
        document = json.loads(client.kubeconfig.read_text())
        document["clusters"][0]["cluster"]["proxy-url"] = proxy
        client.kubeconfig.write_text(json.dumps(document))


class WrongClock(Strike):
    """The client's clock is wrong by up to a day."""

    def surround(self, client: Surroundings) -> None:
        client.offset = self.rng.choice(OFFSETS)
        self.hit(CONNECT)

    def undo(self, client: Surroundings) -> None:
        client.offset = 0.0


def _unauthorized(call: Call) -> Refusal:
    return unauthorized()


def _denied(call: Call) -> Refusal:
    what = "/".join(part for part in (call.resource, call.subresource) if part) or call.path
    where = f'in the namespace "{call.namespace}"' if call.namespace else "at the cluster scope"
    why = f'User "{call.user.name}" cannot {call.verb} resource "{what}" in API group "{call.group}" {where}'
    return forbidden(resource_of(call), call.name, why)


_SURROUNDINGS = frozenset({CONNECT})
KNOBS = (
    Knob("401_after", "AUTH/ENV", EVERYTHING, instead(_unauthorized)),
    Knob("verb_denied_get", "AUTH/ENV", READS | STREAMS, instead(_denied)),
    Knob("verb_denied_create", "AUTH/ENV", ALL, instead(_denied)),
    Knob("token_file_rotate", "AUTH/ENV", _SURROUNDINGS, TokenRotates),
    Knob("proxy_env_bad", "AUTH/ENV", _SURROUNDINGS, BadProxy),
    Knob("clock_offset", "AUTH/ENV", _SURROUNDINGS, WrongClock),
)
