"""Bytes in bulk over the link, with SHA-256 in band. Used by ``engine.link.client`` only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from typing import Any

from moorage.core.errors import IntegrityError
from moorage.core.wire.mux import BYTES, MESSAGE
from moorage.engine.link import records
from moorage.engine.link.connection import LinkConnection
from moorage.ports.link import LeftOut


async def upload(
    connection: LinkConnection, request: dict[str, Any], chunks: AsyncIterator[bytes]
) -> dict[str, Any]:
    """Send a request and its bytes; stops reading ``chunks`` once agentctl has answered (it refuses early,
    and needs no bytes for a workspace that is filled already)."""
    stream = await connection.open(request)
    digest, count = hashlib.sha256(), 0
    try:
        async for chunk in chunks:
            if stream.answered:
                break
            digest.update(chunk)
            count += len(chunk)
            await stream.send(BYTES, chunk)
        receipt = {"sha256": digest.hexdigest(), "bytes": count}
        await stream.send(MESSAGE, json.dumps(receipt).encode())
        stream.end()
        return await stream.result()
    finally:
        stream.reset()


async def download(
    connection: LinkConnection, request: dict[str, Any], left_out: LeftOut | None = None
) -> AsyncIterator[bytes]:
    """Yield a request's bytes; IntegrityError at the end when they are not those that were sent. Then
    ``left_out`` is filled in."""
    stream = await connection.open(request, bulk=True)
    digest, count = hashlib.sha256(), 0
    try:
        while (part := await stream.receive()) is not None:
            digest.update(part[1])
            count += len(part[1])
            yield part[1]
        receipt = await stream.result()
    finally:
        stream.reset()
    if (receipt.get("sha256"), receipt.get("bytes")) != (digest.hexdigest(), count):
        raise IntegrityError("the bytes that arrived are not those that agentctl sent")
    if left_out is not None:
        told = records.left_out(receipt)
        left_out.count, left_out.names = told.count, told.names
