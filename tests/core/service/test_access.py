"""Who may do what: actor, action and owner in, verdict out."""

from __future__ import annotations

import pytest

from moorage.core.service.access import ACTIONS, Actor, Need, Verdict, decide
from moorage.core.service.records import Role, User

ADMINISTRATOR = Actor(User("a", "ann", Role.ADMINISTRATOR, 0.0, 0.0), "browser")
MEMBER = Actor(User("m", "mia", Role.MEMBER, 0.0, 0.0), "browser")
READER = Actor(MEMBER.user, "token", read_only=True)

TABLE = {
    "a member reads executors": (MEMBER, "executor.read", None, Verdict.ALLOWED),
    "a member changes none": (MEMBER, "executor.update", None, Verdict.REFUSED),
    "an administrator does": (ADMINISTRATOR, "executor.update", None, Verdict.ALLOWED),
    "an owner stops a session": (MEMBER, "session.stop", "m", Verdict.ALLOWED),
    "another's is not there": (MEMBER, "session.stop", "a", Verdict.HIDDEN),
    "nor for an administrator": (ADMINISTRATOR, "session.read", "m", Verdict.HIDDEN),
    "as what is not there at all": (MEMBER, "session.read", None, Verdict.HIDDEN),
    "what the command line made is an administrator's": (ADMINISTRATOR, "session.read", "", Verdict.ALLOWED),
    "and no member's": (MEMBER, "session.read", "", Verdict.HIDDEN),
    "a reading token reads": (READER, "session.logs", "m", Verdict.ALLOWED),
    "and changes nothing": (READER, "session.exec", "m", Verdict.REFUSED),
    "and learns of nothing hidden": (READER, "session.exec", "a", Verdict.HIDDEN),
    "nobody reads nothing": (None, "executor.read", None, Verdict.UNKNOWN),
    "nobody learns of nothing": (None, "task.read", "m", Verdict.UNKNOWN),
    "nobody may sign in": (None, "signin.password", None, Verdict.ALLOWED),
}


@pytest.mark.parametrize(("actor", "action", "owner", "verdict"), TABLE.values(), ids=TABLE.keys())
def test_the_verdict(actor: Actor | None, action: str, owner: str | None, verdict: Verdict) -> None:
    assert decide(actor, action, owner) is verdict


@pytest.mark.parametrize("action", ACTIONS)
def test_whoever_does_not_own_it_never_learns_that_it_is_there(action: str) -> None:
    if ACTIONS[action].need is not Need.OWNER:
        assert decide(MEMBER, action) in (Verdict.ALLOWED, Verdict.REFUSED)
        return
    for actor in (ADMINISTRATOR, MEMBER, READER):
        assert decide(actor, action, "somebody else") is decide(actor, action, None) is Verdict.HIDDEN


@pytest.mark.parametrize("action", [name for name, rule in ACTIONS.items() if rule.changes])
def test_a_change_is_always_in_the_audit_and_never_a_reader_s(action: str) -> None:
    assert ACTIONS[action].audited
    assert decide(READER, action, READER.user.id) is Verdict.REFUSED
