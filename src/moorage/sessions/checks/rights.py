"""Steps about what our identity may do in the namespace: one for each resource, and the script that grants
what is missing. Called by ``sessions.doctor``. Asks access reviews only.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from moorage.core.kinds import ACCESS_REVIEWS, Json
from moorage.core.session import WorkspaceMode
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Check
from moorage.sessions.checks.trial import Step, Trial
from moorage.sessions.grant import RIGHTS, grant_script, right_name

SCRIPT: Final = "the script below, at rights, grants it"
CLAIM_VERBS: Final[dict[WorkspaceMode, tuple[str, ...]]] = {
    WorkspaceMode.MANAGED_PVC: ("get", "create", "delete", "patch"),
    WorkspaceMode.EXISTING_CLAIM: ("get",),
    WorkspaceMode.EMPTY_DIR: (),
}
"""A given claim is only looked at; an emptyDir is none."""


def steps(trial: Trial) -> tuple[Step, ...]:
    """One for each resource that sessions of this workspace use."""
    found = []
    for resource, subresource, verbs, needed in RIGHTS:
        if resource == "persistentvolumeclaims":
            verbs = CLAIM_VERBS[trial.mode]
        if subresource == "portforward":
            needed = trial.transport == "portforward"
        if verbs:
            found.append(_step(resource, subresource, verbs, needed))
    return tuple(found)


def _step(resource: str, subresource: str, verbs: tuple[str, ...], needed: bool) -> Step:
    key = f"rights.{right_name(resource, subresource)}"

    def may(trial: Trial, verb: str) -> Awaitable[bool]:
        return allowed(trial.cluster, trial.config.namespace, resource, subresource, verb)

    async def work(trial: Trial) -> Check:
        missing = [verb for verb in verbs if not await may(trial, verb)]
        if not missing:
            return Check(key, "ok", ", ".join(verbs))
        return Check(key, "failed" if needed else "warning", f"missing: {', '.join(missing)}", SCRIPT)

    return Step(key, "ask what we may do", work)


async def allowed(cluster: Cluster, namespace: str, resource: str, subresource: str, verb: str) -> bool:
    """May we, by a review of our own access?"""
    attributes: Json = {"namespace": namespace, "verb": verb, "resource": resource}
    if subresource:
        attributes["subresource"] = subresource
    review: Json = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    found = await cluster.create(ACCESS_REVIEWS, review)
    return bool((found.get("status") or {}).get("allowed"))


def script(trial: Trial, asked: list[Check]) -> Check:
    """What grants everything at once, also to read the namespace. Failed as soon as one of ``asked`` is."""
    status = "failed" if any(check.status == "failed" for check in asked) else "warning"
    text = grant_script(trial.config.namespace, trial.user)
    fix = f"an administrator of the cluster runs this, as it stands:\n{text}"
    return Check("rights", status, f"rights are missing in namespace {trial.config.namespace}", fix)
