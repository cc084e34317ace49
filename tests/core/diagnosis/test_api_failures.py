"""What an API server, a webhook or a proxy answered, and the verdict: category, reason, terminal, hint."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.diagnosis import diagnose_api
from moorage.core.diagnosis.api import is_quota_conflict
from moorage.core.diagnosis.catalogue import CATALOGUE
from moorage.core.errors import ApiProblem


def status(code: int, reason: str = "", message: str = "", **more: Any) -> ApiProblem:
    return ApiProblem("status", code, reason, message, **more)


def transport(message: str) -> ApiProblem:
    return ApiProblem("transport", message=message)


def page(code: int, message: str = "") -> ApiProblem:
    return ApiProblem("http", code, message=message)


QUOTA = 'pods "x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=5, limited: pods=5'
QUOTA_NEEDS = 'pods "x" is forbidden: failed quota: team: must specify limits.cpu for: agent'
QUOTA_RACE = 'Operation cannot be fulfilled on resourcequotas "team": the object has been modified'
POD_SECURITY = (
    'pods "x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false '
    '(container "agent" must set securityContext.allowPrivilegeEscalation=false)'
)
RIGHT = (
    'pods is forbidden: User "jane" cannot create resource "pods/exec" in API group "" in the namespace "dev"'
)
RIGHT_OF_ACCOUNT = (
    'x is forbidden: User "system:serviceaccount:ops:runner" cannot get resource "storageclasses" '
    'in API group "storage.k8s.io" at the cluster scope'
)
TERMINATING = "unable to create new content in namespace dev because it is being terminated"
DENIED = 'admission webhook "policy.example.com" denied the request: no latest tags'
WEBHOOK_DOWN = 'failed calling webhook "inject.example.com": context deadline exceeded'
POLICY = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
LIMIT_RANGE = 'pods "x" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi'

GONE = 'HTTP 500 without a Kubernetes Status: container not found ("agent")'

TABLE = [
    (page(500, GONE), "link", "ContainerGone", False),
    (status(403, "Forbidden", QUOTA), "quota", "QuotaExceeded", False),
    (status(403, "Forbidden", QUOTA_NEEDS), "quota", "QuotaNeedsResources", True),
    (status(403, "Forbidden", LIMIT_RANGE), "quota", "LimitRange", True),
    (status(409, "Conflict", QUOTA_RACE), "quota", "QuotaConflict", False),
    (status(409, "AlreadyExists", 'pods "x" already exists'), "name_blocked", "AlreadyExists", False),
    (status(409, "Conflict", "the object has been modified"), "api", "Conflict", False),
    (status(403, "Forbidden", POD_SECURITY), "pod_security", "PodSecurity", True),
    (status(403, "Forbidden", RIGHT), "access", "Forbidden", True),
    (status(403, "Forbidden", "no"), "access", "Forbidden", True),
    (status(401, "Unauthorized", "Unauthorized"), "access", "Unauthorized", True),
    (status(403, "Forbidden", TERMINATING), "namespace", "NamespaceTerminating", True),
    (status(404, "NotFound", 'namespaces "dev" not found', details_kind="namespaces", details_name="dev"),
     "namespace", "NamespaceMissing", True),
    (status(404, "NotFound", "x", details_kind="persistentvolumeclaims"), "claim", "ClaimMissing", True),
    (status(404, "NotFound", "x", details_kind="pods"), "api", "NotFound", False),
    (status(400, "BadRequest", DENIED), "admission", "WebhookDenied", True),
    (status(403, "Forbidden", DENIED), "admission", "WebhookDenied", True),
    (status(500, "InternalError", WEBHOOK_DOWN), "admission", "WebhookUnreachable", False),
    (status(422, "Invalid", POLICY), "admission", "PolicyDenied", True),
    (status(422, "Invalid", "x", causes=(("spec.containers[0].image", "FieldValueRequired", "Required"),)),
     "api", "Invalid", True),
    (status(429, "TooManyRequests", "slow down"), "api", "TooManyRequests", False),
    (status(429, "TooManyRequests", "violates the disruption budget"), "api", "DisruptionBudget", False),
    (status(413, "RequestEntityTooLarge", "limit is 3145728"), "api", "TooLarge", True),
    (status(504, "Timeout", "request did not complete"), "timeout", "Timeout", False),
    (status(500, "InternalError", "etcd"), "api", "InternalError", False),
    (page(413, "<html>"), "proxy", "TooLarge", True),
    (page(404, "<html>not here</html>"), "proxy", "Http404", False),
    (page(403, "sign in"), "proxy", "ProxyDenied", True),
    (page(502), "proxy", "Http502", False),
    (transport("connect timed out"), "timeout", "NoAnswer", False),
    (transport("certificate verify failed: unable to get local issuer"), "network", "Tls", True),
    (transport("Name or service not known"), "network", "NameNotResolved", False),
    (transport("Connection refused"), "network", "Unreachable", False),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "category", "reason", "terminal"), TABLE)
def test_each_answer_has_its_verdict(problem: ApiProblem, category: str, reason: str, terminal: bool) -> None:
    found = diagnose_api(problem, "creating the Pod")
    assert (found.category, found.reason, found.terminal) == (category, reason, terminal)
    assert found.message.startswith("creating the Pod: ")
    assert found.hint


def test_a_quota_race_is_not_already_exists() -> None:
    assert is_quota_conflict(status(409, "Conflict", QUOTA_RACE))
    assert not is_quota_conflict(status(409, "AlreadyExists", 'resourcequotas "x" already exists'))
    assert not is_quota_conflict(status(409, "Conflict", "the object has been modified"))


def test_pod_security_names_container_and_field() -> None:
    message = diagnose_api(status(403, "Forbidden", POD_SECURITY), "x").message
    assert 'container "agent"' in message
    assert "allowPrivilegeEscalation" in message


def test_a_missing_right_comes_with_the_command_that_grants_it() -> None:
    hint = diagnose_api(status(403, "Forbidden", RIGHT), "x").hint
    assert "create role moorage-create-pods-exec --verb=create --resource=pods/exec -n dev" in hint
    assert (
        "create rolebinding moorage-create-pods-exec --role=moorage-create-pods-exec --user=jane -n dev"
        in hint
    )


def test_a_service_account_without_a_cluster_wide_right_gets_a_cluster_role() -> None:
    hint = diagnose_api(status(403, "Forbidden", RIGHT_OF_ACCOUNT), "x").hint
    assert "create clusterrole " in hint
    assert "--resource=storageclasses.storage.k8s.io" in hint
    assert "--serviceaccount=ops:runner" in hint


def test_a_user_name_that_a_shell_would_read_is_never_put_into_a_command() -> None:
    hint = diagnose_api(status(403, "Forbidden", RIGHT.replace("jane", "$(reboot)")), "x").hint
    assert "kubectl" not in hint
    assert "$(reboot)" not in hint


def test_an_invalid_object_names_its_fields() -> None:
    causes = (("spec.a", "FieldValueInvalid", "bad"), ("spec.b", "FieldValueRequired", "missing"))
    message = diagnose_api(status(422, "Invalid", "long story", causes=causes), "creating the Pod").message
    assert message == "creating the Pod: spec.a: bad; spec.b: missing"


PROBLEMS = st.builds(
    ApiProblem,
    kind=st.sampled_from(["status", "http", "transport"]),
    http_status=st.sampled_from([0, 200, 400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503, 504]),
    reason=st.sampled_from(["", "Forbidden", "Conflict", "AlreadyExists", "Invalid"]) | st.text(max_size=30),
    message=st.text(max_size=3000),
)


@given(PROBLEMS)
def test_every_answer_has_a_verdict_that_is_safe_to_print(problem: ApiProblem) -> None:
    found = diagnose_api(problem, "reading")
    assert found.category in CATALOGUE
    for text in (found.reason, found.message, found.hint):
        assert text.isprintable()
        assert len(text) <= 600
