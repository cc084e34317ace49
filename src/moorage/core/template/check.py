"""Is a text a template a session can be started from? The one entry for launch, profiles and the CLI.

Strict: one v1 PodTemplate, known fields with the types kubectl would give them, nothing of ours. Reports
every fault found, in document order. Pure; the server's strict dry run at launch stays the authority.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from moorage.core.document.nodes import Mapping
from moorage.core.document.read import read_document
from moorage.core.errors import DocumentError, Problem
from moorage.core.kinds import Json
from moorage.core.template import schema
from moorage.core.template.rules.additions import Addition, additions
from moorage.core.template.rules.containers import check_containers
from moorage.core.template.rules.findings import Findings, KnownElsewhere, in_document_order
from moorage.core.template.rules.identity import check_document_kind, check_identity
from moorage.core.template.rules.mounts import check_mounts
from moorage.core.template.rules.pod import TemplateOptions, read_pod
from moorage.core.template.rules.ports import check_ports
from moorage.core.template.rules.reserved import check_reserved
from moorage.core.template.rules.risks import check_risks
from moorage.core.template.typecheck import TypeCheck

__all__ = [
    "Addition",
    "CheckedTemplate",
    "TemplateOptions",
    "check_template",
    "parse_template",
    "template_hash",
]

_RULES = (
    check_identity,
    check_reserved,
    check_containers,
    check_mounts,
    check_ports,
    check_risks,
)


@dataclass(frozen=True)
class CheckedTemplate:
    """The verdict. ``template`` is ``{metadata: {labels, annotations}, spec}`` as written, None if invalid.

    ``additions`` is what launch will add and force; empty if invalid.
    """

    valid: bool
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    additions: tuple[Addition, ...]
    template: Json | None


def check_template(
    text: bytes | str, options: TemplateOptions | None = None, known_elsewhere: KnownElsewhere | None = None
) -> CheckedTemplate:
    """Check a document of any content. Total: never raises, every fault is a Problem.

    ``known_elsewhere`` answers whether the connected server knows a field that our table lacks (asked with
    its path); such a field is a warning and goes to the server as written.
    """
    options = options or TemplateOptions()
    document = read_document(text, schema.spell)
    findings = Findings(refuse_policy=options.refuse_policy, errors=list(document.problems))
    if known_elsewhere is not None:
        findings.known_elsewhere = known_elsewhere
    root = document.root
    if root is None or not check_document_kind(root, findings):
        return _verdict(findings, None, ())
    value = TypeCheck(findings).check(root, schema.ROOT)
    pod = read_pod(root, options)
    if _has_spec(root, findings):
        for rule in _RULES:
            rule(pod, findings)
    if findings.errors:
        return _verdict(findings, None, ())
    template = _only_ours(value["template"])
    return _verdict(findings, template, additions(pod, template))


def parse_template(
    text: bytes | str, options: TemplateOptions | None = None, known_elsewhere: KnownElsewhere | None = None
) -> CheckedTemplate:
    """``check_template`` for callers that need a valid one. Raises DocumentError with all problems."""
    checked = check_template(text, options, known_elsewhere)
    if checked.valid:
        return checked
    first, more = checked.errors[0], len(checked.errors) - 1
    message = f"line {first.line}: {first.field or 'document'}: {first.message}"
    message += f" (and {more} more)" if more else ""
    raise DocumentError(message, list(checked.errors), hint=first.hint)


def template_hash(template: Json) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(template, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _has_spec(root: Mapping, findings: Findings) -> bool:
    """The rules speak of a Pod; without one, say that once instead of what follows from it."""
    template = root.mapping("template")
    if template is not None and template.mapping("spec") is not None:
        return True
    # null and absent pass the type check; wrong types were reported by it.
    for owner, name, path in ((root, "template", "template"), (template, "spec", "template.spec")):
        if owner is not None and owner.get(name) is None:
            message = f"{path} is missing: there is no Pod to start"
            findings.error(owner, path, "missing_field", message, "write template: spec: containers:")
    return False


def _only_ours(template: Json) -> Json:
    metadata = template.get("metadata", {})
    kept = {part: metadata.get(part, {}) for part in ("labels", "annotations")}
    return {"metadata": kept, "spec": template["spec"]}


def _verdict(findings: Findings, template: Json | None, added: tuple[Addition, ...]) -> CheckedTemplate:
    errors = in_document_order(findings.errors)
    return CheckedTemplate(not errors, errors, in_document_order(findings.warnings), added, template)
