"""Every category of a diagnosis, with its meaning and what to do. Stable: scripts compare these words.

Read by the diagnosing functions for their default hints; docs/diagnoses.md lists exactly this table (a test
compares them).
"""

from __future__ import annotations

from typing import NamedTuple

from moorage.core.cleaning import clean
from moorage.core.session import Diagnosis


class Category(NamedTuple):
    """``meaning``: one sentence for people; ``hint``: what to do when nothing more exact is known."""

    meaning: str
    hint: str


CATALOGUE: dict[str, Category] = {
    "image": Category(
        "An image cannot be had: bad reference, not found, no right to pull it, or never to be pulled.",
        "check the image reference and imagePullSecrets of the template",
    ),
    "unschedulable": Category(
        "No node fits the Pod: resources, taints, selectors, architecture, volume topology, or a gate.",
        "lower the requests or widen selectors and tolerations in the template, or add a node",
    ),
    "claim": Category(
        "The workspace's claim or its class is missing, pending, lost, being deleted or not attached.",
        "look at the claim with: kubectl describe pvc",
    ),
    "quota": Category(
        "A ResourceQuota of the namespace is used up, or wants requests and limits that are not set.",
        "remove or pause a session, lower the requests, or raise the quota",
    ),
    "pod_security": Category(
        "Pod Security of the namespace forbids something in the template.",
        "change the named fields of the template, or use a namespace with another level",
    ),
    "admission": Category(
        "An admission webhook or policy denied, changed or could not check an object.",
        "ask the owner of the named webhook or policy",
    ),
    "access": Category(
        "The cluster refused our identity: credentials missing or expired (401), or a right missing (403).",
        "run: moorage doctor",
    ),
    "oom": Category(
        "A process was killed because the container reached its memory limit.",
        "raise resources.limits.memory of the container in the template",
    ),
    "evicted": Category(
        "The node put the Pod out: memory, disk or pid pressure, a size limit, a drain or a taint.",
        "lower what the session uses, raise its requests, or resume it: it starts on another node",
    ),
    "node_lost": Category(
        "The Pod's node does not answer; whether its processes still run cannot be learned.",
        "wait for the node, or delete the Node object once you know that the machine is off",
    ),
    "preempted": Category(
        "The scheduler removed the Pod to make room for one of higher priority.",
        "give the template a priorityClassName, or resume when there is room",
    ),
    "kubelet_rejected": Category(
        "The node refused the Pod after it was scheduled, e.g. OutOfcpu or UnexpectedAdmissionError.",
        "resume: the Pod is made anew and scheduled again",
    ),
    "crash": Category(
        "A container ends or cannot be started, so the helper has nothing to wait in.",
        "look at its last lines with: moorage logs",
    ),
    "noexec": Category(
        "A file that must be run may not be executed: noexec mount, missing mode bit, or a security module.",
        "allow execution where the file lies; /opt/moorage is an emptyDir in the kubelet's folder",
    ),
    "config": Category(
        "The template refers to something missing or unusable: Secret, ConfigMap, RuntimeClass, mount.",
        "create what is named, or remove the reference from the template",
    ),
    "platform": Category(
        "Image, helper or node are of different processor architectures.",
        "use an image of the session's platform, or give the other one with --platform",
    ),
    "namespace": Category(
        "The namespace does not exist, or is being deleted.",
        "create the namespace, or choose another one with -n",
    ),
    "network": Category(
        "The API server or the Pod's network cannot be reached: connection, TLS, DNS, or a network plugin.",
        "check address, proxy and certificates with: moorage doctor",
    ),
    "proxy": Category(
        "Something between us and the API server answered in its place, or does not carry streams.",
        "check proxy-url in the kubeconfig and the load balancer before the API server",
    ),
    "api": Category(
        "The API server refused a request as invalid, or failed with an error of its own.",
        "correct the named field, or try again once the API server is well",
    ),
    "timeout": Category(
        "A limit ended a wait, or the API server did not answer in time.",
        "try again; look at what was waited for with: moorage events",
    ),
    "identity": Category(
        "Cluster, namespace or object are not the ones on record; nothing was written.",
        "point the context at the recorded cluster; see both identities with: moorage describe",
    ),
    "name_blocked": Category(
        "An object that is not ours holds the name we need; it was left alone.",
        "look at the object; delete it yourself if nobody needs it",
    ),
    "interrupted": Category(
        "A running agent lost its container or Pod too often, or restarts are off.",
        "look at moorage events and moorage logs; moorage resume starts it once more",
    ),
    "workspace_lost": Category(
        "The only copy of the workspace is gone: an emptyDir whose Pod went, or a claim someone deleted.",
        "start a new session; use --workspace managed_pvc for work that must outlive its Pod",
    ),
    "link": Category(
        "agentctl in the Pod does not answer, or something else answers in its place.",
        "see which transports and rights a link needs with: moorage doctor",
    ),
    "storage": Category(
        "A volume of the Pod cannot be written: it is full, or the container's user has no right to it.",
        "free space on the node or volume, or give the container a user or fsGroup that may write",
    ),
    "source": Category(
        "The workspace cannot be filled from the source: it holds other content, or the source is unusable.",
        "use an empty claim, or leave out --source to work with what the claim holds",
    ),
    "integrity": Category(
        "What arrived is not what was sent, or it arrived in another Pod.",
        "try again; if it stays so, something between here and the Pod changes what passes",
    ),
    "helper": Category(
        "agentctl refused or failed at what it was told to do in the Pod.",
        "see what it said with: moorage events",
    ),
    "unknown": Category(
        "What the cluster said fits none of the other categories.",
        "look at the whole story with: moorage events",
    ),
}


def diagnosis(
    category: str, reason: str, message: object, *, hint: str = "", terminal: bool = False
) -> Diagnosis:
    """A diagnosis with cleaned text; the category's own hint where none is given."""
    return Diagnosis(
        category=category,
        reason=clean(reason, 80),
        message=clean(message),
        hint=clean(hint) or CATALOGUE[category].hint,
        terminal=terminal,
    )
