"""What a kubelet may say and do about one Pod: steps of a script, ``(seconds after the one before, step)``.

Statuses are whole, as a kubelet reports them; times of year 1 and missing lists are what real ones hold. Used
by the POD family and by the rows of ``test_pod_scripts``; played on the scripted node. Decides nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from moorage.core.kinds import CLAIMS, NODES, PODS, Json
from moorage.embedded import EmbeddedCluster
from tests.embedded.fake_nodes import now, running
from tests.faults.machine.agentctl import Agentctl
from tests.faults.machine.node import NAME as NODE
from tests.faults.machine.node import Pod as Behind
from tests.faults.machine.node import ScriptedNode

MAIN = "agent"


class Kubelet:
    """The hand of a node on one Pod; also on the Node object, and of whoever else acts in a script."""

    def __init__(self, cluster: EmbeddedCluster, pod: Json) -> None:
        nodes = cluster.nodes
        assert isinstance(nodes, list)
        self.cluster, self.nodes = cluster, nodes
        self.node: ScriptedNode = next(node for node in nodes if node.name == NODE)
        self.objects = cluster.objects("kubelet")
        self.namespace, self.name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        self.uid: str = pod["metadata"]["uid"]

    @property
    def pod(self) -> Json | None:
        """This very Pod, while it is there."""
        found = self.objects.get(PODS, self.namespace, self.name)
        return found if found is not None and found["metadata"]["uid"] == self.uid else None

    def report(self, **status: Any) -> None:
        """The whole status from now on; a Pod that is gone is no longer reported on."""
        if (pod := self.pod) is not None:
            self.objects.update_status(PODS, {**pod, "status": status})

    def amend(self, **status: Any) -> None:
        """Some fields of the status."""
        if (pod := self.pod) is not None:
            self.report(**{**pod["status"], **status})

    async def kill(self) -> None:
        """Nothing of the Pod runs any more: its agent is dead, its connections are cut."""
        found = self.node.pods.pop(self.uid, None)
        if found is not None:
            found.agent.ended(signal=9)
            await self.cut(found)

    async def cut(self, behind: Behind) -> None:
        """Every exec and port-forward into the Pod ends."""
        open_, behind.open = behind.open, []
        for each in open_:
            await each.close()

    async def restart(self) -> None:
        """Another container in the same Pod: agentctl begins anew, and nothing was delivered to it yet."""
        found = self.node.pods[self.uid]
        found.agent.ended(signal=9)
        await self.cut(found)
        found.agent = Agentctl(self.uid, found.agent.workspace, found.agent.count)


Step: TypeAlias = Callable[[Kubelet], Awaitable[None] | None]
Script: TypeAlias = Sequence[tuple[float, Step]]


async def play(script: Script, kubelet: Kubelet) -> None:
    """All of it, in its time."""
    for seconds, step in script:
        await asyncio.sleep(seconds)  # sleep: in virtual time, it is the script
        if (rest := step(kubelet)) is not None:
            await rest


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


def terminated(reason: str, code: int, message: str = "", *, at: str = "") -> Json:
    times = {"startedAt": at or now(), "finishedAt": at or now()}
    return {"terminated": {"reason": reason, "exitCode": code, "message": message, **times}}


def alive() -> Json:
    return {"running": {"startedAt": now()}}


def container(state: Json, name: str = MAIN, *, last: Json | None = None, restarts: int = 0) -> Json:
    """The status of one container."""
    ready = "running" in state
    entry = {"name": name, "state": state, "lastState": last or {}, "restartCount": restarts, "ready": ready}
    return {**entry, "image": "localhost/busybox:test", "imageID": "", "containerID": f"test://{restarts}"}


def runs() -> Step:
    """All is well, as the node reports it by itself."""

    def step(kubelet: Kubelet) -> None:
        if (pod := kubelet.pod) is not None:
            kubelet.report(**running(pod))

    return step


def pending(*containers: Json, init: Sequence[Json] = (), **more: Any) -> Step:
    """Not all of its containers have begun."""
    listed = {"containerStatuses": list(containers), "initContainerStatuses": list(init)}
    return lambda kubelet: kubelet.report(phase="Pending", **listed, **more)


def reported(*containers: Json, init: Sequence[Json] = (), phase: str = "Running", **more: Any) -> Step:
    """Whatever these containers are in."""
    listed = {"containerStatuses": list(containers), "initContainerStatuses": list(init)}
    return lambda kubelet: kubelet.report(phase=phase, **listed, **more)


def amended(**status: Any) -> Step:
    """Some fields of the status are others; what runs in the Pod runs on."""
    return lambda kubelet: kubelet.amend(**status)


def failed(reason: str, message: str, *containers: Json, init: Sequence[Json] = (), **more: Any) -> Step:
    """The verdict on the whole Pod, with no word on any container unless one is given."""

    async def step(kubelet: Kubelet) -> None:
        await kubelet.kill()
        said = {"reason": reason, "message": message} if reason else {}
        listed = {"containerStatuses": list(containers)} if containers else {}
        begun = {"initContainerStatuses": list(init)} if init else {}
        kubelet.report(phase="Failed", **said, **listed, **begun, **more)

    return step


def succeeded() -> Step:
    """All of its containers have ended well, by themselves."""

    async def step(kubelet: Kubelet) -> None:
        await kubelet.kill()
        kubelet.report(phase="Succeeded", containerStatuses=[container(terminated("Completed", 0))])

    return step


def restarted(last: Json, restarts: int = 1) -> Step:
    """The main container was ended as ``last`` says, and begins anew in the same Pod."""

    async def step(kubelet: Kubelet) -> None:
        await kubelet.restart()
        kubelet.amend(containerStatuses=[container(alive(), last=last, restarts=restarts)])

    return step


def exits(code: int) -> Step:
    """The agent ends by itself; its container and all others run on."""
    return lambda kubelet: kubelet.node.pods[kubelet.uid].agent.ended(code)


def claim_deleted() -> Step:
    """Somebody deletes the claim that the Pod uses: it is Terminating for as long as the Pod is there."""

    def step(kubelet: Kubelet) -> None:
        for claim in kubelet.objects.list(CLAIMS, kubelet.namespace):
            about = claim["metadata"]
            kubelet.objects.delete(CLAIMS, kubelet.namespace, about["name"], about["uid"])

    return step


def disrupted(reason: str, message: str = "said") -> Step:
    """The condition with which a scheduler, an eviction or a taint announces the end."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}

    def step(kubelet: Kubelet) -> None:
        if (pod := kubelet.pod) is not None:
            others = [
                each for each in pod["status"].get("conditions") or () if each["type"] != "DisruptionTarget"
            ]
            kubelet.amend(conditions=[*others, condition])

    return step


