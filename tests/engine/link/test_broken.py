"""A link that breaks: whoever waits on it is told so, and what to do."""

from __future__ import annotations

import pytest

from moorage.core.errors import LinkError
from moorage.core.wire.frames import FrameDecoder, Seal
from moorage.core.wire.mux import ClientMux
from moorage.engine.link.connection import LinkConnection


class Ends:
    """A byte stream that was cut."""

    async def read(self) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        raise LinkError("the connection was cut")

    async def close(self) -> None:
        """There is nothing left to close."""


async def test_who_waits_on_a_link_that_breaks_is_told_what_to_do() -> None:
    connection = LinkConnection(Ends(), ClientMux(FrameDecoder(seal=Seal(b"server")), Seal(b"client")))
    stream = await connection.open({"op": "status"})
    connection.start()
    with pytest.raises(LinkError) as waiting:
        await stream.result()
    with pytest.raises(LinkError) as later:
        await connection.open({"op": "status"})
    assert waiting.value.hint == later.value.hint
    assert "run the command again" in later.value.hint
    await connection.close()
