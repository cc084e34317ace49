"""Fields of the Pod and of the main container that Moorage sets itself, so that an author may not."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.core.document.nodes import Entry, Mapping, item, join
from moorage.core.owned import ARCH_SELECTOR, ENV_PREFIXES, OS_SELECTOR
from moorage.core.template.rules.findings import Findings
from moorage.core.template.rules.pod import SPEC, Container, Pod

_POD_FIELDS = {
    "restartPolicy": ("a session's Pod is always restarted", "remove it"),
    "nodeName": ("it would bypass the scheduler", "use nodeSelector or affinity"),
    "os": ("a session's Pod is always a Linux Pod", "remove it"),
    "activeDeadlineSeconds": ("it would end the Pod under a running session", "remove it"),
    "ephemeralContainers": ("they are added to a running Pod, never to a template", "remove them"),
}
_WAITS = "it would act on the entrypoint that waits for the agent"
_MAIN_FIELDS = {
    "command": (
        "the main container starts agentctl, which runs the agent",
        "give the command to moorage run",
    ),
    "args": ("the main container starts agentctl, which runs the agent", "give the command to moorage run"),
    "workingDir": ("the agent starts in the workspace", "remove it"),
    "livenessProbe": (_WAITS, "remove it; Moorage watches the agent itself"),
    "startupProbe": (_WAITS, "remove it; Moorage watches the agent itself"),
    "restartPolicy": ("the main container is always restarted", "remove it"),
    "restartPolicyRules": ("the main container is always restarted", "remove it"),
}
# The old names are still honoured by the scheduler, so they could contradict the platform too.
_PLATFORM_KEYS = frozenset(
    (OS_SELECTOR, ARCH_SELECTOR, f"beta.{OS_SELECTOR}", f"beta.{ARCH_SELECTOR}"),
)
_PLATFORM_HINT = "remove it; the profile's platform decides"


def check_reserved(pod: Pod, findings: Findings) -> None:
    """Refuse every reserved field of the Pod and of its main container."""
    for name, (why, hint) in _POD_FIELDS.items():
        if pod.spec.get(name) is not None:
            _refuse(findings, pod.spec.entries[name], f"{SPEC}.{name}", why, hint)
    _platform(pod, findings)
    if pod.main is not None:
        _main(pod.main, findings)


def _refuse(findings: Findings, place: Entry, path: str, why: str, hint: str) -> None:
    findings.error(
        place, path, "reserved_field", f"{path.rsplit('.', 1)[1]} is not the author's: {why}", hint
    )


def _platform(pod: Pod, findings: Findings) -> None:
    selector = pod.spec.mapping("nodeSelector")
    for key, entry in selector.entries.items() if selector else ():
        if key in _PLATFORM_KEYS:
            path = item(f"{SPEC}.nodeSelector", key)
            findings.error(entry, path, "reserved_platform", f"{key} is set by Moorage", _PLATFORM_HINT)
    for path, term in _node_terms(pod.spec):
        for part in ("matchExpressions", "matchFields"):
            for index, expression in term.mappings(part):
                if (named := expression.text("key")) in _PLATFORM_KEYS:
                    where = join(item(join(path, part), index), "key")
                    place = expression.entries["key"]
                    message = f"{named} is set by Moorage"
                    findings.error(place, where, "reserved_platform", message, _PLATFORM_HINT)


def _node_terms(spec: Mapping) -> Iterator[tuple[str, Mapping]]:
    affinity = spec.mapping("affinity")
    node = affinity.mapping("nodeAffinity") if affinity else None
    if node is None:
        return
    base = f"{SPEC}.affinity.nodeAffinity"
    required, preferred = (
        f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred")
    )
    terms = node.mapping(required)
    for index, term in terms.mappings("nodeSelectorTerms") if terms else ():
        yield item(f"{base}.{required}.nodeSelectorTerms", index), term
    for index, weighted in node.mappings(preferred):
        if preference := weighted.mapping("preference"):
            yield join(item(f"{base}.{preferred}", index), "preference"), preference


def _main(main: Container, findings: Findings) -> None:
    for name, (why, hint) in _MAIN_FIELDS.items():
        if main.node.get(name) is not None:
            _refuse(findings, main.node.entries[name], join(main.path, name), why, hint)
    lifecycle = main.node.mapping("lifecycle")
    if lifecycle and lifecycle.get("postStart") is not None:
        path = f"{main.path}.lifecycle.postStart"
        _refuse(findings, lifecycle.entries["postStart"], path, _WAITS, "use an init container")
    for part, field in (("env", "name"), ("envFrom", "prefix")):
        for index, variable in main.node.mappings(part):
            said = variable.text(field) or ""
            # A prefix may also be the beginning of ours: the key of the ConfigMap or Secret says the rest.
            begins = field == "prefix" and said and any(ours.startswith(said) for ours in ENV_PREFIXES)
            if begins or said.startswith(ENV_PREFIXES):
                path = join(item(join(main.path, part), index), field)
                message = "variables AGENTCTL_* and MOORAGE_* of the main container are Moorage's"
                findings.error(variable.entries[field], path, "reserved_env", message, "choose another name")
