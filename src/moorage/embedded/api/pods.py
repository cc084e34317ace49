"""Subresources of Pods that go to the node: log, exec, attach, portforward.

Called by ``api.server``. Checks what a kube-apiserver checks, asks the node, and carries the bytes.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from aiohttp import web

from moorage.core.kinds import Json
from moorage.embedded.api.calls import Call, is_true
from moorage.embedded.api.streams import (
    V4,
    V5,
    Channels,
    asked_ports,
    container_of,
    forward,
    log_options,
    offered,
    refused_by_node,
    run_command,
    say_ended,
)
from moorage.embedded.faults import Answer, Dropped, Faults, HungUp
from moorage.embedded.refusal import Refusal, bad_request, internal
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.registry import Registry
from moorage.embedded.seam import CommandNotStarted, ExecExit, Node, NodeError


class PodStreams:
    """The streams of one cluster's Pods."""

    def __init__(
        self,
        registry: Registry,
        nodes: Sequence[Node],
        now: Callable[[], float],
        faults: Callable[[], Faults],
    ) -> None:
        self._registry, self._nodes, self._now, self._faults = registry, nodes, now, faults

    def _node_of(self, pod: Json) -> Node:
        name = pod["spec"].get("nodeName")
        found = next((node for node in self._nodes if node.name == name), None)
        if not name:
            raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
        if found is None:  # a node with nothing behind it, as one whose kubelet has gone
            raise internal(f"error dialing backend: node {name} does not answer")
        return found

    async def log(self, request: web.BaseRequest, kind: Kind, call: Call) -> Answer | web.StreamResponse:
        """A container's output as text. Of a Pod without a node there is none: 204."""
        pod = self._registry.get(kind, call.namespace, call.name)
        container = container_of(pod, call.query.get("container", ""))
        options = log_options(request.query, self._now())
        if not pod["spec"].get("nodeName"):
            return Answer(204, b"", "text/plain")
        lines = self._node_of(pod).logs(pod, container, options)
        try:
            first = await anext(lines, b"")
        except NodeError as error:
            raise refused_by_node(error) from None
        response = web.StreamResponse(headers={"Content-Type": "text/plain"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            await response.write(first)
            async for chunk in lines:
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has left
        return response

    async def stream(
        self, request: web.BaseRequest, kind: Kind, call: Call, stream: str
    ) -> Answer | web.StreamResponse:
        """exec, attach or portforward over a WebSocket."""
        pod = self._registry.get(kind, call.namespace, call.name)
        node = self._node_of(pod)
        try:
            protocols, faults = await self._faults().stream(call, offered(request))
        except HungUp as fault:
            return await _hung_up(request, fault)
        if stream == "portforward":
            ports = asked_ports(request.query)
            if protocols and V4 not in protocols:
                raise Refusal(
                    403, "Forbidden", f"unable to upgrade: no protocol of {', '.join(protocols)}", {}
                )
            channels, ws = await Channels.open(request, V4 if protocols else "", faults)
            await _carried(request, channels, forward(channels, node, pod, ports))
            return ws
        container = container_of(pod, call.query.get("container", ""))
        chosen = V5 if V5 in protocols else V4 if V4 in protocols else ""
        if not chosen:
            raise Refusal(403, "Forbidden", f"unable to upgrade: no protocol of {', '.join(protocols)}", {})
        tty, stdin = is_true(call.query, "tty"), is_true(call.query, "stdin")
        try:
            if stream == "attach":
                session = await node.attach(pod, container, tty=tty, stdin=stdin)
            else:
                command = request.query.getall("command", [])
                if not command:
                    raise bad_request("you must specify at least 1 command for the container")
                session = await node.exec(pod, container, command, tty=tty, stdin=stdin)
        except CommandNotStarted as error:
            channels, ws = await Channels.open(request, chosen, faults)
            await _carried(request, channels, say_ended(channels, ExecExit(None, error.message)))
            return ws
        except NodeError as error:
            raise refused_by_node(error) from None
        try:
            channels, ws = await Channels.open(request, chosen, faults)
        except BaseException:  # the client has left: nobody will carry its streams
            await session.close()
            raise
        carrying = run_command(channels, session, half_close=chosen == V5, attached=stream == "attach")
        await _carried(request, channels, carrying)
        return ws


async def _carried(request: web.BaseRequest, channels: Channels, carrying: Coroutine[Any, Any, None]) -> None:
    """Carry a stream to its end; a fault's ``Dropped`` cuts its connection."""
    try:
        await channels.carry(carrying)
    except Dropped as fault:
        cut(request, reset=fault.reset)


async def _hung_up(request: web.BaseRequest, fault: HungUp) -> web.StreamResponse:
    """Upgraded, and closed at once."""
    ws = web.WebSocketResponse(protocols=offered(request), compress=False, timeout=5)
    await ws.prepare(request)
    await ws.close(code=fault.code)
    return ws


def cut(request: web.BaseRequest, *, reset: bool) -> None:
    """End a connection here and now."""
    if request.transport is None:
        return
    sock = request.transport.get_extra_info("socket")
    if reset and sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    request.transport.abort()
