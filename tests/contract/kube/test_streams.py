"""Exec, port-forward and logs against a real kubelet: every byte, both protocol versions."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moorage import kube
from moorage.core.errors import ApiError, LinkError
from moorage.core.kinds import PODS
from moorage.core.wire.exec import SUBPROTOCOLS, V4
from moorage.kube.exec import PodExec, open_exec
from moorage.ports.streams import ByteStream, ExecResult

pytestmark = pytest.mark.node

Run = Callable[..., Awaitable[PodExec]]
BOTH = pytest.mark.parametrize("offered", [SUBPROTOCOLS, (V4,)], ids=["v5", "v4"])


@pytest.fixture
async def pod(running: Callable[..., Awaitable[str]]) -> str:
    return await running()


@pytest.fixture
def start(api: kube.KubeCluster, pod: str) -> Run:
    """``await start("sh text", offered)`` → a running command."""

    async def make(command: str, offered: tuple[str, ...] = SUBPROTOCOLS, **options: Any) -> PodExec:
        given = {"tty": False, "stdin": True, **options}
        argv = ["sh", "-c", command]
        return await open_exec(api._transport, api.namespace, pod, "main", argv, protocols=offered, **given)

    return make


async def finish(stream: PodExec) -> tuple[bytes, bytes, ExecResult]:
    """Everything from stdout and stderr, and how it ended."""
    parts: dict[int, list[bytes]] = {1: [], 2: []}
    while (chunk := await stream.read()) is not None:
        parts[chunk.channel].append(chunk.data)
    result = await stream.result()
    await stream.close()
    return b"".join(parts[1]), b"".join(parts[2]), result


@BOTH
async def test_20_mb_of_any_bytes_come_whole(start: Run, offered: tuple[str, ...]) -> None:
    stream = await start(
        "head -c 20000000 /dev/urandom > /tmp/f; sha256sum < /tmp/f >&2; cat /tmp/f", offered
    )
    out, err, result = await finish(stream)
    assert (len(out), result.exit_code) == (20_000_000, 0)
    assert err.split()[0].decode() == hashlib.sha256(out).hexdigest()


@BOTH
async def test_a_reader_that_comes_late_finds_everything(start: Run, offered: tuple[str, ...]) -> None:
    stream = await start("head -c 20000000 /dev/zero | tee /dev/stderr", offered)
    result = await stream.result()  # nothing was read yet: a slower client would have lost the tail
    out, err, _ = await finish(stream)
    assert (len(out), len(err), result.exit_code) == (20_000_000, 20_000_000, 0)


@BOTH
async def test_1_mib_of_input_arrives_whole(start: Run, offered: tuple[str, ...]) -> None:
    data = bytes(range(256)) * 4096
    # The shell keeps stdout open: when a command closes it, containerd stops delivering stdin.
    stream = await start(f"head -c {len(data)} > /tmp/f && sha256sum < /tmp/f", offered)
    await stream.write(data)
    out, _, result = await finish(stream)
    assert out.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert result.exit_code == 0


async def test_on_v5_closing_stdin_ends_a_reader(start: Run) -> None:
    stream = await start("cat; echo done")
    await stream.write(b"hello ")
    await stream.close_stdin()
    assert await finish(stream) == (b"hello done\n", b"", ExecResult(0))


async def test_without_stdin_a_reader_ends_at_once(start: Run) -> None:
    assert (await finish(await start("cat; echo done", stdin=False)))[0] == b"done\n"


@BOTH
@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("false", 1), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("nonexistent", 127)],
)
async def test_an_exit_code_is_the_commands(
    start: Run, command: str, code: int, offered: tuple[str, ...]
) -> None:
    _, _, result = await finish(await start(command, offered))
    assert result.exit_code == code


@BOTH
async def test_stdout_and_stderr_stay_apart(start: Run, offered: tuple[str, ...]) -> None:
    assert (await finish(await start("echo out; echo err >&2", offered)))[:2] == (b"out\n", b"err\n")


async def test_a_terminal_is_one_stream(start: Run) -> None:
    out, err, _ = await finish(await start("tty >/dev/null && echo yes; echo err >&2", tty=True))
    assert (out, err) == (b"yes\r\nerr\r\n", b"")


async def test_a_command_that_never_ran_has_no_exit_code(api: kube.KubeCluster, pod: str) -> None:
    stream = await api.exec(pod, "main", ["/no/such/program"])
    result = await stream.result()
    await stream.close()
    assert result.exit_code is None
    assert "no such file or directory" in result.message


async def test_a_container_that_is_not_there_is_named(
    api: kube.KubeCluster, pod: str, problem_of: Any
) -> None:
    problem = await problem_of(api.exec(pod, "other", ["true"]))
    assert (problem.http_status, problem.reason) == (400, "BadRequest")
    assert "container other is not valid" in problem.message


@pytest.mark.parametrize("verbs", [["get"], ["create"]])
@pytest.mark.parametrize("subresource", ["exec", "portforward"])
async def test_a_stream_needs_both_rights_and_says_so(
    connect: Any, pod: str, limited_user: Callable[..., Path], subresource: str, verbs: list[str]
) -> None:
    rules = [{"apiGroups": [""], "resources": [f"pods/{subresource}"], "verbs": verbs}]
    limited = connect(limited_user(rules))
    with pytest.raises(ApiError) as caught:
        await (limited.exec(pod, "main", ["true"]) if subresource == "exec" else limited.port_forward(pod, 1))
    problem = caught.value.problem
    assert (problem.http_status, problem.reason, problem.sent) == (403, "Forbidden", "no")
    assert f"get and create, on pods/{subresource}" in caught.value.hint


async def test_a_pod_that_goes_away_ends_its_commands_without_success(
    api: kube.KubeCluster, pod: str, start: Run
) -> None:
    stream = await start("echo ready; sleep 1000000")
    assert (await stream.read()) is not None
    uid = (await api.get(PODS, pod))["metadata"]["uid"]
    await api.delete(PODS, pod, uid=uid, grace_seconds=0)
    async with asyncio.timeout(60):
        result = await stream.result()
    await stream.close()
    assert result.exit_code != 0


async def test_110_commands_run_at_once_and_calls_still_get_through(
    api: kube.KubeCluster, start: Run
) -> None:
    streams = [await start("cat") for _ in range(110)]
    assert (await api.identity()).version
    for stream in streams:
        await stream.close_stdin()
    assert {(await finish(stream))[2].exit_code for stream in streams} == {0}


async def read_exactly(stream: ByteStream, length: int) -> bytes:
    parts: list[bytes] = []
    while sum(map(len, parts)) < length:
        part = await stream.read()
        assert part, "the stream ended early"
        parts.append(part)
    return b"".join(parts)


async def test_a_forwarded_port_echoes_every_byte(
    api: kube.KubeCluster, running: Callable[..., Awaitable[str]]
) -> None:
    name = await running("nc -ll -p 8765 -e cat", name="echo")
    data = bytes(range(256)) * 4096
    async with asyncio.timeout(60):
        stream = await connected(api, name)
        echoed, _ = await asyncio.gather(read_exactly(stream, len(data)), stream.write(data))
    assert echoed == data
    await stream.close()


async def connected(api: kube.KubeCluster, name: str) -> ByteStream:
    """The container runs a moment before its program listens: try until a byte comes back."""
    while True:
        stream = await api.port_forward(name, 8765)
        try:
            await stream.write(b"?")
            assert await stream.read() == b"?"
            return stream
        except LinkError:
            await stream.close()


async def test_the_pods_side_ends_a_forward(
    api: kube.KubeCluster, running: Callable[..., Awaitable[str]]
) -> None:
    name = await running("nc -ll -p 8765 -e head -c 1", name="once")
    async with asyncio.timeout(60):
        stream = await connected(api, name)
        assert await stream.read() == b""
    await stream.close()


async def test_a_port_nobody_listens_on_is_an_error(api: kube.KubeCluster, pod: str) -> None:
    stream = await api.port_forward(pod, 1)
    with pytest.raises(LinkError, match=r"port 1 in the Pod: .*connection refused"):
        await stream.read()
    await stream.close()


async def test_logs_are_followed_to_their_end_and_limited_where_asked(
    api: kube.KubeCluster, running: Callable[..., Awaitable[str]]
) -> None:
    name = await running(
        "for i in 1 2 3; do echo line $i; done; read x < /dev/null; sleep 1000000", name="logs"
    )
    seen = b""
    async with asyncio.timeout(60):
        async for chunk in api.logs(name, "main", follow=True):
            seen += chunk
            if seen.count(b"\n") == 3:
                break
    assert seen == b"line 1\nline 2\nline 3\n"
    assert b"".join([chunk async for chunk in api.logs(name, "main", tail_lines=1)]) == b"line 3\n"
    assert b"".join([chunk async for chunk in api.logs(name, "main", limit_bytes=4)]) == b"line"
