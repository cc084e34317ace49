"""Admission changes what is ours, and the command dies anywhere: the next one ends where it would have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moorage.core import owned
from moorage.core.errors import NameBlocked, SessionFailed
from moorage.core.kinds import CLAIMS, PODS, Json, Resource
from moorage.core.session import Phase
from moorage.ports.sessions import Removal

from .stage import Stage

BOTH = pytest.mark.parametrize("resource", [PODS, CLAIMS], ids=["pod", "claim"])
NEVER = 10_000


class Killed(BaseException):
    """The process is gone: nothing catches this."""


class Mortal:
    """Counts API calls and writes of the record; dies ``before`` or ``after`` the one with number ``at``."""

    def __init__(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.when, self.passed = NEVER, "", 0
        for part, name in (
            (stage.cluster, "get"),
            (stage.cluster, "create"),
            (stage.cluster, "delete"),
            (stage.store.sessions, "save"),
        ):
            monkeypatch.setattr(part, name, self._mortal(getattr(part, name)))

    def _mortal(self, call: Callable[..., Any]) -> Callable[..., Any]:
        async def guarded(*args: Any, **more: Any) -> Any:
            here, self.passed = self.passed == self.at, self.passed + 1
            if here and self.when == "before":
                raise Killed
            try:
                return await call(*args, **more)
            finally:
                if here:
                    raise Killed

        return guarded

    async def run(self, at: int, when: str, work: Any) -> bool:
        """Whether it died on the way."""
        self.at, self.when, self.passed = at, when, 0
        try:
            await work
        except Killed:
            return True
        except SessionFailed:
            return False
        finally:
            self.at = NEVER
        return False


def changed(resource: Resource) -> Callable[[Json], None]:
    def admission(obj: Json) -> None:
        if obj["kind"] != resource.kind:
            return
        if resource is PODS:
            obj["spec"]["hostPID"] = True
        else:
            obj["metadata"]["ownerReferences"] = [{"kind": "ConfigMap", "name": "x", "uid": "x"}]

    return admission


@BOTH
@pytest.mark.parametrize("when", ["before", "after"])
async def test_killed_at_any_call_or_write_the_next_command_ends_as_the_undisturbed_one(
    stage: Stage, resource: Resource, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mortal = Mortal(stage, monkeypatch)
    stage.cluster.admission = changed(resource)
    died = 0
    while True:
        stage.cluster.calls.clear()
        session = await stage.launch()
        stopped = await mortal.run(died, when, stage.verbs.resume("calm-cove", stage.said.append))
        if stopped:
            with pytest.raises(SessionFailed, match="an admission webhook or policy"):
                await stage.verbs.resume("calm-cove", stage.said.append)
        record = await stage.record()
        assert (record.state.phase, record.state.diagnosis and record.state.diagnosis.reason) == (
            Phase.FAILED,
            "OwnedFieldMutated",
        )
        assert stage.cluster.of(resource) == [], f"left when killed {when} point {died}"
        assert stage.delivered == set()
        await stage.verbs.remove("calm-cove", stage.said.append)
        assert stage.cluster.of(PODS) == stage.cluster.of(CLAIMS) == []
        assert (await stage.record(session.id)).state.phase is Phase.DELETED
        if not stopped:
            break
        died += 1
    assert died > 10


def without_nonce(obj: Json) -> None:
    del obj["metadata"]["annotations"][owned.NONCE_ANNOTATION]


def relabelled(obj: Json) -> None:
    obj["metadata"]["labels"][owned.SESSION_LABEL] = "other"


UNPROVED = pytest.mark.parametrize(
    ("change", "field"),
    [
        (without_nonce, "metadata.annotations[moorage.dev/create-nonce]"),
        (relabelled, "metadata.labels[moorage.dev/session-id]"),
    ],
    ids=["nonce", "label"],
)


async def left_unproved(stage: Stage, change: Callable[[Json], None], monkeypatch: pytest.MonkeyPatch) -> str:
    """A Pod of ours without its proof, left by a command that died before it could reject it; its UID."""
    create = stage.cluster.create

    async def dying(resource: Resource, *args: Any, **more: Any) -> Json:
        made = await create(resource, *args, **more)
        if resource is PODS and not more.get("dry_run"):
            raise Killed
        return made

    await stage.launch()
    stage.cluster.admission = lambda obj: change(obj) if obj["kind"] == "Pod" else None
    with monkeypatch.context() as short_lived:
        short_lived.setattr(stage.cluster, "create", dying)
        with pytest.raises(Killed):
            await stage.verbs.resume("calm-cove", stage.said.append)
    return str(stage.cluster.only(PODS)["metadata"]["uid"])


@UNPROVED
async def test_what_cannot_be_proved_ours_is_kept_and_named_until_a_person_removes_it(
    stage: Stage, change: Callable[[Json], None], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await left_unproved(stage, change, monkeypatch)
    stage.cluster.calls.clear()
    for verb in (stage.verbs.resume, stage.verbs.stop, stage.verbs.remove):
        with pytest.raises(NameBlocked) as blocked:
            await verb("calm-cove", stage.said.append)
        for told in (field, uid):
            assert told in blocked.value.message
        assert "kubectl -n agents delete pod" in blocked.value.hint
    assert "uses claim" in blocked.value.message
    assert stage.cluster.writes() == [], "nothing was changed, the claim neither"
    stage.cluster.drop(PODS, (await stage.record()).inventory.pod_name)
    await stage.verbs.remove("calm-cove", stage.said.append)
    assert stage.cluster.of(CLAIMS) == []


@UNPROVED
async def test_a_removal_says_beforehand_what_it_will_not_touch_and_why(
    stage: Stage, change: Callable[[Json], None], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    uid = await left_unproved(stage, change, monkeypatch)
    planned: Removal = await stage.verbs.remove("calm-cove", stage.said.append, dry_run=True)
    pod, claim = planned.keeps
    assert pod.startswith("pod/")
    assert uid in pod
    assert field in pod
    assert claim.startswith("pvc/")
    assert "the Pod above uses it" in claim
    assert planned.deletes == ()
