"""Doctor: can this identity do what sessions need, on this cluster, now? Called by ``moorage doctor``.

Asks and dry-runs only; keeps nothing. Each failed line says what to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from moorage.core.errors import ApiError, MoorageError
from moorage.core.kinds import ACCESS_REVIEWS, NAMESPACES, STORAGE_CLASSES, SUBJECT_REVIEWS, Json
from moorage.engine.helper import helper_binary
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Check
from moorage.sessions.grant import RIGHTS, grant_script, right_name
from moorage.sessions.isolation import words
from moorage.sessions.parts import Parts

SCRIPT = "the script below, at rights, grants it"


async def doctor(parts: Parts) -> list[Check]:
    """Checks in order; what depends on a failed one is ``not_run``."""
    checks = [await _timed(parts, "helper", _helper)]
    try:
        config = parts.executors.chosen()
        cluster = await parts.executors.cluster(config)
    except MoorageError as error:
        return [*checks, Check("cluster", "failed", error.message, error.hint)]

    async def server() -> Check:
        identity = await cluster.identity()
        return Check("cluster", "ok", f"{identity.address}, Kubernetes {identity.version}")

    reached = await _timed(parts, "cluster", server)
    checks.append(reached)
    if reached.status == "failed":
        return [
            *checks,
            *(Check(key, "not_run", "the cluster was not reached") for key in ("identity", "rights")),
        ]
    if config.embedded:
        checks.append(await _timed(parts, "isolation", lambda: _isolation(cluster)))
    who = await _timed(parts, "identity", lambda: _who(cluster))
    namespace = await _timed(parts, "namespace", lambda: _namespace(cluster, config.namespace))
    checks += [who, namespace]
    begin = len(checks)
    for resource, subresource, verbs, needed in RIGHTS:
        name = right_name(resource, subresource)
        checks.append(
            await _timed(
                parts,
                f"rights.{name}",
                lambda r=resource, s=subresource, v=verbs, n=needed: _rights(  # type: ignore[misc]
                    cluster, config.namespace, r, s, v, n
                ),
            )
        )
    if any(check.fix.startswith(SCRIPT) for check in (namespace, *checks[begin:])):
        checks.append(_grant(config.namespace, who, checks[begin:]))
    checks.append(await _timed(parts, "storage", lambda: _storage(cluster)))
    return checks


async def _timed(parts: Parts, key: str, work: Callable[[], Awaitable[Check]]) -> Check:
    begun = parts.clock.monotonic()
    try:
        check = await work()
    except MoorageError as error:
        check = Check(key, "failed", error.message, error.hint)
    spent = int((parts.clock.monotonic() - begun) * 1000)
    return Check(key, check.status, check.detail, check.fix, spent)


async def _helper() -> Check:
    sizes = [
        f"{platform} {len(helper_binary(platform)) / 1e6:.1f} MB"
        for platform in ("linux/amd64", "linux/arm64")
    ]
    return Check("helper", "ok", ", ".join(sizes))


async def _isolation(cluster: Cluster) -> Check:
    fix = "run only what you would run yourself, or name a cluster with --context"
    return Check("isolation", "warning", await words(cluster), fix)


async def _who(cluster: Cluster) -> Check:
    review: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    found = await cluster.create(SUBJECT_REVIEWS, review)
    user = ((found.get("status") or {}).get("userInfo") or {}).get("username", "unknown")
    return Check("identity", "ok", str(user))


async def _namespace(cluster: Cluster, namespace: str) -> Check:
    try:
        found = await cluster.get(NAMESPACES, namespace)
    except ApiError as error:
        if error.problem.http_status == 403:
            return Check(
                "namespace",
                "warning",
                f"{namespace} may not be read: a remade namespace cannot be told from the old one",
                f"{SCRIPT}; until then the API server's address and CA stand for it",
            )
        if error.problem.http_status == 404:
            fix = f"kubectl create namespace {namespace}"
            return Check("namespace", "failed", f"{namespace} does not exist", fix)
        raise
    phase = (found.get("status") or {}).get("phase", "Active")
    status = "ok" if phase == "Active" else "failed"
    return Check("namespace", status, f"{namespace} ({phase}, uid {found['metadata']['uid']})")


async def _rights(
    cluster: Cluster, namespace: str, resource: str, subresource: str, verbs: tuple[str, ...], needed: bool
) -> Check:
    missing = [verb for verb in verbs if not await _allowed(cluster, namespace, resource, subresource, verb)]
    name = right_name(resource, subresource)
    if not missing:
        return Check(name, "ok", ", ".join(verbs))
    return Check(name, "failed" if needed else "warning", f"missing: {', '.join(missing)}", SCRIPT)


def _grant(namespace: str, who: Check, rights: list[Check]) -> Check:
    """What grants everything at once. Failed as soon as one of the rights is: then nothing works."""
    status = "failed" if any(check.status == "failed" for check in rights) else "warning"
    script = grant_script(namespace, who.detail if who.status == "ok" else "")
    fix = f"an administrator of the cluster runs this, as it stands:\n{script}"
    return Check("rights", status, f"rights are missing in namespace {namespace}", fix)


async def _allowed(cluster: Cluster, namespace: str, resource: str, subresource: str, verb: str) -> bool:
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


async def _storage(cluster: Cluster) -> Check:
    default = "storageclass.kubernetes.io/is-default-class"
    names, chosen = [], ""
    try:
        async for item in cluster.list_all(STORAGE_CLASSES):
            names.append(item["metadata"]["name"])
            if (item["metadata"].get("annotations") or {}).get(default) == "true":
                chosen = names[-1]
    except ApiError as error:
        if error.problem.http_status == 403:
            return Check(
                "storage", "warning", "StorageClasses may not be listed", "name one with --storage-class"
            )
        raise
    if chosen:
        return Check("storage", "ok", f"default class {chosen}; {len(names)} in all")
    return Check(
        "storage",
        "warning",
        f"no default StorageClass ({', '.join(names) or 'none at all'})",
        "name one with --storage-class, or use --workspace empty_dir",
    )
