"""Logs, commands, attachments and connections into Pods, in both modes."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from moorage.embedded.seam import LogOptions, NodeError

from .conftest import PATIENCE, World, container, state, status_of

LINES = "!for n in 1 2 3 4 5; do echo line $n; done; echo oops >&2; printf cut; exit 0"


async def test_logs_as_asked_for(world: World) -> None:
    await world.start(wait="terminated", restartPolicy="Never", containers=[container(LINES)])
    whole = await world.logs()
    assert sorted(whole.splitlines()) == sorted([*(b"line %d" % n for n in range(1, 6)), b"oops", b"cut"])
    assert await world.logs(tail_lines=0) == b""
    assert len((await world.logs(tail_lines=2)).splitlines()) == 2
    assert await world.logs(limit_bytes=8) == whole[:8]
    assert await world.logs(since_seconds=3600) == whole
    assert await world.logs(follow=True) == whole
    first = (await world.logs(timestamps=True)).splitlines()[0].split(b" ", 1)
    assert first[0].startswith(b"20")
    assert first[0].endswith(b"Z")
    assert first[1] == whole.splitlines()[0]


async def test_a_long_line_is_not_cut(world: World) -> None:
    script = "!head -c 100000 /dev/zero | tr '\\0' x; echo; echo end; exit 0"
    await world.start(wait="terminated", restartPolicy="Never", containers=[container(script)])
    assert await world.logs() == b"x" * 100000 + b"\nend\n"
    assert await world.logs(tail_lines=2) == b"x" * 100000 + b"\nend\n"


async def test_the_log_before_the_restart_is_kept(world: World) -> None:
    main = container("!echo run; exit 1")
    await world.start(wait="waiting", containers=[main])
    await world.until("p", lambda pod: status_of(pod).get("restartCount", 0) >= 1)
    assert await world.logs(previous=True) == b"run\n"


async def test_who_follows_gets_each_line_as_it_is_written_and_an_end(world: World) -> None:
    script = "!echo ready; mkfifo /workspace/f; while :; do read l < /workspace/f && echo got $l; done"
    await world.start(
        volumes=[{"name": "w", "emptyDir": {}}],
        restartPolicy="Never",
        containers=[container(script, mounts={"w": "/workspace"})],
    )
    parts = world.node.logs(world.pod(), "main", LogOptions(follow=True))
    async with asyncio.timeout(PATIENCE):
        assert await anext(parts) == b"ready\n"
        for word in ("one", "two"):
            await world.sh(f"until [ -p /workspace/f ]; do :; done; echo {word} > /workspace/f")
            assert await anext(parts) == f"got {word}\n".encode()
        await world.node.out_of_memory(world.pod(), "main")
        assert [part async for part in parts] == []


async def test_logs_that_are_not_there(world: World) -> None:
    await world.start(containers=[container()])
    with pytest.raises(NodeError, match='previous terminated container "main" in pod "p" not found'):
        await world.logs(previous=True)
    await world.start("q", wait="waiting", containers=[container(image="localhost/absent:1")])
    with pytest.raises(NodeError, match='container "main" in pod "q" is waiting to start: '):
        await world.logs("q")


async def test_a_command_has_its_streams_and_its_exit_code(world: World) -> None:
    await world.start(containers=[container(env=[{"name": "WORD", "value": "from the container"}])])
    end, out, err = await world.run(["sh", "-c", "cat; echo $WORD >&2; exit 7"], stdin=b"through")
    assert (end.code, out, err) == (7, b"through", b"from the container\n")
    assert (await world.run(["sh", "-c", "kill -TERM $$"]))[0].code == 143
    assert (await world.run(["cat"], stdin=b""))[0].code == 0


async def test_many_bytes_go_both_ways_unchanged(world: World) -> None:
    await world.start(containers=[container()])
    data = b"0123456789abcdef" * 500_000
    end, out, _ = await world.run(["sh", "-c", "tee /dev/stderr 2>/dev/null | cat"], stdin=data)
    assert end.code == 0
    assert hashlib.sha256(out).hexdigest() == hashlib.sha256(data).hexdigest()


async def test_a_command_on_a_terminal(world: World) -> None:
    await world.start(containers=[container()])
    script = "tty; read word; stty size; echo got $word"
    session = await world.node.exec(world.pod(), "main", ["sh", "-c", script], tty=True, stdin=True)
    said = b""
    async with asyncio.timeout(PATIENCE):
        await session.resize(123, 45)
        await session.write(b"typed\n")
        while (output := await session.read()) is not None:
            assert output[0] == 1
            said += output[1]
        assert (await session.wait()).code == 0
        await session.close()
    assert b"/dev/pts/" in said
    assert b"45 123" in said
    assert b"got typed" in said


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["nosuchprogram"], 'exec: "nosuchprogram": executable file not found in \\$PATH'),
        (["/no/such"], "stat /no/such: no such file or directory"),
        (["/etc/passwd"], "permission denied"),
        (["/etc"], "is a directory"),
    ],
)
async def test_a_command_that_cannot_run_says_why(world: World, command: list[str], words: str) -> None:
    await world.start(containers=[container()])
    with pytest.raises(NodeError, match=words):
        await world.run(command)


async def test_a_program_that_only_the_kernel_refuses_ends_as_runc_has_it(world: World) -> None:
    await world.start(containers=[container()])
    made = await world.sh("file=$(mktemp); printf abcd > $file; chmod 755 $file; echo $file")
    end, out, err = await world.run([made])
    assert (end.code, out, err) == (255, b"", f"exec {made}: exec format error\n".encode())


async def test_no_command_runs_where_no_container_does(world: World) -> None:
    await world.start(wait="terminated", restartPolicy="Never", containers=[container("!exit 0")])
    with pytest.raises(NodeError, match="container not found"):
        await world.run(["true"])


async def test_a_command_ends_with_its_container(world: World) -> None:
    await world.start(restartPolicy="Never", containers=[container()])
    session = await world.node.exec(
        world.pod(), "main", ["sh", "-c", "echo on; exec sleep 3600"], tty=False, stdin=False
    )
    async with asyncio.timeout(PATIENCE):
        assert await session.read() == (1, b"on\n")
        await world.node.out_of_memory(world.pod(), "main")
        assert await session.read() is None
        assert (await session.wait()).code in (137, 143)
        await session.close()


async def test_attached_streams_are_the_containers_own(world: World) -> None:
    await world.start(
        restartPolicy="Never",
        containers=[container("!while read l; do echo got $l; done; exit 5", stdin=True)],
    )
    session = await world.node.attach(world.pod(), "main", tty=False, stdin=True)
    async with asyncio.timeout(PATIENCE):
        await session.write(b"a word\n")
        assert await session.read() == (1, b"got a word\n")
    await session.close()
    assert "running" in state(world.pod())


async def test_stdin_once_ends_with_the_first_that_wrote_to_it(world: World) -> None:
    await world.start(
        restartPolicy="Never",
        containers=[container("!cat; exit 5", stdin=True, stdinOnce=True)],
    )
    watching = await world.node.attach(world.pod(), "main", tty=False, stdin=False)
    await watching.close()
    async with asyncio.timeout(PATIENCE):
        session = await world.node.attach(world.pod(), "main", tty=False, stdin=True)
        await session.write(b"a word\n")
        await session.close_stdin()
        assert await session.read() == (1, b"a word\n")
        assert await session.read() is None
        assert (await session.wait()).code == 5
    await session.close()


async def test_a_port_of_the_pod_is_one_of_this_machine(world: World) -> None:
    await world.start(containers=[container()])

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, "127.0.0.1", 0) as server, asyncio.timeout(PATIENCE):
        stream = await world.node.dial(world.pod(), server.sockets[0].getsockname()[1])
        await stream.write(b"hello\n")
        assert await stream.read() == b"hello\n"
        await stream.close()


async def test_a_port_nobody_listens_on_is_an_error(world: World) -> None:
    mounts = {"r": "/run/moorage"}
    await world.start(volumes=[{"name": "r", "emptyDir": {}}], containers=[container(mounts=mounts)])
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        await world.node.dial(world.pod(), 8765)
