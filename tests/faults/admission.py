"""ADMISSION: what webhooks and policies do to a Pod on its way into the store."""

from __future__ import annotations

import random

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call

from .knob import Knob, Strike

PODS = frozenset({"create pods", "create pods (dry run)"})
SIDECAR = {"name": "injected", "image": "localhost/sidecar:1"}
OURS = "moorage.dev/"


class PrependsSidecar(Strike):
    """A mesh puts its container in front: the first one is no longer ours."""

    def admit(self, call: Call, draft: Json) -> Json:
        self.hit(call)
        draft["spec"]["containers"].insert(0, dict(SIDECAR))
        return draft


class AppendsNativeSidecar(Strike):
    """A mesh puts an init container that never ends behind the others."""

    def admit(self, call: Call, draft: Json) -> Json:
        self.hit(call)
        draft["spec"].setdefault("initContainers", []).append({**SIDECAR, "restartPolicy": "Always"})
        return draft


class DefaultsLimits(Strike):
    """A LimitRange gives every container its default amounts."""

    def admit(self, call: Call, draft: Json) -> Json:
        self.hit(call)
        amounts = {"cpu": "100m", "memory": "64Mi"}
        for container in draft["spec"]["containers"]:
            container.setdefault("resources", {}).setdefault("limits", {}).update(amounts)
            container["resources"].setdefault("requests", {}).update(amounts)
        return draft


class DropsUnknown(Strike):
    """A server (or policy) that does not know what is ours drops it."""

    def admit(self, call: Call, draft: Json) -> Json:
        self.hit(call)
        notes = draft["metadata"].get("annotations") or {}
        draft["metadata"]["annotations"] = {k: v for k, v in notes.items() if not k.startswith(OURS)}
        return draft


class SometimesSkipped(Strike):
    """A webhook that changes the main container, and is asked every other time only."""

    def __init__(self, rng: random.Random, times: int = 1) -> None:
        super().__init__(rng, times)
        self._skip = rng.random() < 0.5

    def admit(self, call: Call, draft: Json) -> Json:
        self._skip = not self._skip
        self.hit(call)
        if not self._skip:
            draft["spec"]["containers"][-1]["command"] = ["/webhook/init", "--"]
        return draft


KNOBS = (
    Knob("mutate_prepend_sidecar", "ADMISSION", PODS, PrependsSidecar),
    Knob("mutate_append_native_sidecar", "ADMISSION", PODS, AppendsNativeSidecar),
    Knob("limitrange_defaults", "ADMISSION", PODS, DefaultsLimits),
    Knob("drop_unknown_fields", "ADMISSION", PODS, DropsUnknown),
    Knob("webhook_sometimes_skipped", "ADMISSION", PODS, SometimesSkipped),
)
