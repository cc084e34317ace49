"""Steps about one profile: its template, its storage, and what admission says to its Pod and claim.

Called by ``sessions.doctor``. Creates are strict dry runs, so nothing is stored; without a profile only what
the cluster says of itself is told.
"""

from __future__ import annotations

from typing import Final

from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import ApiError, DocumentError, Problem
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, STORAGE_CLASSES, Json
from moorage.core.owned_fields import FieldConflict, claim_conflicts, pod_conflicts
from moorage.core.session import Session, WorkspaceMode
from moorage.engine.mutators import find_mutators
from moorage.ports.sessions import Check, Progress
from moorage.sessions.checks.trial import Step, Trial, refused
from moorage.sessions.storage_check import check_storage

NO_PROFILE: Final = "no template was given"
GIVE_ONE: Final = "add --template FILE to have it tried"
ENFORCE: Final = "pod-security.kubernetes.io/enforce"
DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
POD, CLAIM = "admission.pod", "admission.claim"


async def template(trial: Trial) -> Check:
    """The profile by our own rules: reserved fields, platform, workspace."""
    from moorage.sessions import launch  # the whole Pod schema, which no other step needs

    if trial.profile is None or not trial.has_template:
        return Check("template", "not_run", NO_PROFILE, GIVE_ONE)
    said: list[Progress] = []
    try:
        request = await launch.usable(trial.parts, trial.config, trial.profile)
        trial.session = await launch.composed(trial.parts, trial.config, trial.cluster, request, said.append)
    except DocumentError as error:
        first = error.problems[0]
        return Check("template", "failed", f"{error.message}: {_named(error.problems)}", first.hint)
    if said:
        return Check("template", "warning", "; ".join(item.message for item in said), "change it, or go on")
    return Check(
        "template", "ok", f"{trial.session.inventory.snapshot.platform}, workspace {trial.mode.value}"
    )


def _named(problems: list[Problem]) -> str:
    shown = [f"{problem.field} (line {problem.line}): {problem.message}" for problem in problems[:3]]
    return "; ".join([*shown, *([f"and {len(problems) - 3} more"] if len(problems) > 3 else [])])


async def storage(trial: Trial) -> Check:
    """The claim or class that is named is there; else the cluster has a class of its own."""
    if trial.mode is WorkspaceMode.EMPTY_DIR:
        return Check("storage", "ok", "an emptyDir needs no claim and no class")
    said: list[Progress] = []
    if trial.session is not None:
        trial.allow = await check_storage(trial.parts, trial.cluster, trial.session, said.append)
        wanted = trial.session.inventory.snapshot.workspace
        if said:
            return Check("storage", "warning", said[0].message)
        if wanted.claim_name or wanted.storage_class:
            named = f"claim {wanted.claim_name}" if wanted.claim_name else f"class {wanted.storage_class}"
            return Check("storage", "ok", named)
    return await _default_class(trial)


async def _default_class(trial: Trial) -> Check:
    names, chosen = [], ""
    try:
        async for item in trial.cluster.list_all(STORAGE_CLASSES):
            names.append(item["metadata"]["name"])
            if (item["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true":
                chosen = names[-1]
    except ApiError as error:
        if error.problem.http_status != 403 or error.problem.kind != "status":
            raise
        return Check(
            "storage", "warning", "StorageClasses may not be listed", "name one with --storage-class"
        )
    if chosen:
        return Check("storage", "ok", f"default class {chosen}; {len(names)} in all")
    said = f"no default StorageClass ({', '.join(names) or 'none at all'})"
    return Check("storage", "warning", said, "name one with --storage-class, or use --workspace empty_dir")


async def pod_security(trial: Trial) -> Check:
    """The level that the namespace enforces, and whether the profile's Pod keeps to it."""
    level = await _level(trial)
    if trial.session is None:
        return Check("pod_security", "ok", f"{level}; whether a Pod keeps to it: add --template FILE")
    trial.pod = await _dry_run_pod(trial, trial.session)
    if isinstance(trial.pod, ApiError):
        why = diagnose_api(trial.pod.problem, "create Pod (dry run)")
        if why.category == "pod_security":
            return Check("pod_security", "failed", why.message, why.hint)
    return Check("pod_security", "ok", level)


async def _level(trial: Trial) -> str:
    try:
        found = await trial.cluster.get(NAMESPACES, trial.config.namespace)
    except ApiError:
        return "the level is not known: the namespace may not be read"
    level = (found["metadata"].get("labels") or {}).get(ENFORCE)
    return f"{level} is enforced" if level else "no level is set on the namespace"


async def _dry_run_pod(trial: Trial, session: Session) -> Json | ApiError:
    try:
        return await trial.cluster.create(PODS, _object(session, "Pod"), trial.config.namespace, dry_run=True)
    except ApiError as error:
        return error


def _object(session: Session, kind: str) -> Json:
    from moorage.sessions.launch import preview_objects

    return next(obj for obj in preview_objects(session) if obj["kind"] == kind)


async def admission_claim(trial: Trial) -> Check:
    if trial.session is None:
        return Check(CLAIM, "not_run", NO_PROFILE, GIVE_ONE)
    expected = _object(trial.session, "PersistentVolumeClaim")
    admitted = await trial.cluster.create(CLAIMS, expected, trial.config.namespace, dry_run=True)
    conflicts = claim_conflicts(expected, admitted)
    if conflicts:
        return await _mutated(trial, CLAIM, admitted, conflicts)
    return Check(CLAIM, "ok", "a dry run of the claim is admitted as it is")


async def admission_pod(trial: Trial) -> Check:
    if trial.session is None or trial.pod is None:
        return Check(POD, "not_run", NO_PROFILE, GIVE_ONE)
    if isinstance(trial.pod, ApiError):
        return refused(POD, trial.pod, "create Pod (dry run)")
    conflicts = pod_conflicts(_object(trial.session, "Pod"), trial.pod)
    if conflicts:
        return await _mutated(trial, POD, trial.pod, conflicts)
    return Check(POD, "ok", "a dry run of the Pod is admitted, and all that Moorage owns in it is unchanged")


async def _mutated(trial: Trial, key: str, admitted: Json, conflicts: tuple[FieldConflict, ...]) -> Check:
    resource = PODS if key == POD else CLAIMS
    who = await find_mutators(trial.cluster, resource, admitted)
    by = f" (likely: {', '.join(who[:3])})" if who else ""
    fields = ", ".join(conflict.field for conflict in conflicts[:3])
    return Check(
        key,
        "failed",
        f"an admission webhook or policy{by} changes what Moorage owns: {fields}",
        "exempt objects labelled app.kubernetes.io/managed-by=moorage from it",
    )


def steps(trial: Trial) -> tuple[Step, ...]:
    """In order; a claim is tried only where one would be made."""
    managed = trial.mode is WorkspaceMode.MANAGED_PVC
    return (
        Step("template", "check the template", template),
        Step("storage", "read the storage", storage),
        Step("pod_security", "read the Pod Security level", pod_security),
        *([Step(CLAIM, "create PersistentVolumeClaim (dry run)", admission_claim)] if managed else []),
        Step(POD, "create Pod (dry run)", admission_pod),
    )
