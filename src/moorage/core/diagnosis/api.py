"""Why a Kubernetes API call failed, and what to do. Called wherever an ApiError ends or delays an act.

``doing`` is what we were about ("creating the Pod"). Quota conflicts are told from AlreadyExists, a proxy's
page from a Status, a missing right from a denied Pod. Nothing here decides whether to try again.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from moorage.core.diagnosis.catalogue import diagnosis
from moorage.core.errors import ApiProblem
from moorage.core.session import Diagnosis

CONTAINER_GONE = "ContainerGone"
"""The node says that the container does not run now: it ended, and its Pod does not say so yet."""
_RIGHT = re.compile(
    r'User "(?P<user>[^"]*)" cannot (?P<verb>\S+) resource "(?P<resource>[^"]*)"'
    r' in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
)
_WEBHOOK = re.compile(r'admission webhook "(?P<name>[^"]*)" denied|calling webhook "(?P<called>[^"]*)"')
_TLS = re.compile(r"(?i)certificate|x509|ssl|tls")
_DNS = re.compile(
    r"(?i)name or service not known|no such host|getaddrinfo|name resolution|nodename nor servname"
)


def diagnose_api(problem: ApiProblem, doing: str) -> Diagnosis:
    """Never None: a failed call always means something. ``terminal``: the same call will fail the same way
    until somebody changes something."""
    if problem.kind == "transport":
        return _transport(problem, doing)
    if problem.kind == "http":
        return _not_a_status(problem, doing)
    for rule in _RULES:
        found = rule(problem, doing)
        if found is not None:
            return found
    return diagnosis("api", problem.reason or f"Http{problem.http_status}", _said(problem, doing))


def is_quota_conflict(problem: ApiProblem) -> bool:
    """A 409 about the ResourceQuota object that was being charged: ours was not created; try again."""
    return problem.http_status == 409 and problem.reason != "AlreadyExists" and _about_quota(problem)


def _about_quota(problem: ApiProblem) -> bool:
    return problem.details_kind == "resourcequotas" or "resourcequota" in problem.message.lower()


def _said(problem: ApiProblem, doing: str) -> str:
    said = problem.message or problem.reason or f"HTTP {problem.http_status}"
    return f"{doing}: {said}"


def _transport(problem: ApiProblem, doing: str) -> Diagnosis:
    said = problem.message
    if re.search(r"(?i)timeout|timed out", said):
        return diagnosis("timeout", "NoAnswer", _said(problem, doing))
    if _TLS.search(said):
        hint = "check certificate-authority and tls-server-name in the kubeconfig"
        return diagnosis("network", "Tls", _said(problem, doing), hint=hint, terminal=True)
    if _DNS.search(said):
        hint = "check the server address in the kubeconfig, and DNS"
        return diagnosis("network", "NameNotResolved", _said(problem, doing), hint=hint)
    return diagnosis("network", problem.reason or "Unreachable", _said(problem, doing))


def _not_a_status(problem: ApiProblem, doing: str) -> Diagnosis:
    status = problem.http_status
    what = f"{doing}: HTTP {status} that is no Kubernetes Status"
    said = f"{what}: {problem.message}" if problem.message else what
    if status == 413:
        hint = "a proxy limits the size of requests: raise its limit (nginx: client_max_body_size)"
        return diagnosis("proxy", "TooLarge", said, hint=hint, terminal=True)
    if status == 407:
        return diagnosis("proxy", "ProxyLogin", said, hint="give the login in proxy-url", terminal=True)
    if status in (401, 403):
        hint = "a proxy or sign-in page answers before the API server: check its credentials"
        return diagnosis("proxy", "ProxyDenied", said, hint=hint, terminal=True)
    if (
        status == 500 and "container not found" in problem.message
    ):  # the kubelet's words, passed on as they are
        return diagnosis("link", CONTAINER_GONE, _said(problem, doing))
    return diagnosis("proxy", f"Http{status}", said)


def _unauthorized(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status != 401:
        return None
    hint = "sign in again, or renew token or certificate of the kubeconfig; then run: moorage doctor"
    return diagnosis("access", "Unauthorized", _said(problem, doing), hint=hint, terminal=True)


def _quota(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if is_quota_conflict(problem):
        return diagnosis("quota", "QuotaConflict", _said(problem, doing), hint="it is tried again by itself")
    if problem.http_status != 403:
        return None
    if "exceeded quota" in problem.message:
        hint = "--workspace-size asks for less; else remove a session, or raise the quota"
        storage = "requests.storage" in problem.message
        return diagnosis("quota", "QuotaExceeded", _said(problem, doing), hint=hint if storage else "")
    missing = re.search(r"failed quota: (\S+): must specify (.*)", problem.message)
    if missing:
        hint = f"set {missing[2]} in the containers of the template"
        return diagnosis("quota", "QuotaNeedsResources", _said(problem, doing), hint=hint, terminal=True)
    if re.search(r"(?:maximum|minimum) \S+ usage per|must not exceed|LimitRange", problem.message):
        hint = "a LimitRange of the namespace bounds this: change resources in the template"
        return diagnosis("quota", "LimitRange", _said(problem, doing), hint=hint, terminal=True)
    return None


def _pod_security(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status != 403 or "violates PodSecurity" not in problem.message:
        return None
    return diagnosis("pod_security", "PodSecurity", _said(problem, doing), terminal=True)


def _namespace(problem: ApiProblem, doing: str) -> Diagnosis | None:
    terminating = any(reason == "NamespaceTerminating" for _, reason, _ in problem.causes)
    if problem.http_status == 403 and (terminating or "because it is being terminated" in problem.message):
        hint = "wait until it is gone and create it again, or choose another namespace with -n"
        return diagnosis("namespace", "NamespaceTerminating", _said(problem, doing), hint=hint, terminal=True)
    if problem.http_status == 404 and problem.details_kind == "namespaces":
        hint = f"create it with: kubectl create namespace {problem.details_name}"
        return diagnosis("namespace", "NamespaceMissing", _said(problem, doing), hint=hint, terminal=True)
    return None


def _webhook(problem: ApiProblem, doing: str) -> Diagnosis | None:
    match = _WEBHOOK.search(problem.message)
    if match is not None:
        name = match["name"] or match["called"]
        if match["name"] is not None:
            hint = f"ask the owner of admission webhook {name} what it wants"
            return diagnosis("admission", "WebhookDenied", _said(problem, doing), hint=hint, terminal=True)
        hint = f"admission webhook {name} does not answer: its owner must mend it, or set failurePolicy"
        return diagnosis("admission", "WebhookUnreachable", _said(problem, doing), hint=hint)
    if "ValidatingAdmissionPolicy" in problem.message:
        return diagnosis("admission", "PolicyDenied", _said(problem, doing), terminal=True)
    return None


def _forbidden(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status != 403:
        return None
    match = _RIGHT.search(problem.message)
    if match is None:
        return diagnosis("access", "Forbidden", _said(problem, doing), terminal=True)
    verb, resource = match["verb"], match["resource"] + (f".{match['group']}" if match["group"] else "")
    return diagnosis(
        "access", "Forbidden", _said(problem, doing), hint=_grant(match, verb, resource), terminal=True
    )


def _grant(match: re.Match[str], verb: str, resource: str) -> str:
    # The names are printed for pasting into a shell: only those that need no quotes are offered so.
    user, namespace = match["user"], match["namespace"]
    if not re.fullmatch(r"[\w.:@-]+", user) or not re.fullmatch(r"[\w./-]+", resource):
        return f"a cluster administrator must grant {verb} on {resource} to this user"
    role, kind = "moorage-" + re.sub(r"[^a-z0-9]+", "-", f"{verb}-{resource}".lower()), "role"
    where = f" -n {namespace}"
    if not namespace:
        kind, where = "clusterrole", ""
    who = f"--user={user}"
    if user.startswith("system:serviceaccount:"):
        who = "--serviceaccount=" + user.removeprefix("system:serviceaccount:")
    return (
        "moorage doctor shows all rights that are missing, with one script that grants them; this one alone: "
        f"kubectl create {kind} {role} --verb={verb} --resource={resource}{where} && "
        f"kubectl create {kind}binding {role} --{kind}={role} {who}{where}"
    )


def _conflict(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status != 409:
        return None
    if problem.reason == "AlreadyExists":
        return diagnosis("name_blocked", "AlreadyExists", _said(problem, doing))
    return diagnosis(
        "api", problem.reason or "Conflict", _said(problem, doing), hint="it is tried again by itself"
    )


def _missing(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status != 404:
        return None
    if problem.details_kind == "persistentvolumeclaims":
        return diagnosis("claim", "ClaimMissing", _said(problem, doing), terminal=True)
    return diagnosis("api", "NotFound", _said(problem, doing))


def _invalid(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status not in (400, 422):
        return None
    fields = "; ".join(f"{field}: {message}" for field, _, message in problem.causes[:5] if field)
    said = f"{doing}: {fields}" if fields else _said(problem, doing)
    return diagnosis("api", problem.reason or "Invalid", said, hint="correct the named fields", terminal=True)


def _too_large(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status != 413:
        return None
    hint = "an object may hold about 1.5 MiB, its annotations 256 KiB together"
    return diagnosis("api", "TooLarge", _said(problem, doing), hint=hint, terminal=True)


def _busy(problem: ApiProblem, doing: str) -> Diagnosis | None:
    if problem.http_status == 429:
        if "disruption budget" in problem.message:
            return diagnosis(
                "api", "DisruptionBudget", _said(problem, doing), hint="it is tried again by itself"
            )
        return diagnosis("api", "TooManyRequests", _said(problem, doing), hint="it is tried again by itself")
    if problem.http_status == 504 or problem.reason in ("Timeout", "ServerTimeout"):
        return diagnosis("timeout", problem.reason or "Timeout", _said(problem, doing))
    return None


_RULES: tuple[Callable[[ApiProblem, str], Diagnosis | None], ...] = (
    _unauthorized,
    _webhook,
    _quota,
    _pod_security,
    _namespace,
    _forbidden,
    _conflict,
    _missing,
    _invalid,
    _too_large,
    _busy,
)
"""In order: the exact before the general."""
