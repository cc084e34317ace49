"""Who sends a request, and whether they may: bearer tokens and RBAC.

Called by ``api.server`` for each request and by the review resources. Tokens of ServiceAccounts are kept in
the data folder as hashes, so that the file gives none away.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from moorage.core.kinds import SERVICE_ACCOUNTS, Json
from moorage.embedded.api.calls import Call
from moorage.embedded.registry.kinds import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES, key
from moorage.embedded.registry.write import User
from moorage.embedded.storage.store import Store

ADMIN = User("admin", ("system:masters", "system:authenticated"))


class Tokens:
    """Bearer tokens and whose they are. ``admin``: the one in the kubeconfig."""

    def __init__(self, store: Store, admin: str, path: Path | None, now: Callable[[], float]) -> None:
        self._store, self._admin, self._now = store, admin, now
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self._db.execute(
            "create table if not exists tokens (hash text primary key, namespace text, name text, uid text, "
            "expires real)"
        )

    def issue(self, account: Json, seconds: int) -> str:
        """A fresh token of a ServiceAccount, good for ``seconds``."""
        token, metadata = secrets.token_urlsafe(32), account["metadata"]
        row = (_hash(token), metadata["namespace"], metadata["name"], metadata["uid"], self._now() + seconds)
        self._db.execute("delete from tokens where expires < ?", (self._now(),))
        self._db.execute("insert into tokens values (?, ?, ?, ?, ?)", row)
        return token

    def user(self, token: str) -> User | None:
        """Whose token it is; None when it is nobody's (any more)."""
        if hmac.compare_digest(token.encode(errors="surrogateescape"), self._admin.encode()):
            return ADMIN
        found = self._db.execute("select * from tokens where hash = ?", (_hash(token),)).fetchone()
        if found is None or found[4] < self._now():
            return None
        _, namespace, name, uid, _ = found
        account = self._store.get(key(SERVICE_ACCOUNTS), (namespace, name))
        if account is None or account["metadata"]["uid"] != uid:
            return None
        groups = (
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            "system:authenticated",
        )
        return User(f"system:serviceaccount:{namespace}:{name}", groups, uid)

    def close(self) -> None:
        self._db.close()


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


class Authorizer:
    """RBAC over the stored roles. ``denied``: a test's own list of what nobody may, e.g. ``create pods``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.denied: list[Callable[[Call], bool]] = []

    def allowed(self, call: Call) -> bool:
        if any(rule(call) for rule in self.denied):
            return False
        if "system:masters" in call.user.groups:
            return True
        if not call.resource:
            return call.verb == "get" and not call.path.startswith("/debug")
        if call.resource in _EVERYBODYS and call.verb == "create":
            return True
        return any(_grants(rule, call) for rule in self.rules(call.user, call.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[Json]:
        """What roles grant a user in a namespace."""
        for binding in self._store.items(key(CLUSTER_ROLE_BINDINGS)):
            if _binds(binding, user):
                yield from self._rules_of(binding, "")
        for binding in self._store.items(key(ROLE_BINDINGS), namespace) if namespace else ():
            if _binds(binding, user):
                yield from self._rules_of(binding, namespace)

    def _rules_of(self, binding: Json, namespace: str) -> Iterator[Json]:
        reference = binding.get("roleRef") or {}
        name = reference.get("name", "")
        if reference.get("kind") == "ClusterRole":
            role = self._store.get(key(CLUSTER_ROLES), ("", name))
        else:
            role = self._store.get(key(ROLES), (namespace, name))
        yield from (role or {}).get("rules") or ()


_EVERYBODYS = frozenset({"selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews"})


def _binds(binding: Json, user: User) -> bool:
    home = binding["metadata"].get("namespace", "")
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        owner = subject.get("namespace") or home
        if kind == "ServiceAccount" and user.name == f"system:serviceaccount:{owner}:{name}":
            return True
    return False


def _grants(rule: Json, call: Call) -> bool:
    what = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    resources = rule.get("resources") or ()
    fits = "*" in resources or what in resources
    fits = fits or (bool(call.subresource) and f"*/{call.subresource}" in resources)
    names = rule.get("resourceNames") or ()
    return (
        fits
        and ("*" in (rule.get("verbs") or ()) or call.verb in (rule.get("verbs") or ()))
        and ("*" in (rule.get("apiGroups") or ()) or call.group in (rule.get("apiGroups") or ()))
        and (not names or call.name in names)
    )


def refusal_text(call: Call) -> str:
    """Why a call is forbidden, as RBAC says it."""
    if not call.resource:
        return f'User "{call.user.name}" cannot {call.verb} path "{call.path}"'
    what = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    text = f'User "{call.user.name}" cannot {call.verb} resource "{what}" in API group "{call.group}"'
    if call.namespace and call.resource != "namespaces":
        return f'{text} in the namespace "{call.namespace}"'
    return f"{text} at the cluster scope"
