"""Opens a link: runs the hello over a byte stream. Called by ``engine.connection`` and by tests.

It never retries and never picks a transport; the caller's time limit is the only one.
"""

from __future__ import annotations

import secrets

from moorage.core.errors import LinkError
from moorage.core.wire.hello import ClientHello, refused
from moorage.core.wire.mux import ClientMux
from moorage.engine.link.client import AgentLink
from moorage.engine.link.connection import LinkConnection
from moorage.ports.link import HelloInfo
from moorage.ports.streams import ByteStream


async def open_link(stream: ByteStream, nonce: bytes, *, fence: int, expect_pod_uid: str) -> AgentLink:
    """Prove both ends under ``nonce`` and return the open link, which owns ``stream`` from then on.

    Raises LinkError when the stream breaks, the other side does not hold the nonce (``details['code']``
    is ``impostor`` or ``unproved``), speaks no common version (``version``) or is in another Pod than
    ``expect_pod_uid`` (``wrong_pod``). The stream is closed then.
    """
    try:
        connection, hello = await _hello(stream, nonce, fence)
        if hello.pod_uid != expect_pod_uid:
            raise refused("wrong_pod", f"the link leads to Pod {hello.pod_uid or 'unknown'}, not to ours")
    except BaseException:
        await stream.close()
        raise
    connection.start()
    return AgentLink(connection, hello)


async def _hello(stream: ByteStream, nonce: bytes, fence: int) -> tuple[LinkConnection, HelloInfo]:
    hello = ClientHello(nonce, secrets.token_bytes(32), fence=fence)
    while hello.ready is None:
        data = await stream.read()
        if not data:
            raise LinkError("the connection ended before agentctl proved itself")
        if answer := hello.receive(data):
            await stream.write(answer)
    ready, seal = hello.ready, hello.seal
    assert seal is not None
    info = HelloInfo(ready.pod_uid, ready.epoch, ready.version, ready.helper, ready.platform)
    return LinkConnection(stream, ClientMux(hello.decoder, seal)), info
