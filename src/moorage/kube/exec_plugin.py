"""Running a credential plugin (``client.authentication.k8s.io`` v1 and v1beta1).

Called by ``kube.access``, one run at a time. Never shows what the plugin printed on stdout; what it
printed on stderr is shown shortened, with everything that could be a token blanked.
"""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from moorage.core.cleaning import clean
from moorage.core.errors import ApiError
from moorage.core.redaction import Redactor
from moorage.kube.answers import not_sent
from moorage.kube.bounded_process import run_bounded
from moorage.kube.target import Environment, ExecPlugin, Inline, Target

TIMEOUT = 60.0
"""Seconds for a run without a terminal."""
INTERACTIVE_TIMEOUT = 600.0
"""Seconds for a run in which a person may have to log in."""
MAX_OUTPUT = 1024 * 1024
"""Bytes of stdout; a plugin that prints more is ended."""
_SHOWN = 300
"""Characters of stderr that are shown."""
_TOKEN_LIKE = re.compile(r"[A-Za-z0-9+/_.=~-]{20,}")
_NAMED_SECRET = re.compile(
    r"(?i)(?P<name>\b(?:token|secret|passw(?:or)?d|passphrase|key|code|otp|pin)s?\b(?:\s+(?:is|was))?)\s+(?=\S*\d)\S+"
)
"""A word with a digit after one that announces a secret: "token abc123"."""


@dataclass(frozen=True)
class PluginCredential:
    """What a plugin gave: a token, a certificate with key, or both."""

    token: str = field(default="", repr=False)
    certificate: Inline | None = None
    key: Inline | None = None
    expires: float | None = None
    """Seconds since the epoch; None: good for as long as the server takes it."""


async def run(
    target: Target, authority: bytes | None, environ: Environment, *, terminal: bool
) -> PluginCredential:
    """Run the plugin of ``target`` once. ``terminal``: it may use ours to talk to a person.

    Raises ApiError (``sent`` no) when it is missing, fails, takes too long or answers nonsense.
    """
    plugin = target.login.plugin
    assert plugin is not None
    if plugin.interactive_mode == "Always" and not terminal:
        raise not_sent(
            "CredentialPlugin",
            f"the credential plugin {_name(plugin)} needs a terminal (interactiveMode: Always)",
            "log in with it once by hand, or run this command in a terminal",
        )
    interactive = terminal and plugin.interactive_mode != "Never"
    info = exec_info(target, authority, interactive=interactive)
    env = {**environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": info}
    output = await _output(plugin, env, interactive)
    return read_credential(plugin, output)


def exec_info(target: Target, authority: bytes | None, *, interactive: bool) -> str:
    """The ``KUBERNETES_EXEC_INFO`` document."""
    plugin = target.login.plugin
    assert plugin is not None
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        cluster: dict[str, Any] = {"server": target.server, "config": plugin.cluster_config}
        if target.trust.server_name:
            cluster["tls-server-name"] = target.trust.server_name
        if target.trust.insecure:
            cluster["insecure-skip-tls-verify"] = True
        if authority is not None:
            cluster["certificate-authority-data"] = authority  # msgspec writes bytes as base64
        if target.proxy_url:
            cluster["proxy-url"] = target.proxy_url
        spec["cluster"] = cluster
    document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(document).decode()


def read_credential(plugin: ExecPlugin, output: bytes) -> PluginCredential:
    """Read an ``ExecCredential``. Raises ApiError naming the field at fault, never its value."""
    try:
        document = msgspec.json.decode(output, type=dict[str, Any])
    except (ValueError, RecursionError):
        raise _fault(plugin, "printed no JSON object on stdout") from None
    if document.get("kind") != "ExecCredential":
        raise _fault(plugin, "printed an object whose kind is not ExecCredential")
    if document.get("apiVersion") != plugin.api_version:
        raise _fault(plugin, f"answered in another apiVersion than the {plugin.api_version} it was asked in")
    status = document.get("status")
    if not isinstance(status, dict):
        raise _fault(plugin, "printed no status")
    token, certificate, key = (
        _text(plugin, status, name) for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if bool(certificate) != bool(key):
        raise _fault(plugin, "gave only one of clientCertificateData and clientKeyData")
    if not token and not certificate:
        raise _fault(plugin, "gave neither a token nor a client certificate")
    return PluginCredential(
        token=token.strip(),
        certificate=Inline(certificate.encode()) if certificate else None,
        key=Inline(key.encode()) if key else None,
        expires=_expiry(plugin, _text(plugin, status, "expirationTimestamp")),
    )


async def _output(plugin: ExecPlugin, env: dict[str, str], interactive: bool) -> bytes:
    limit = INTERACTIVE_TIMEOUT if interactive else TIMEOUT
    words = [plugin.command, *plugin.args]
    try:
        printed = await run_bounded(words, env, interactive=interactive, seconds=limit, most=MAX_OUTPUT)
    except OSError as error:
        why = "is not installed" if isinstance(error, FileNotFoundError) else f"cannot run: {error.strerror}"
        hint = plugin.install_hint or "install it, or correct users[].user.exec.command"
        raise _fault(plugin, why, hint) from None
    if printed.too_much:
        raise _fault(plugin, "printed far too much on stdout")
    if printed.exit_code is None:
        raise _fault(plugin, f"did not finish within {limit:.0f} seconds")
    if printed.exit_code != 0:
        said = blank_tokens(printed.errors)
        raise _fault(plugin, f"failed with exit code {printed.exit_code}" + (f": {said}" if said else ""))
    return printed.output


def blank_tokens(errors: bytes) -> str:
    """The end of a plugin's stderr, on one line, without what is, or could be, a credential."""
    text = _TOKEN_LIKE.sub("…", " ".join(errors.decode("utf-8", "replace").split()))
    text = _NAMED_SECRET.sub(r"\g<name> …", Redactor().text(text))
    return clean(text[-2 * _SHOWN :])[-_SHOWN:]


def _text(plugin: ExecPlugin, status: dict[str, Any], field: str) -> str:
    value = status.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _fault(plugin, f"gave a status.{field} that is no text")
    return value


def _expiry(plugin: ExecPlugin, value: str) -> float | None:
    if not value:
        return None
    try:
        moment = datetime.datetime.fromisoformat(value)
    except ValueError:
        raise _fault(plugin, "gave a status.expirationTimestamp that is no RFC 3339 time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def _fault(plugin: ExecPlugin, what: str, hint: str = "") -> ApiError:
    return not_sent(
        "CredentialPlugin",
        f"the credential plugin {_name(plugin)} {what}",
        hint or "run it by hand to see what it says",
    )


def _name(plugin: ExecPlugin) -> str:
    return Path(plugin.command).name or os.fspath(plugin.command)
