"""Steps about the API server and the namespace: is it there, who are we, is it the one on record, what does
it serve? Called by ``sessions.doctor``. Reads, and asks reviews; changes nothing.
"""

from __future__ import annotations

import re
from typing import Final

from moorage.core.errors import ApiError
from moorage.core.kinds import ACCESS_REVIEWS, NAMESPACES, PODS, STORAGE_CLASSES, SUBJECT_REVIEWS, Json
from moorage.core.observed import Absent, Present
from moorage.core.session import Phase, WorkspaceMode
from moorage.engine.observe import Observer
from moorage.ports.sessions import Check
from moorage.sessions.checks.rights import SCRIPT
from moorage.sessions.checks.trial import Step, Trial
from moorage.sessions.isolation import words

OLDEST, NEWEST = (1, 32), (1, 36)
"""Supported minor versions (docs/design.md)."""
CORE_NEEDED: Final = ("pods", "pods/exec", "persistentvolumeclaims", "namespaces")


async def connection(trial: Trial) -> Check:
    """An answer of any API server is enough here: who we are is the next question."""
    try:
        trial.version = (await trial.cluster.identity()).version
    except ApiError as error:
        if error.problem.reason == "CredentialPlugin":
            return Check("connection", "not_run", "nothing is sent without credentials")
        if error.problem.kind != "status":
            raise
    return Check("connection", "ok", trial.config.where)


async def authentication(trial: Trial) -> Check:
    review: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        found = await trial.cluster.create(SUBJECT_REVIEWS, review)
    except ApiError as error:
        if error.problem.http_status not in (403, 404):
            raise
        fix = "sign in, unless it is meant to be so: kubectl auth whoami"
        return Check("authentication", "warning", "the server does not say who we are", fix)
    trial.user = str(((found.get("status") or {}).get("userInfo") or {}).get("username", ""))
    return Check("authentication", "ok", trial.user or "unknown")


async def cluster(trial: Trial) -> Check:
    """The same API server and namespace that this executor's sessions were made in."""
    server = await trial.cluster.identity()
    where = f"{server.address}, CA sha256 {server.ca_sha256[:12] or 'of the system'}"
    observer = Observer(trial.cluster, trial.parts.clock)
    strangers = []
    for session in await trial.parts.store.sessions.list_all():
        if session.identity.executor_id != trial.config.id or session.state.phase is Phase.ARCHIVED:
            continue
        same = await observer.same_cluster(session.inventory)
        if isinstance(same, Absent) or same == Present(False):
            strangers.append(session.name)
    if not strangers:
        return Check("cluster", "ok", where)
    named = ", ".join(strangers[:3]) + (f" and {len(strangers) - 3} more" if len(strangers) > 3 else "")
    return Check(
        "cluster",
        "failed",
        f"{where}: not the cluster and namespace in which {named} were made; nothing is written for them",
        "point the context at the recorded cluster (moorage describe NAME shows it); if it is gone for good, "
        "forget its sessions with: moorage rm --force NAME",
    )


async def version(trial: Trial) -> Check:
    if not trial.version:
        trial.version = (await trial.cluster.identity()).version
    supported = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
    match = re.match(r"v?(\d+)\.(\d+)", trial.version)
    if match is None:
        fix = f"supported is Kubernetes {supported}"
        return Check("version", "warning", f"{trial.version or 'no version'} cannot be read", fix)
    found = (int(match[1]), int(match[2]))
    if found < OLDEST:
        fix = f"upgrade the cluster: supported is Kubernetes {supported}"
        return Check("version", "failed", f"Kubernetes {trial.version} is too old", fix)
    if found > NEWEST:
        fix = f"supported is Kubernetes {supported}; look for a newer Moorage"
        return Check("version", "warning", f"Kubernetes {trial.version} is newer than this Moorage", fix)
    return Check("version", "ok", f"Kubernetes {trial.version}")


async def discovery(trial: Trial) -> Check:
    """Each API that sessions use is served; who may use it is not asked here."""
    forward = ("pods/portforward",) if trial.transport == "portforward" else ()
    wanted = [(PODS, (*CORE_NEEDED, *forward)), (ACCESS_REVIEWS, (ACCESS_REVIEWS.plural,))]
    if trial.mode is WorkspaceMode.MANAGED_PVC:
        wanted.append((STORAGE_CLASSES, (STORAGE_CLASSES.plural,)))
    missing, groups = [], []
    for resource, names in wanted:
        served = await trial.cluster.served(resource)
        groups.append(resource.api_version)
        missing += [f"{name} ({resource.api_version})" for name in names if name not in served]
    if missing:
        fix = "name a whole Kubernetes API server; a virtual or filtered one must pass these on"
        return Check("discovery", "failed", f"not served: {', '.join(missing)}", fix)
    return Check("discovery", "ok", ", ".join(groups))


async def isolation(trial: Trial) -> Check:
    fix = "run only what you would run yourself, or name a cluster with --context"
    return Check("isolation", "warning", await words(trial.cluster), fix)


async def namespace(trial: Trial) -> Check:
    name = trial.config.namespace
    try:
        found = await trial.cluster.get(NAMESPACES, name)
    except ApiError as error:
        if error.problem.http_status == 403 and error.problem.kind == "status":
            return Check(
                "namespace",
                "warning",
                f"{name} may not be read: a remade namespace cannot be told from the old one",
                f"{SCRIPT}; until then the API server's address and CA stand for it",
            )
        if error.problem.http_status == 404 and error.problem.kind == "status":
            fix = f"kubectl create namespace {name}"
            return Check("namespace", "failed", f"{name} does not exist", fix)
        raise
    phase = (found.get("status") or {}).get("phase", "Active")
    said = f"{name} ({phase}, uid {found['metadata']['uid']})"
    if phase == "Active":
        return Check("namespace", "ok", said)
    fix = "wait until it is gone and create it again, or choose another namespace with -n"
    return Check("namespace", "failed", said, fix)


CONNECTION: Final = Step("connection", "reach the API server", connection)
ISOLATION: Final = Step("isolation", "read the nodes", isolation)
STEPS: Final = (
    Step("authentication", "ask who we are", authentication),
    Step("cluster", "read the identity of the cluster", cluster),
    Step("version", "read the version", version),
    Step("discovery", "read what the server offers", discovery),
    Step("namespace", "read the namespace", namespace),
)
