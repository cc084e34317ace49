"""Can the storage driver copy this claim into a new one? Called by ``plans.fork``. Pure.

Whether a driver clones is told by nothing in the API: what can be known before is checked, and what comes of
it is proved afterwards, by the tree's hash or the marker of the workspace, before any agent starts. A driver
that takes no notice of a data source makes an empty volume, and says that all is well.
Source of the rules: Kubernetes documentation, "CSI Volume Cloning".
"""

from __future__ import annotations

from dataclasses import dataclass

from moorage.core.observed import Absent, Observed, Present, Unknown
from moorage.core.quantities import parse_quantity
from moorage.core.session import Session, WorkspaceMode, WorkspaceSpec
from moorage.core.workspace_spec import ACCESS_MODES

IN_TREE = "kubernetes.io/"
"""Provisioners inside Kubernetes, and ``no-provisioner``, begin so; none of them clones."""
_NOT_READ = Unknown("not read")


@dataclass(frozen=True)
class Finding:
    """One line of the preflight. ``status``: ok, warning, failed, not_run. ``unknown``: a warning because it
    could not be read."""

    key: str
    status: str
    detail: str
    fix: str = ""
    unknown: bool = False

    def told(self) -> Finding:
        """The same, of a way that was not asked for: it stands in the way of nothing."""
        return Finding(self.key, "not_run", self.detail, self.fix)


@dataclass(frozen=True)
class ClaimFacts:
    """A claim, reduced. ``requested`` and ``capacity``: quantities, "" where it has none yet."""

    name: str
    uid: str
    bound: bool = True
    deleting: bool = False
    storage_class: str = ""
    requested: str = ""
    capacity: str = ""
    access_modes: tuple[str, ...] = ("ReadWriteOnce",)
    volume_mode: str = "Filesystem"


@dataclass(frozen=True)
class VolumeFacts:
    """Class and volume behind a claim. ``provisioner`` and ``binding`` (mode) of the class; ``driver``: CSI
    driver of the volume, "" for one that is none; ``nodes``: it is reached from some nodes only."""

    provisioner: Observed[str] = _NOT_READ
    binding: str = ""
    driver: Observed[str] = _NOT_READ
    nodes: bool = False


def can_clone(
    origin: Session, claim: Observed[ClaimFacts], volume: VolumeFacts, *, proved: bool
) -> list[Finding]:
    """Every check, first the one that says most. ``proved``: the tree's hash will tell."""
    if origin.inventory.snapshot.workspace.mode is WorkspaceMode.EMPTY_DIR:
        return [
            Finding("clone", "failed", "an emptyDir is no volume that a driver could clone", "--method copy")
        ]
    if isinstance(claim, Unknown):
        return [Finding("clone", "failed", f"the claim cannot be read: {claim.why}")]
    if isinstance(claim, Absent):
        return [Finding("clone", "failed", f"claim {origin.inventory.claim_name} does not exist")]
    facts = claim.value
    return [
        _claim(origin, facts),
        _driver(facts, volume),
        _volume_mode(facts),
        _access(facts),
        _binding(facts, volume),
        _proof(origin, proved),
    ]


def workspace_like(claim: ClaimFacts) -> WorkspaceSpec:
    """A claim of our own in the class of that one, and no smaller than its volume: a driver refuses less."""
    sizes = [size for size in (claim.requested, claim.capacity) if parse_quantity(size) is not None]
    return WorkspaceSpec(
        WorkspaceMode.MANAGED_PVC,
        size=max(sizes, key=lambda size: parse_quantity(size) or 0, default=""),
        storage_class=claim.storage_class,
        access_modes=tuple(mode for mode in claim.access_modes if mode in ACCESS_MODES),
    )


def _claim(origin: Session, claim: ClaimFacts) -> Finding:
    if claim.uid != origin.inventory.claim_uid:
        return Finding("claim", "failed", f"claim {claim.name} is not the one that was recorded")
    if claim.deleting:
        return Finding("claim", "failed", f"claim {claim.name} is being deleted")
    size = workspace_like(claim).size
    return Finding("claim", "ok", f"{claim.name}, the fork's has {size or 'the default size'}")


def _driver(claim: ClaimFacts, volume: VolumeFacts) -> Finding:
    provisioner, driver = volume.provisioner, volume.driver
    if not claim.storage_class or isinstance(provisioner, Absent):
        named = f"class {claim.storage_class}" if claim.storage_class else "a class"
        return Finding(
            "driver", "failed", f"claim {claim.name} has no provisioner: there is no {named}", _COPY
        )
    if isinstance(provisioner, Present) and provisioner.value.startswith(IN_TREE):
        return Finding("driver", "failed", f"{provisioner.value} is no CSI driver and does not clone", _COPY)
    if isinstance(driver, Present) and not driver.value:
        why = f"the volume of claim {claim.name} is no CSI volume, and only CSI drivers clone"
        return Finding("driver", "failed", why, _COPY)
    if isinstance(driver, Present) and isinstance(provisioner, Present):
        if driver.value == provisioner.value:
            return Finding("driver", "ok", f"{driver.value}; whether it clones shows when the claim is made")
        why = f"class {claim.storage_class} is of {provisioner.value}, the volume of {driver.value}"
        return Finding("driver", "failed", why, _COPY)
    unread = next((one.why for one in (provisioner, driver) if isinstance(one, Unknown)), "")
    return Finding("driver", "warning", f"whether it can clone cannot be told: {unread}", unknown=True)


_COPY = "--method copy, from a session with a Pod"


def _volume_mode(claim: ClaimFacts) -> Finding:
    status = "ok" if claim.volume_mode == "Filesystem" else "failed"
    return Finding("volume_mode", status, claim.volume_mode)


def _access(claim: ClaimFacts) -> Finding:
    modes = ", ".join(claim.access_modes)
    if not workspace_like(claim).access_modes:
        return Finding("access_mode", "failed", f"{modes}: an agent could not write its workspace", _COPY)
    return Finding("access_mode", "ok", modes)


def _binding(claim: ClaimFacts, volume: VolumeFacts) -> Finding:
    if not claim.bound:
        return Finding("binding", "failed", f"claim {claim.name} is not bound to a volume yet")
    mode = volume.binding or "binding mode not read"
    near = "; the volume is reached from some nodes only, and so will the fork's be" if volume.nodes else ""
    return Finding("binding", "ok", f"{mode}{near}")


def _proof(origin: Session, proved: bool) -> Finding:
    """By what a clone is told from an empty volume."""
    if proved:
        return Finding("proof", "ok", "by the hash of all files")
    if origin.source is not None and origin.source.marker:
        return Finding("proof", "ok", "by the marker of its source only: no Pod reads the files now")
    name = origin.name
    return Finding(
        "proof",
        "failed",
        f"nothing would prove that a clone holds the workspace of {name}: no Pod at rest reads its files, "
        "and it has no marker of a source",
        f"moorage resume {name} && moorage stop {name}, then fork it",
    )
