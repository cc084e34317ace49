"""Reviews and token requests: questions to the API server about itself, of which nothing is stored.

Called by ``api.server``.
"""

from __future__ import annotations

from typing import Any

from moorage.core.kinds import SERVICE_ACCOUNTS, Json
from moorage.embedded.api.calls import Call
from moorage.embedded.api.users import Authorizer, Tokens
from moorage.embedded.refusal import Fault, bad_request, invalid, not_found
from moorage.embedded.registry.kinds import Kind, key
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import User

_SHORTEST, _LONGEST, _USUAL = 600, 2**32, 3600


class Reviews:
    """Answers for one cluster."""

    def __init__(self, registry: Registry, authorizer: Authorizer, tokens: Tokens) -> None:
        self._registry, self._authorizer, self._tokens = registry, authorizer, tokens

    def review(self, kind: Kind, call: Call, body: Any) -> Json:
        """The review with its status. Raises Refusal 400."""
        if not isinstance(body, dict):
            raise bad_request("the body is no object")
        spec = body.get("spec") or {}
        result: Json = {
            "kind": kind.name,
            "apiVersion": kind.resource.api_version,
            "metadata": {},
        }
        if kind.name == "SelfSubjectReview":
            result["metadata"] = {"creationTimestamp": self._registry.time()}
            return {**result, "status": {"userInfo": _user_info(call.user)}}
        if kind.name == "SelfSubjectRulesReview":
            return {**result, "spec": spec, "status": self._rules(call.user, spec.get("namespace", ""))}
        user = call.user
        if kind.name == "SubjectAccessReview":
            user = User(spec.get("user") or "", tuple(spec.get("groups") or ()))
        asked = _asked(spec, user)
        if asked is None:
            why = "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be "
            why += "specified"
            fault = Fault("spec.resourceAttributes", "Invalid", why)
            raise invalid(kind.name, kind.resource.group, "", [fault])
        return {**result, "spec": spec, "status": {"allowed": self._authorizer.allowed(asked)}}

    def _rules(self, user: User, namespace: str) -> Json:
        if "system:masters" in user.groups:
            everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            paths = {"verbs": ["*"], "nonResourceURLs": ["*"]}
            return {"incomplete": False, "resourceRules": [everything], "nonResourceRules": [paths]}
        rules = list(self._authorizer.rules(user, namespace))
        return {"incomplete": False, "resourceRules": rules, "nonResourceRules": []}

    def token(self, call: Call, body: Any) -> Json:
        """TokenRequest of a ServiceAccount. Raises Refusal 404 or 422."""
        account = self._registry.store.get(key(SERVICE_ACCOUNTS), (call.namespace, call.name))
        if account is None:
            raise not_found(SERVICE_ACCOUNTS, call.name)
        spec = (body.get("spec") if isinstance(body, dict) else None) or {}
        seconds = int(spec.get("expirationSeconds") or _USUAL)
        if not _SHORTEST <= seconds <= _LONGEST:
            why = f"Invalid value: {seconds}: may not specify a duration less than 10 minutes"
            fault = Fault("spec.expirationSeconds", "Invalid", why)
            raise invalid("TokenRequest", "authentication.k8s.io", call.name, [fault])
        metadata = account["metadata"]
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
                "creationTimestamp": self._registry.time(),
            },
            "spec": {
                "audiences": spec.get("audiences") or ["https://kubernetes.default.svc"],
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {
                "token": self._tokens.issue(account, seconds),
                "expirationTimestamp": self._registry.time(seconds),
            },
        }


def _user_info(user: User) -> Json:
    info: Json = {"username": user.name, "groups": list(user.groups)}
    return {**info, "uid": user.uid} if user.uid else info


def _asked(spec: Json, user: User) -> Call | None:
    """The call that an access review asks about."""
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Call(str(path.get("verb", "")), str(path.get("path", "")), user=user)
    asked = spec.get("resourceAttributes")
    if asked is None:
        return None
    return Call(
        verb=str(asked.get("verb", "")),
        path="",
        group=str(asked.get("group") or ""),
        version=str(asked.get("version") or ""),
        namespace=str(asked.get("namespace") or ""),
        resource=str(asked.get("resource") or ""),
        subresource=str(asked.get("subresource") or ""),
        name=str(asked.get("name") or ""),
        user=user,
    )
