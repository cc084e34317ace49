"""What a fork has to know of the session it is made from. Called by ``sessions.fork``. Reads only.

Reads are most-recent and by exact name; what cannot be read is Unknown. Class and volume need rights that
many have not: their lack keeps nobody from copying.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from moorage.core.errors import (
    ApiError,
    Conflict,
    HelperError,
    IdentityChanged,
    IntegrityError,
    LinkError,
)
from moorage.core.kinds import CLAIMS, STORAGE_CLASSES, VOLUMES, Json, Resource
from moorage.core.observed import Absent, Observed, Present, Unknown, from_problem
from moorage.core.plans.cloning import ClaimFacts, VolumeFacts
from moorage.core.plans.fork import COPY, ForkFacts
from moorage.core.session import Session, WorkspaceMode
from moorage.ports.cluster import Cluster
from moorage.ports.link import Link

LinkTo = Callable[[Session], Awaitable[Link]]


async def gather(cluster: Cluster, origin: Session, link_to: LinkTo, method: str) -> ForkFacts:
    """Raises what ``own_pod`` raises where it cannot be told whose Pod answers."""
    pod = await _pod(origin, link_to)
    mode = origin.inventory.snapshot.workspace.mode
    if mode is WorkspaceMode.EMPTY_DIR or (method == COPY and mode is WorkspaceMode.MANAGED_PVC):
        return ForkFacts(pod)
    raw = await _read(cluster, CLAIMS, origin.inventory.claim_name, origin.inventory.namespace)
    if not isinstance(raw, Present):
        return ForkFacts(pod, raw)
    claim = claim_facts(raw.value)
    return ForkFacts(pod, Present(claim), await _volume(cluster, raw.value, claim))


async def _pod(origin: Session, link_to: LinkTo) -> Observed[str]:
    """The agent's state, by agentctl. Absent: there is no Pod of ours that runs."""
    try:
        return Present((await (await link_to(origin)).status()).state)
    except IdentityChanged:
        raise
    except Conflict:  # none of it runs
        return Absent()
    except (LinkError, HelperError, IntegrityError) as error:
        return Unknown(error.message)


def claim_facts(claim: Json) -> ClaimFacts:
    """A claim as the API server has it."""
    metadata, spec, status = claim["metadata"], claim.get("spec") or {}, claim.get("status") or {}
    return ClaimFacts(
        name=metadata["name"],
        uid=metadata["uid"],
        bound=status.get("phase") == "Bound",
        deleting=bool(metadata.get("deletionTimestamp")),
        storage_class=str(spec.get("storageClassName") or ""),
        requested=str(((spec.get("resources") or {}).get("requests") or {}).get("storage") or ""),
        capacity=str((status.get("capacity") or {}).get("storage") or ""),
        access_modes=tuple(str(mode) for mode in spec.get("accessModes") or ()),
        volume_mode=str(spec.get("volumeMode") or "Filesystem"),
    )


async def _volume(cluster: Cluster, claim: Json, facts: ClaimFacts) -> VolumeFacts:
    name = str((claim.get("spec") or {}).get("volumeName") or "")
    nothing: Observed[Json] = Absent()
    found = (
        await _read(cluster, STORAGE_CLASSES, facts.storage_class, None) if facts.storage_class else nothing
    )
    volume = await _read(cluster, VOLUMES, name, None) if name else nothing
    driver: Observed[str] = volume if not isinstance(volume, Present) else Present(_driver(volume.value))
    if not isinstance(found, Present):
        return VolumeFacts(found, "", driver, _near(volume))
    binding = str(found.value.get("volumeBindingMode") or "Immediate")
    return VolumeFacts(Present(str(found.value.get("provisioner"))), binding, driver, _near(volume))


def _driver(volume: Json) -> str:
    return str((((volume.get("spec") or {}).get("csi")) or {}).get("driver") or "")


def _near(volume: Observed[Json]) -> bool:
    return isinstance(volume, Present) and bool((volume.value.get("spec") or {}).get("nodeAffinity"))


async def _read(cluster: Cluster, resource: Resource, name: str, namespace: str | None) -> Observed[Json]:
    try:
        return Present(await cluster.get(resource, name, namespace))
    except ApiError as error:
        return from_problem(error.problem, resource.plural, name)
