"""Who the Pod is: document kind, names, labels and annotations that only Moorage or the cluster may set."""

from __future__ import annotations

from moorage.core.document.nodes import Mapping, item, join, shown
from moorage.core.names import nearest
from moorage.core.owned import MANAGED_BY_LABEL, is_owned_key
from moorage.core.template.rules.findings import Findings
from moorage.core.template.rules.pod import Pod

KIND = "PodTemplate"
API_VERSION = "v1"
_AUTHORS = frozenset(("labels", "annotations"))
# The document's own metadata is never sent; a name helps people and tools, the rest would mislead.
_DOCUMENT = _AUTHORS | {"name", "generateName"}
_WRAP = {
    "Pod": "put its metadata and spec below template:",
    "List": "write one of its items as a document of its own",
    "Deployment": "use what stands below its spec.template as template:",
}


def check_document_kind(document: Mapping, findings: Findings) -> bool:
    """Is this a v1 PodTemplate? When not, the reason is the one fault worth reporting."""
    kind, version = document.text("kind"), document.text("apiVersion")
    if kind == KIND and version == API_VERSION:
        return True
    before = len(findings.errors)
    if "kind" not in document.entries and "containers" in document.entries:
        message = "this is a bare Pod spec"
        hint = "start with apiVersion: v1 and kind: PodTemplate, then put this below template: spec:"
        findings.error(document, "kind", "wrong_kind", message, hint)
        return False
    if kind != KIND:
        _wrong_kind(document, kind, findings)
    if version != API_VERSION and kind in (KIND, None):
        place = document.get("apiVersion") or document
        message = (
            f"apiVersion is {shown(version)}, not v1" if version is not None else "apiVersion is missing"
        )
        findings.error(place, "apiVersion", "wrong_kind", message, "write apiVersion: v1")
    return len(findings.errors) == before


def _wrong_kind(document: Mapping, kind: str | None, findings: Findings) -> None:
    place = document.get("kind") or document
    if kind is None:
        findings.error(place, "kind", "wrong_kind", "kind is missing or no text", "write kind: PodTemplate")
        return
    hint = _WRAP.get(kind) or "write one v1 PodTemplate"
    if nearest(kind, [KIND]) and kind not in _WRAP:
        hint = f"did you mean {KIND}?"
    findings.error(place, "kind", "wrong_kind", f"kind is {shown(kind)}, not PodTemplate", hint)


def check_identity(pod: Pod, findings: Findings) -> None:
    """Refuse what would give the Pod, or the objects of ours, another identity."""
    for name in _foreign(pod.document.mapping("metadata"), _DOCUMENT):
        path = join("metadata", name)
        place = (pod.document.mapping("metadata") or pod.document).entries[name]
        message = f"{name} of the document has no meaning here"
        hint = "the executor fixes the namespace; remove it" if name == "namespace" else "remove it"
        findings.error(place, path, "reserved_field", message, hint)
    for name in _foreign(pod.metadata, _AUTHORS):
        path = join("template.metadata", name)
        message = f"{name} is set by Moorage or the cluster for each session"
        hint = "remove it; only labels and annotations may stand here"
        findings.error(pod.metadata.entries[name], path, "reserved_field", message, hint)
    _owned_keys(pod.metadata, "template.metadata", findings)
    for path, volume in pod.volumes:
        ephemeral = volume.mapping("ephemeral")
        claim = ephemeral.mapping("volumeClaimTemplate") if ephemeral else None
        if claim and (metadata := claim.mapping("metadata")):
            _owned_keys(metadata, f"{path}.ephemeral.volumeClaimTemplate.metadata", findings)


def _foreign(metadata: Mapping | None, allowed: frozenset[str]) -> list[str]:
    return (
        [name for name in metadata.entries if name not in allowed and metadata.get(name)] if metadata else []
    )


def _owned_keys(metadata: Mapping, path: str, findings: Findings) -> None:
    for part in ("labels", "annotations"):
        keys = metadata.mapping(part)
        for key, entry in keys.entries.items() if keys else ():
            if is_owned_key(key) or (part == "labels" and key == MANAGED_BY_LABEL):
                message = f"{shown(key)} is how Moorage knows its own objects"
                where = item(f"{path}.{part}", key)
                findings.error(entry, where, "reserved_key", message, "use a prefix of your own")
