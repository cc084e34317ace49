"""A Pod that means harm to the link: guesses, nonsense, redirects. The session beside it goes on, and the
process that drives both stays small. Other harm is in test_hostile_pods.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from moorage.core.errors import LinkError
from moorage.ports.link import ProcessSpec

from .commands import Moorage
from .conftest import Template
from .hostile import AT_A_SIGN, EVIL, Scene, eventually, frame, shell_bytes

pytestmark = pytest.mark.node
BANNER, HELLO, PROOF, READY, REFUSED = range(1, 6)
GUESS = frame(HELLO, b'{"min":1,"max":1,"random":"%s","fence":99}' % (b"ab" * 32)) + frame(PROOF, bytes(32))
HELPER = "/opt/moorage/agentctl"
REDIRECT = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{}/\r\nContent-Length: 0\r\n\r\n"


def kinds(answer: bytes) -> list[int]:
    """The types of the frames of a hello."""
    found = []
    while answer:
        found.append(answer[0])
        answer = answer[9 + int.from_bytes(answer[5:9]) :]
    return found


async def test_a_pod_that_guesses_the_nonce(scene: Scene, template: Template) -> None:
    guess = f"({shell_bytes(GUESS)}; sleep 1) | nc 127.0.0.1 8765 | base64 | tr -d '\\n'"
    crowd = "for i in $(seq 40); do sleep 30 | nc 127.0.0.1 8765 >/dev/null & done"
    evil = await scene.both(
        template,
        f"{AT_A_SIGN} {crowd}; while :; do for i in 1 2 3; do echo answer $( {guess} ) & done; wait; done",
    )
    async with scene.unharmed():
        await scene.go()

        async def guessed() -> bool:
            return evil.out.count(b"answer A") >= 6

        await eventually("six guesses", guessed, evil)
        assert await scene.run(EVIL, "echo", "still ours") == b"still ours\n"
        answers = [line.split()[1] for line in evil.out.splitlines() if line.startswith(b"answer A")]
        told = {tuple(kinds(base64.b64decode(answer))) for answer in answers}
        assert told <= {(BANNER, REFUSED), (BANNER,)}
        assert (BANNER, REFUSED) in told


NONSENSE = {
    "zeros": b"",
    "a frame of 4 GiB": frame(BANNER, b"{", length=0xFFFFFFFF),
    "a type that there is not": frame(200, b"{}"),
    "a stream in the hello": frame(BANNER, b"{}", stream=7),
    "a banner that is no JSON": frame(BANNER, b"\xff\xfe" * 100),
    "a banner of the deepest nesting": frame(BANNER, b"[" * 1000),
    "a proof before a banner": frame(PROOF, bytes(32)),
    "ready, at once": frame(READY, b'{"pod_uid":"x"}'),
}


async def poison(scene: Scene, program: str) -> None:
    """Put a program in the place of the evil Pod's agentctl: it answers whatever is asked over exec then."""
    text = base64.b64encode(f"#!/bin/sh\n{program}\n".encode()).decode()
    await scene.inside(
        EVIL, f"echo {text} | base64 -d > {HELPER}.x; chmod 755 {HELPER}.x; mv {HELPER}.x {HELPER}"
    )


async def test_a_pod_that_sends_malformed_frames(scene: Scene, template: Template) -> None:
    await scene.both(template, "sleep 100000", transport="exec")
    cases = " ".join(f"{at}) {shell_bytes(sent)};;" for at, sent in enumerate(NONSENSE.values()))
    count = "n=$(cat /workspace/n 2>/dev/null || echo 0); echo $((n + 1)) > /workspace/n"
    await poison(scene, f"{count}; case $n in {cases} esac; exec cat /dev/zero")
    async with scene.unharmed():
        for name in NONSENSE:
            with pytest.raises(LinkError):
                await scene.verbs.exec(EVIL, ProcessSpec(("true",)))
            if name == "zeros":
                await scene.good_does_its_work()
        assert await scene.inside(EVIL, "cat /workspace/n") == f"{len(NONSENSE)}\n"


@pytest.fixture
def trap() -> Iterator[tuple[int, list[str]]]:
    """A port of this machine to which a redirect leads, and who came."""
    visitors: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def listen() -> None:
        while True:
            try:
                visitor, address = listener.accept()
            except OSError:
                return
            visitors.append(str(address))
            visitor.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    with closing(listener):
        yield listener.getsockname()[1], visitors
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


async def test_a_pod_that_answers_with_redirects(
    scene: Scene, template: Template, moorage: Moorage, trap: tuple[int, list[str]]
) -> None:
    port, visitors = trap
    say = shell_bytes(REDIRECT.format(port).encode())
    sidecar = {
        "name": "impostor",
        "image": "localhost/busybox:test",
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", f"while :; do {say} | nc -l -p 8765 >/dev/null; done"],
        "restartPolicy": "Always",
        "startupProbe": {
            "exec": {"command": ["grep", "-q", ":223D ", "/proc/net/tcp", "/proc/net/tcp6"]},
            "periodSeconds": 1,
        },
    }
    web = f"while :; do {say} | nc -l -p 8080 >/dev/null; done"
    await scene.both(template, web, spec={"initContainers": [sidecar]})  # the port is taken: it goes by exec
    async with scene.unharmed():
        stream = await scene.verbs.dial(EVIL, 8080)
        assert (await stream.read()).startswith(b"HTTP/1.1 302 Found\r\n")  # passed on, and nothing else
        await stream.close()
        await poison(scene, f"{say}; exec sleep 100000")
        anew = moorage.start("exec", EVIL, "--", "true")
        await scene.good_does_its_work()
        done = await asyncio.to_thread(anew.end)
        assert (done.code != 0, "error" in done.err) == (True, True), done
    assert visitors == []
