"""Who may do what. The one table of actions, and the one decision: actor × action × owner → a verdict.

Pure. ``server.guard`` asks it for each request and each WebSocket; nothing else decides. What is somebody
else's does not exist for the others, administrators included: they run the service, and read nobody's work.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from moorage.core.service.records import Role, User


class Verdict(StrEnum):
    """``hidden``: answered as if it were not there. ``unknown``: nobody is signed in."""

    ALLOWED = "allowed"
    REFUSED = "refused"
    HIDDEN = "hidden"
    UNKNOWN = "unknown"


class Need(StrEnum):
    """What a person must be for an action."""

    NOBODY = "nobody"
    PERSON = "person"
    OWNER = "owner"
    ADMINISTRATOR = "administrator"


@dataclass(frozen=True)
class Actor:
    """Who asks. ``via``: browser, token, cli or mcp; ``read_only``: by a token of that scope."""

    user: User
    via: str
    read_only: bool = False

    @property
    def administrator(self) -> bool:
        return self.user.role is Role.ADMINISTRATOR


@dataclass(frozen=True)
class Rule:
    """``changes``: no read-only token may; ``audited``: has a row in the audit, also when it is refused."""

    need: Need
    changes: bool = False
    audited: bool = False


def _change(need: Need) -> Rule:
    return Rule(need, changes=True, audited=True)


_LOOK = Rule(Need.PERSON)
_OWN = Rule(Need.OWNER)
_ACCESS = Rule(Need.OWNER, audited=True)
_RUN = Rule(Need.ADMINISTRATOR)
ACTIONS: Final[dict[str, Rule]] = {
    "service.health": Rule(Need.NOBODY),
    "signin.password": Rule(Need.NOBODY, audited=True),
    "signin.link": Rule(Need.NOBODY, audited=True),
    "signin.oidc": Rule(Need.NOBODY),
    "signin.oidc_return": Rule(Need.NOBODY, audited=True),
    "signin.out": Rule(Need.PERSON, audited=True),
    "me.read": _LOOK,
    "me.password": _change(Need.PERSON),
    "executor.read": _LOOK,
    "executor.create": _change(Need.ADMINISTRATOR),
    "executor.update": _change(Need.ADMINISTRATOR),
    "executor.delete": _change(Need.ADMINISTRATOR),
    "executor.sessions": _LOOK,
    "executor.impact": _RUN,
    "profile.read": _LOOK,
    "profile.create": _change(Need.ADMINISTRATOR),
    "profile.update": _change(Need.ADMINISTRATOR),
    "profile.delete": _change(Need.ADMINISTRATOR),
    "policy.read": _LOOK,
    "policy.update": _change(Need.ADMINISTRATOR),
    "policy.delete": _change(Need.ADMINISTRATOR),
    "kubernetes.contexts": _RUN,
    "kubernetes.test": _change(Need.ADMINISTRATOR),
    "task.list": _LOOK,
    "task.create": _change(Need.PERSON),
    "task.read": _OWN,
    "task.update": _change(Need.OWNER),
    "task.delete": _change(Need.OWNER),
    "session.list": _OWN,
    "session.launch": _change(Need.OWNER),
    "session.list_own": _LOOK,
    "session.read": _OWN,
    "session.events": _OWN,
    "session.stop": _change(Need.OWNER),
    "session.pause": _change(Need.OWNER),
    "session.resume": _change(Need.OWNER),
    "session.reset": _change(Need.OWNER),
    "session.archive": _change(Need.OWNER),
    "session.delete": _change(Need.OWNER),
    "session.logs": _ACCESS,
    "session.files_read": _ACCESS,
    "session.files_write": _change(Need.OWNER),
    "session.exec": _change(Need.OWNER),
    "session.attach": _change(Need.OWNER),
    "session.watch": _ACCESS,
    "user.read": _RUN,
    "user.create": _change(Need.ADMINISTRATOR),
    "user.update": _change(Need.ADMINISTRATOR),
    "user.delete": _change(Need.ADMINISTRATOR),
    "user.link": _change(Need.ADMINISTRATOR),
    "token.list": _LOOK,
    "token.create": _change(Need.PERSON),
    "token.delete": _change(Need.OWNER),
    "secret.read": _RUN,
    "secret.update": _change(Need.ADMINISTRATOR),
    "secret.delete": _change(Need.ADMINISTRATOR),
    "audit.read": _RUN,
    "change.read": _LOOK,
}
"""Every action of the service. A route names one; a route without one cannot be made."""


def owns(actor: Actor, owner: str | None) -> bool:
    """``owner``: a user id; "" for what the command line made ad hoc, which is the administrators'; None for
    what is not there."""
    if owner is None:
        return False
    return actor.administrator if owner == "" else owner == actor.user.id


def decide(actor: Actor | None, action: str, owner: str | None = None) -> Verdict:
    """Total over actors and actions. What is hidden is so before anything else is said, so that no answer
    tells whether it is there."""
    rule = ACTIONS[action]
    if rule.need is Need.NOBODY:
        return Verdict.ALLOWED
    if actor is None:
        return Verdict.UNKNOWN
    if rule.need is Need.OWNER and not owns(actor, owner):
        return Verdict.HIDDEN
    if rule.changes and actor.read_only:
        return Verdict.REFUSED
    if rule.need is Need.ADMINISTRATOR and not actor.administrator:
        return Verdict.REFUSED
    return Verdict.ALLOWED
