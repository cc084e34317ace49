"""The script that gives an identity what sessions need in a namespace. Pure; called by ``sessions.doctor``.

One Role with all of it and one RoleBinding a person, so that pasting it again, or for somebody else, takes
nothing from anybody.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Final

# (resource, subresource, verbs, needed). Since 1.35 a stream is authorised as get and then as create.
RIGHTS: Final[tuple[tuple[str, str, tuple[str, ...], bool], ...]] = (
    ("pods", "", ("get", "list", "watch", "create", "delete", "patch"), True),
    ("pods", "exec", ("get", "create"), True),
    ("pods", "portforward", ("get", "create"), False),
    ("pods", "log", ("get",), False),
    ("persistentvolumeclaims", "", ("get", "create", "delete", "patch"), True),
    ("events", "", ("list",), False),
)

ROLE: Final = "moorage-sessions"


def right_name(resource: str, subresource: str) -> str:
    """As RBAC writes it: ``pods/exec``."""
    return f"{resource}/{subresource}" if subresource else resource


def grant_script(namespace: str, user: str) -> str:
    """Shell text for an administrator. ``user``: as SelfSubjectReview names it; "" where nobody knows.

    The here-document ends at the margin: whoever prints it must not indent it.
    """
    rules = [(right_name(resource, sub), verbs) for resource, sub, verbs, _ in RIGHTS]
    rules.append(("namespaces", ("get",)))  # of its own namespace a Role may grant it
    lines = [
        f"kubectl -n {namespace} apply -f - <<'EOF'",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: Role",
        f"metadata: {{name: {ROLE}}}",
        "rules:",
        *(
            f'- {{apiGroups: [""], resources: [{resource}], verbs: [{", ".join(verbs)}]}}'
            for resource, verbs in rules
        ),
        "---",
        "apiVersion: rbac.authorization.k8s.io/v1",
        "kind: RoleBinding",
        f"metadata: {{name: {_binding(user)}}}",
        f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: {ROLE}}}",
        f"subjects: [{_subject(user)}]",
        "EOF",
    ]
    return "\n".join(lines)


def _binding(user: str) -> str:
    return f"{ROLE}-{hashlib.sha256(user.encode()).hexdigest()[:8]}"


def _subject(user: str) -> str:
    account = re.fullmatch(r"system:serviceaccount:([a-z0-9.-]+):([a-z0-9.-]+)", user)
    if account:
        return json.dumps({"kind": "ServiceAccount", "namespace": account[1], "name": account[2]})
    named = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user or "NAME-OF-THE-USER"}
    return json.dumps(named)
