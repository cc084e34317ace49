"""The current way in: credentials kept fresh while the process runs, without a restart.

Called by ``kube.transport`` before every request and after every 401. Starts no task: files are looked
at when a request needs them. At most one renewal runs at a time; all others wait for its result.

Rules (client-go's, and our design's): a token file is read again every minute and on a 401; a plugin runs
again when its credential is about to expire, and once on a 401, never on a 403; a changed kubeconfig,
authority, certificate or key is taken up at the next check; a file caught half-written leaves the last
good credentials in place. A kubeconfig that now names another server is refused.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from multidict import CIMultiDict

from moorage.core.errors import ApiError, MoorageError
from moorage.kube import exec_plugin, proxy, tls
from moorage.kube.answers import not_sent
from moorage.kube.exec_plugin import PluginCredential
from moorage.kube.target import Environment, FromFile, Material, Target

FILE_CHECK = 10.0
"""Seconds between looks at the files' modification times."""
TOKEN_FILE_AGE = 60.0
"""Seconds after which a token file is read again."""
EXPIRY_SKEW = 60.0
"""Seconds before its expiry at which a plugin's credential is replaced."""


@dataclass(frozen=True, eq=False)
class Endpoint:
    """Everything one request needs. Compared by identity: a renewed one is another object."""

    server: str
    ssl: ssl.SSLContext | bool
    headers: CIMultiDict[str] = field(repr=False)
    proxy: str | None = field(repr=False)
    server_name: str | None
    ca_sha256: str


class Access:
    """Credentials of one target. ``reload`` reads the configuration anew."""

    def __init__(
        self,
        target: Target,
        reload: Callable[[], Target],
        environ: Environment,
        user_agent: str,
        *,
        terminal: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._target = target
        self._reload = reload
        self._environ = environ
        self._user_agent = user_agent
        self._terminal = terminal
        self._monotonic = monotonic
        self._wall = wall
        self._lock = asyncio.Lock()
        self._endpoint: Endpoint | None = None
        self._stamps = _stamps(target.watched())
        self._checked = monotonic()
        self._token = target.login.token
        self._token_read: float | None = None
        self._credential: PluginCredential | None = None

    @property
    def server(self) -> str:
        return self._target.server

    async def current(self) -> Endpoint:
        """The endpoint to use now. Raises ApiError (``sent`` no) when there are no usable credentials."""
        if self._endpoint is not None and not self._due():
            return self._endpoint
        async with self._lock:
            if self._endpoint is None or self._due():
                await self._update(forced=False)
            assert self._endpoint is not None
            return self._endpoint

    async def renewed(self, refused: Endpoint) -> Endpoint:
        """After a 401 with ``refused``: another endpoint, or ``refused`` itself when nothing is newer."""
        async with self._lock:
            if self._endpoint is refused:
                await self._update(forced=True)
            assert self._endpoint is not None
            return self._endpoint

    def _due(self) -> bool:
        now = self._monotonic()
        return now - self._checked >= FILE_CHECK or self._token_due(now) or self._plugin_due()

    def _token_due(self, now: float) -> bool:
        if self._target.login.token_file is None:
            return False
        return self._token_read is None or now - self._token_read >= TOKEN_FILE_AGE

    def _plugin_due(self) -> bool:
        if self._target.login.plugin is None:
            return False
        known = self._credential
        return known is None or (known.expires is not None and self._wall() >= known.expires - EXPIRY_SKEW)

    async def _update(self, *, forced: bool) -> None:
        before = self._target, self._token, self._credential, self._stamps
        now = self._monotonic()
        if forced or now - self._checked >= FILE_CHECK:
            self._look_at_files(now)
        if forced or self._token_due(now):
            self._read_token(now)
        if self._target.login.plugin is not None and (forced or self._plugin_due()):
            authority = _bytes(self._target.trust.authority)
            self._credential = await exec_plugin.run(
                self._target, authority, self._environ, terminal=self._terminal
            )
        if self._endpoint is None or before != (self._target, self._token, self._credential, self._stamps):
            self._rebuild(before[3])

    def _look_at_files(self, now: float) -> None:
        self._checked = now
        stamps = _stamps(self._target.watched())
        if stamps == self._stamps:
            return
        try:
            target = self._reload()
        except MoorageError as error:
            if self._endpoint is None:
                raise not_sent("Configuration", error.message, error.hint) from error
            return  # half-written or broken: keep what works, look again later
        if target.server != self._target.server:
            self._checked = now - FILE_CHECK  # look again at every call: until then nothing is sent
            raise not_sent(
                "ServerChanged",
                f"the kubeconfig now names another API server ({target.server}, was {self._target.server})",
                "restart with the context you mean; nothing is sent to a server that was not chosen",
            )
        if target.login.plugin != self._target.login.plugin:
            self._credential = None
        if target.login.token_file is None:
            self._token = target.login.token
        self._target, self._stamps = target, _stamps(target.watched())

    def _read_token(self, now: float) -> None:
        path = self._target.login.token_file
        if path is None:
            return
        try:
            token = path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._token:
                return  # the last one read stays good, as in client-go
            raise not_sent(
                "Configuration", f"the token file {path} cannot be read", "check the path"
            ) from error
        if token:
            self._token, self._token_read = token, now

    def _rebuild(self, stamps_before: dict[Path, object]) -> None:
        """Make a new endpoint; on unusable certificates keep the old one and look again later."""
        try:
            self._endpoint = self._build()
        except ApiError:
            if self._endpoint is None:
                raise
            self._stamps = stamps_before

    def _build(self) -> Endpoint:
        target, login, given = self._target, self._target.login, self._credential
        authority = _bytes(target.trust.authority)
        certificate = _bytes(login.certificate or (given.certificate if given else None))
        key = _bytes(login.key or (given.key if given else None))
        try:
            context = tls.context(authority, certificate, key, insecure=target.trust.insecure)
            ca_sha256 = tls.fingerprint(authority)
        except (tls.TlsFault, ValueError) as error:
            part = error.part if isinstance(error, tls.TlsFault) else "certificate-authority"
            raise not_sent(
                "Configuration", f"{part}: {error}", "check the files the kubeconfig names"
            ) from error
        token = self._token or (given.token if given else "")
        headers = CIMultiDict({"User-Agent": self._user_agent})
        headers.extend(login.impersonate)
        if token:
            if not token.isascii() or not token.isprintable():
                raise not_sent("Configuration", "the token contains characters a header cannot carry")
            headers["Authorization"] = f"Bearer {token}"
        chosen = target.proxy_url or proxy.from_environment(target.server, self._environ)
        return Endpoint(
            server=target.server,
            ssl=context if target.server.startswith("https:") else True,
            headers=headers,
            proxy=chosen or None,
            server_name=target.trust.server_name or None,
            ca_sha256=ca_sha256,
        )


def _stamps(paths: tuple[Path, ...]) -> dict[Path, object]:
    """Modification time, size and inode of each file: what a rotation changes."""
    found: dict[Path, object] = {}
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            found[path] = None
        else:
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found


def _bytes(material: Material | None) -> bytes | None:
    if material is None:
        return None
    if not isinstance(material, FromFile):
        return material.data
    try:
        return material.path.read_bytes()
    except OSError as error:
        raise not_sent(
            "Configuration", f"{material.path} cannot be read: {error.strerror}", "check the path"
        ) from error
