"""Hints for a field the schema does not have at its place: a typing error, or a field of another level.

Called by typecheck.py. Only words; decides nothing.
"""

from __future__ import annotations

from functools import cache

from moorage.core.names import nearest
from moorage.core.template import schema

# Where the main types stand, as a person would say it; searched in this order.
_LEVELS = {
    "PodTemplate": "the top of the document",
    "PodTemplateSpec": "template",
    "ObjectMeta": "template.metadata",
    "PodSpec": "template.spec",
    "Container": "a container (template.spec.containers[])",
    "SecurityContext": "securityContext of a container",
    "PodSecurityContext": "template.spec.securityContext",
    "ResourceRequirements": "resources of a container",
    "ContainerPort": "ports[] of a container",
    "VolumeMount": "volumeMounts[] of a container",
    "Volume": "template.spec.volumes[]",
    "Probe": "a probe of a container",
}


@cache
def _levels_of(name: str) -> tuple[str, ...]:
    return tuple(level for level in _LEVELS if name in schema.fields(level))


def unknown_hint(name: str, type_name: str) -> str:
    """What the author of ``name`` in ``type_name`` probably meant."""
    fields = schema.fields(type_name)
    by_lower = {field.lower(): field for field in fields}
    if name.lower() in by_lower:
        return f"did you mean {by_lower[name.lower()]}?"
    elsewhere = [level for level in _levels_of(name) if level != type_name]
    if elsewhere:
        return f"{name} belongs in {_LEVELS[elsewhere[0]]}"
    close = nearest(name, fields)
    if close:
        return f"did you mean {close}?"
    return "remove it, or check its spelling and indentation"
