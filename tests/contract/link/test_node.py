"""Bootstrap and link in a real container: both transports, restarts, a poor container."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import ApiError, HelperError, IntegrityError, MoorageError
from moorage.engine.bootstrap import connect
from moorage.kube import KubeCluster
from moorage.kube import connect as kube_connect
from moorage.ports.link import ExitStatus, Gap, Output, ProcessSpec
from tests.contract.link.pods import Kubectl, WaitingPod, start_pod, waiting_pod
from tests.contract.link.test_files import pieces, tar
from tests.contract.link.test_run import both

pytestmark = pytest.mark.node
Start = Callable[..., Awaitable[WaitingPod]]


@pytest.fixture
async def api(kubeconfig: Path, namespace: str) -> AsyncIterator[KubeCluster]:
    cluster = kube_connect(str(kubeconfig), None, namespace)
    yield cluster
    await cluster.close()


@pytest.fixture
def start(kubectl: Kubectl, api: KubeCluster, namespace: str, helpers: dict[str, Path]) -> Start:
    """`await start(main={...}, **spec)` → a Pod that waits for its helper."""

    async def run(**fields: Any) -> WaitingPod:
        return await start_pod(kubectl, api, namespace, waiting_pod("one", **fields), helpers["amd64"])

    return run


@pytest.mark.parametrize("transport", ["portforward", "exec"])
async def test_a_session_over_each_transport(start: Start, transport: str) -> None:
    pod = await start()
    await pod.install()
    await pod.deliver()
    link, used = await pod.link(transport)
    assert used == transport
    assert link.hello.pod_uid == pod.uid
    spec = ProcessSpec(["sh", "-c", "seq 1 200000; echo err >&2"])
    await link.start_agent(spec, base_offset=0, start_id="a")
    whole = b""
    async for part in link.output(0):
        assert isinstance(part, Output)
        assert part.offset == len(whole)
        whole += part.data
    assert whole.replace(b"err\n", b"") == b"".join(b"%d\n" % n for n in range(1, 200_001))
    assert await link.wait_exit() == ExitStatus(code=0)
    data = os.urandom(16 << 20)
    await link.put_tar("/workspace", pieces(tar(("big", data))), limit=1 << 30)
    back = b"".join([part async for part in link.get_tar("/workspace/big")])
    assert back[512 : 512 + len(data)] == data
    terminal = await link.run(ProcessSpec(["sh", "-c", "stty size"], tty=True, cols=99, rows=44))
    assert (await both(terminal))[1] == b"44 99\r\n"
    await link.close()


async def test_auto_takes_exec_where_port_forward_is_not_allowed(
    start: Start, limited_user: Callable[[list[dict[str, Any]]], Path], namespace: str
) -> None:
    pod = await start()
    await pod.install()
    await pod.deliver()
    link, used = await pod.link()
    assert used == "portforward"
    await link.close()
    rules = [{"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]}]
    poor = kube_connect(str(await asyncio.to_thread(limited_user, rules)), None, namespace)
    with pytest.raises(ApiError) as denied:
        await connect(poor, pod.name, "agent", pod.open, "portforward")
    assert denied.value.problem.http_status == 403
    link, used = await pod.link(cluster=poor)
    assert used == "exec"
    assert (await link.status()).state == "none"
    await link.close()
    await poor.close()


async def test_a_restarted_container_serves_again_without_any_delivery(start: Start) -> None:
    pod = await start()
    await pod.install()
    await pod.deliver()
    link, _ = await pod.link()
    await link.start_agent(
        ProcessSpec(["sh", "-c", "echo before; exec sleep 1000"]), base_offset=0, start_id="a"
    )
    async for part in link.output(0):
        assert part == Output(0, b"before\n")
        break
    await pod.end()
    await _restarted(pod, 1)
    again, _ = await pod.link()
    assert again.hello.epoch != link.hello.epoch
    status = await again.status()
    assert (status.state, status.end) == ("exited", 7)
    assert status.exit == ExitStatus()  # ended because its container was: not an exit of its own
    await link.close()
    await again.close()


async def _restarted(pod: WaitingPod, count: int) -> None:
    condition = f"jsonpath={{.status.containerStatuses[0].restartCount}}={count}"
    await asyncio.to_thread(pod.kubectl, "wait", f"--for={condition}", "pod/one", "--timeout=60s")
    await asyncio.to_thread(pod.kubectl, "wait", "--for=condition=Ready", "pod/one", "--timeout=60s")


async def test_a_lost_memory_volume_is_repaired_over_exec(start: Start) -> None:
    pod = await start()
    await pod.install()
    await pod.deliver()
    await pod.end("rm -f /run/moorage/*")
    await _restarted(pod, 1)
    await pod.deliver()
    link, _ = await pod.link()
    assert link.hello.pod_uid == pod.uid
    await link.close()


async def test_nothing_secret_is_sent_to_another_pod(start: Start) -> None:
    pod = await start()
    await pod.install()
    with pytest.raises(IntegrityError, match="the exec ended up in Pod"):
        await pod.deliver(uid="00000000-0000-4000-8000-000000000000")
    assert "bootstrap" not in (await pod.sh("ls -A /run/moorage")).split()


async def test_a_user_without_rights_on_a_read_only_root_is_enough(start: Start) -> None:
    security = {
        "runAsUser": 12345,
        "runAsGroup": 12345,
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    pod = await start(main={"securityContext": security}, securityContext={"fsGroup": 12345})
    await pod.install()
    await pod.deliver()
    link, _ = await pod.link()
    process = await link.run(
        ProcessSpec(["sh", "-c", "id -u; echo hello > /workspace/file; cat /workspace/file"])
    )
    assert (await both(process))[1] == b"12345\nhello\n"
    await link.close()


async def test_a_volume_that_forbids_execution_has_an_error_of_its_own(start: Start) -> None:
    pod = await start(main={"securityContext": {"privileged": True}})
    await pod.sh("mount -o remount,bind,noexec /opt/moorage")
    with pytest.raises(MoorageError) as refusal:
        await pod.install()
    assert refusal.value.details["category"] == "noexec"


async def test_a_helper_for_another_machine_is_refused_before_the_upload(
    start: Start, helpers: dict[str, Path]
) -> None:
    pod = await start()
    pod.binary = helpers["arm64"].read_bytes()
    with pytest.raises(IntegrityError, match="built for arm64"):
        await pod.install()
    assert (await pod.sh("ls -A /opt/moorage")).split() == []


async def test_a_full_volume_leaves_nothing_half_written(start: Start) -> None:
    full = {"name": "moorage-workspace", "emptyDir": {"medium": "Memory", "sizeLimit": "4Mi"}}
    opt = {"name": "moorage-opt", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}}
    run = {"name": "moorage-run", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}
    pod = await start(volumes=[opt, run, full])
    await pod.install()
    await pod.deliver()
    link, _ = await pod.link()
    with pytest.raises(HelperError) as refusal:
        await link.materialize("/workspace", pieces(tar(("a", bytes(8 << 20)))), marker="m", limit=1 << 30)
    assert refusal.value.details["code"] == "no_space"
    with pytest.raises(HelperError):
        await link.put_tar("/workspace", pieces(tar(("a", bytes(8 << 20)))), limit=1 << 30)
    assert await link.list_files("/workspace") == []
    assert await link.materialize("/workspace", pieces(tar(("a", b"x"))), marker="m", limit=1 << 30)
    # The journal's own disk is full before its bound is reached: old bytes go, the agent never waits.
    await link.start_agent(ProcessSpec(["sh", "-c", "seq 1 2000000"]), base_offset=0, start_id="a")
    assert await link.wait_exit() == ExitStatus(code=0)
    expected = b"".join(b"%d\n" % number for number in range(1, 2_000_001))
    parts = [part async for part in link.output(0)]
    assert isinstance(parts[0], Gap)
    held = b"".join(part.data for part in parts if isinstance(part, Output))
    assert (await link.status()).end == len(expected)
    assert len(held) > 1 << 20
    assert expected.endswith(held)
    await link.close()


async def test_an_agent_killed_for_memory_says_so(start: Start) -> None:
    pod = await start(main={"resources": {"limits": {"memory": "64Mi"}}})
    await pod.install()
    await pod.deliver()
    link, _ = await pod.link()
    await link.start_agent(
        ProcessSpec(["sh", "-c", "exec tail -c 1000000000 /dev/zero"]), base_offset=0, start_id="a"
    )
    ended = await link.wait_exit()
    assert ended.signal == 9
    assert ended.oom
    await link.close()


async def test_the_container_ends_at_once_while_it_waits(start: Start) -> None:
    pod = await start()
    await pod.end()
    await _restarted(pod, 1)
    state = json.loads(await asyncio.to_thread(pod.kubectl, "get", "pod", "one", "-o", "json"))
    ended = state["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert ended["exitCode"] == 143