def told(reason: str, message: str, kind: str = "Warning") -> Step:
    """An Event about the Pod."""

    def step(kubelet: Kubelet) -> None:
        if (pod := kubelet.pod) is not None:
            kubelet.objects.event({**pod, "apiVersion": "v1", "kind": "Pod"}, kind, reason, message)

    return step


def deleted(grace: int = 30) -> Step:
    """Somebody deletes the Pod."""
    return lambda kubelet: kubelet.objects.delete(PODS, kubelet.namespace, kubelet.name, kubelet.uid, grace)


def gone() -> Step:
    """The Pod object vanishes at once, as by a forced deletion or the cluster's own collector."""

    async def step(kubelet: Kubelet) -> None:
        await kubelet.kill()
        kubelet.objects.remove(PODS, kubelet.namespace, kubelet.name, kubelet.uid)

    return step


def held(finalizer: str = "test/hold") -> Step:
    """Somebody's finalizer keeps the object; None takes it away again."""

    def step(kubelet: Kubelet) -> None:
        if (pod := kubelet.pod) is not None:
            pod["metadata"]["finalizers"] = [finalizer] if finalizer else []
            kubelet.objects.update(PODS, pod)

    return step


def silent() -> Step:
    """The kubelet is gone: no status, no deletion is finished, exec and port-forward are not answered, and
    its Node is not Ready. Whether containers run cannot be known from outside; here they do."""

    async def step(kubelet: Kubelet) -> None:
        await kubelet.node.stop()
        kubelet.nodes.remove(kubelet.node)
        for pod in kubelet.node.pods.values():
            await kubelet.cut(pod)
        _ready(kubelet, "Unknown")

    return step


def heard_again() -> Step:
    """The kubelet is back, and does what it was asked meanwhile."""

    async def step(kubelet: Kubelet) -> None:
        kubelet.nodes.append(kubelet.node)
        await kubelet.node.start(kubelet.objects)
        _ready(kubelet, "True")

    return step


def node_removed() -> Step:
    """A person deletes the Node object: its machine is off."""

    def step(kubelet: Kubelet) -> None:
        node = kubelet.objects.get(NODES, "", NODE)
        if node is not None:
            kubelet.objects.delete(NODES, "", NODE, node["metadata"]["uid"])

    return step


def _ready(kubelet: Kubelet, status: str) -> None:
    node = kubelet.objects.get(NODES, "", NODE)
    if node is not None:
        ready = {"type": "Ready", "status": status, "reason": "NodeStatusUnknown"}
        node["status"] = {**node["status"], "conditions": [ready]}
        kubelet.objects.update_status(NODES, node)
