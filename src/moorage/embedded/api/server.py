"""One request from its first byte to its last: who, what, may they, do it, say it.

Run by ``embedded.cluster`` on a listening socket. Routes by the table of kinds; decides nothing about
objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from moorage.core.kinds import Json
from moorage.embedded.api import audit, discovery, openapi, openapi_v2, watch_socket
from moorage.embedded.api.bodies import LIMIT, answer, asked_shape, encode, read_body, refused, too_large
from moorage.embedded.api.calls import Call, read_call
from moorage.embedded.api.pods import PodStreams, cut
from moorage.embedded.api.reads import Shape, read_list, read_one
from moorage.embedded.api.reviews import Reviews
from moorage.embedded.api.users import Authorizer, Tokens, refusal_text
from moorage.embedded.api.watches import BOOKMARK_EVERY, Watch
from moorage.embedded.api.writes import Mutate, Writes
from moorage.embedded.faults import Answer, Dropped, Faults, NoFaults
from moorage.embedded.objects import bind
from moorage.embedded.refusal import Refusal, bad_request, forbidden, unauthorized, unknown_path
from moorage.embedded.registry.kinds import Kind
from moorage.embedded.registry.registry import Registry
from moorage.embedded.registry.write import User, Write
from moorage.embedded.seam import Node

Audit = Callable[[Json], None]
_ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
_OPEN = frozenset({"/version", "/livez", "/readyz", "/healthz"})


class ApiServer:
    """The HTTP side of one cluster."""

    def __init__(
        self,
        registry: Registry,
        tokens: Tokens,
        authorizer: Authorizer,
        mutate: Mutate,
        nodes: Sequence[Node],
        now: Callable[[], float],
    ) -> None:
        self.faults: Faults = NoFaults()
        self.audit: Audit | None = None
        self.bookmark_every = BOOKMARK_EVERY
        self._registry, self._tokens, self._authorizer = registry, tokens, authorizer
        self._now = now
        self._writes = Writes(registry, mutate, lambda: self.faults)
        self._reviews = Reviews(registry, authorizer, tokens)
        self._pods = PodStreams(registry, nodes, now, lambda: self.faults)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The whole life of a request."""
        received = self._now()
        call = read_call(
            request.method,
            unquote(request.rel_url.raw_path),
            dict(request.query),
            self._user(request) or _ANONYMOUS,
            _text(request.headers.get("User-Agent", "")),
        )
        body = b""
        try:
            body = await _body(request)
            done = await self._answered(request, call, body)
            if isinstance(done, Answer):
                done = await self.faults.response(call, done)
        except Refusal as refusal:
            done = refused(refusal)
        except Dropped as fault:
            self._report(call, request, received, 0, body, None)
            cut(request, reset=fault.reset)
            raise asyncio.CancelledError from None
        status = done.status
        self._report(call, request, received, status, body, done if isinstance(done, Answer) else None)
        if isinstance(done, Answer):
            headers = {"Cache-Control": "no-cache, private", **done.headers}
            return web.Response(
                body=done.body, status=done.status, content_type=done.content_type, headers=headers
            )
        return done

    async def _answered(
        self, request: web.BaseRequest, call: Call, body: bytes
    ) -> Answer | web.StreamResponse:
        if call.user is _ANONYMOUS and call.path not in _OPEN:
            raise unauthorized()
        instead = await self.faults.request(call)
        if instead is not None:
            return instead
        if not call.resource:
            self._authorize(call, None)
            return self._about_server(request, call)
        kind = self._registry.kinds.find(call.group, call.version, call.resource)
        if kind is None:
            self._authorize(call, None)
            return self._no_such(call)
        self._authorize(call, kind)
        if call.verb == "watch":
            return await self._watch(request, kind, call)
        if call.subresource and call.subresource != "status":
            return await self._subresource(request, kind, call, body)
        if call.subresource == "status" and not kind.status:
            raise unknown_path()
        return await self._object(request, kind, call, body)

    async def _object(self, request: web.BaseRequest, kind: Kind, call: Call, body: bytes) -> Answer:
        content_type = request.content_type if "Content-Type" in request.headers else ""
        match call.verb:
            case "get":
                stale = self.faults.read_version(call)
                found = read_one(self._registry.store, kind, call, stale)
                return answer(self._shape(request).one(kind, found))
            case "list":
                stale = self.faults.read_version(call)
                shape = self._shape(request)
                return answer(read_list(self._registry.store, kind, call, shape, stale))
            case "create" if kind.reviews:
                return answer(self._reviews.review(kind, call, read_body(body, content_type)), 201)
            case "create" if not call.name:
                return await self._writes.create(kind, call, body, content_type)
            case "update" if call.name:
                return await self._writes.update(kind, call, body, content_type)
            case "patch" if call.name:
                return await self._writes.patch(kind, call, body, content_type)
            case "delete" if call.name and not call.subresource:
                return await self._writes.delete(kind, call, body, content_type)
            case "deletecollection":
                return await self._writes.delete_collection(kind, call, body, content_type)
        message = "the server does not allow this method on the requested resource"
        raise Refusal(405, "MethodNotAllowed", message, {})

    async def _subresource(
        self, request: web.BaseRequest, kind: Kind, call: Call, body: bytes
    ) -> Answer | web.StreamResponse:
        match (kind.name, call.subresource, call.verb):
            case ("Pod", "log", "get"):
                return await self._pods.log(request, kind, call)
            case ("Pod", "exec" | "attach" | "portforward" as stream, _):
                # Authorized for the request's own verb by now; an upgrade needs both, as since 1.35.
                for verb in ("get", "create"):
                    self._authorize(replace(call, verb=verb), kind)
                return await self._pods.stream(request, kind, call, stream)
            case ("Pod", "eviction", "create"):
                return await self._writes.evict(kind, call, body, request.content_type)
            case ("Pod", "binding", "create"):
                target = (read_body(body, request.content_type).get("target") or {}).get("name", "")
                write = Write(call.user, dry_run=call.dry_run)
                bind(self._registry, kind, (call.namespace, call.name), target, "", write)
                done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
                return answer({**done, "code": 201}, 201)
            case ("Namespace", "finalize", "update"):
                return await self._writes.finalize(kind, call, body, request.content_type)
            case ("ServiceAccount", "token", "create"):
                return answer(self._reviews.token(call, read_body(body or b"{}", request.content_type)), 201)
        raise unknown_path()

    async def _watch(self, request: web.BaseRequest, kind: Kind, call: Call) -> Answer | web.StreamResponse:
        if call.name:
            raise bad_request("a watch of one object is a watch with a field selector")
        watch = Watch(
            self._registry.store, kind, call, self._shape(request), bookmark_every=self.bookmark_every
        )
        if watch_socket.asked_for(request):
            return await watch_socket.serve(request, watch, partial(self.faults.watch_event, call))
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            async for event in watch.events():
                for sent in await self.faults.watch_event(call, event):
                    await response.write(encode(sent) + b"\n")
            await response.write_eof()
        except ConnectionError:
            pass  # the client has left
        return response

    def _about_server(self, request: web.BaseRequest, call: Call) -> Answer:
        parts = [part for part in call.path.split("/") if part]
        kinds = self._registry.kinds
        found: Json | None = None
        match parts:
            case ["version"]:
                found = discovery.version()
            case ["livez" | "readyz" | "healthz", *_]:
                return Answer(200, b"ok", "text/plain")
            case ["api"]:
                found = discovery.core_versions(request.host)
            case ["apis"]:
                found = discovery.groups(kinds)
            case ["api", version]:
                found = discovery.resources(kinds, "", version)
            case ["apis", group]:
                found = discovery.group(kinds, group)
            case ["apis", group, version]:
                found = discovery.resources(kinds, group, version)
            case ["openapi", "v2"]:
                if openapi_v2.ACCEPTED in request.headers.get("Accept", ""):
                    return Answer(200, openapi_v2.document(kinds), openapi_v2.CONTENT_TYPE)
                found = openapi.swagger(kinds)
            case ["openapi", "v3"]:
                found = openapi.index(kinds)
            case ["openapi", "v3", *rest]:
                found = openapi.document(kinds, "/".join(rest))
        if found is None:
            return Answer(404, b"404 page not found\n", "text/plain")
        return answer(found)

    def _no_such(self, call: Call) -> Answer:
        known = discovery.resources(self._registry.kinds, call.group, call.version)
        if known is None:
            return Answer(404, b"404 page not found\n", "text/plain")
        raise unknown_path()

    def _shape(self, request: web.BaseRequest) -> Shape:
        name = asked_shape(request.headers.get("Accept", ""))
        return Shape(name, self._now(), request.query.get("includeObject", "Metadata"))

    def _user(self, request: web.BaseRequest) -> User | None:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        user = self._tokens.user(token.strip()) if kind.lower() == "bearer" and token else None
        name = request.headers.get("Impersonate-User")
        if user is None or name is None:
            return user
        if "system:masters" not in user.groups:
            return None
        groups = map(_text, request.headers.getall("Impersonate-Group", ()))
        return User(_text(name), (*groups, "system:authenticated"))

    def _authorize(self, call: Call, kind: Kind | None) -> None:
        if self._authorizer.allowed(call):
            return
        if kind is None:
            raise Refusal(403, "Forbidden", f"forbidden: {refusal_text(call)}", {})
        raise forbidden(kind.resource, call.name, refusal_text(call))

    def _report(
        self,
        call: Call,
        request: web.BaseRequest,
        received: float,
        code: int,
        body: bytes,
        answered: Answer | None,
    ) -> None:
        if self.audit is None:
            return
        sent, said = _object_or_none(body), _object_or_none(answered.body) if answered else None
        uri = request.rel_url.raw_path_qs
        self.audit(audit.event(call, uri, received, code=code, request=sent, answered=said))


async def _body(request: web.BaseRequest) -> bytes:
    parts, size = [], 0
    async for part in request.content.iter_any():
        parts.append(part)
        size += len(part)
        if size > LIMIT:
            raise too_large()
    return b"".join(parts)


def _text(header: str) -> str:
    """A header's value with U+FFFD for bytes that are no UTF-8: it may be stored, and is answered as JSON."""
    return header.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _object_or_none(body: bytes) -> Any:
    try:
        return read_body(body, "application/json") if body.startswith(b"{") else None
    except Refusal:
        return None
