"""One named entry of a kubeconfig: its fields, its paths, and what it means for a connection.

Called by ``kube.kubeconfig``. Opens no file: paths are resolved against the file they stand in, and
looked for.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from moorage.core.errors import DocumentError
from moorage.kube.kubeconfig_yaml import Document, Value
from moorage.kube.proxy import is_loopback
from moorage.kube.target import FromFile, Inline, Material, Trust

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True)
class Entry:
    """A mapping in a document; ``label`` is its path for people, ``place`` its path by index."""

    document: Document
    label: str
    place: str
    values: dict[str, Value]

    def fault(self, field: str, code: str, message: str, hint: str = "") -> DocumentError:
        place = f"{self.place}.{field}"
        if place not in self.document.places:
            place = self.place
        return self.document.fault(f"{self.label}.{field}", code, message, hint, place=place)

    def text(self, field: str) -> str:
        """A text field, "" where absent or null."""
        value = self.values.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.fault(field, "type", "must be text")
        return value

    def flag(self, field: str) -> bool:
        value = self.text(field)
        if value.lower() not in ("", "true", "false"):
            raise self.fault(field, "type", "must be true or false")
        return value.lower() == "true"

    def items(self, field: str) -> list[Value]:
        value = self.values.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(field, "type", "must be a list")
        return value

    def inner(self, field: str) -> Entry | None:
        value = self.values.get(field)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.fault(field, "type", "must be a mapping")
        return Entry(self.document, f"{self.label}.{field}", f"{self.place}.{field}", value)

    def path(self, field: str) -> Path | None:
        value = self.text(field)
        return Path(self.document.source).parent / value if value else None

    def material(self, field: str) -> Material | None:
        """``<field>-data`` (base64), else the file of ``<field>``: client-go prefers the data too."""
        encoded = self.text(f"{field}-data")
        if encoded:
            try:
                return Inline(base64.b64decode("".join(encoded.split()), validate=True))
            except (binascii.Error, ValueError):
                raise self.fault(f"{field}-data", "not_base64", "is not base64") from None
        path = self.existing(field)
        return FromFile(path) if path else None

    def existing(self, field: str) -> Path | None:
        """A path field whose file must be there already."""
        path = self.path(field)
        if path is not None and not path.is_file():
            raise self.fault(field, "missing", f"the file {path} does not exist")
        return path


def entries(document: Document, section: str, inner: str) -> dict[str, Entry]:
    """The named entries of ``clusters``, ``contexts`` or ``users``, by name."""
    listed = document.root.get(section)
    if listed is None:
        return {}
    if not isinstance(listed, list):
        raise document.fault(section, "type", "must be a list")
    found: dict[str, Entry] = {}
    for index, item in enumerate(listed):
        place = f"{section}[{index}]"
        if not isinstance(item, dict):
            raise document.fault(place, "type", "must be a mapping with name and " + inner)
        name = item.get("name")
        if not isinstance(name, str) or not name:
            raise document.fault(f"{place}.name", "required", "every entry needs a name", place=place)
        if name in found:
            raise document.fault(f"{place}.name", "duplicate", f"the name {name!r} stands twice in {section}")
        values = item.get(inner)
        label = f"{section}[name={name}].{inner}"
        if values is not None and not isinstance(values, dict):
            raise document.fault(label, "type", "must be a mapping", place=f"{place}.{inner}")
        found[name] = Entry(document, label, f"{place}.{inner}", values or {})
    return found


def cluster_of(cluster: Entry) -> tuple[str, Trust, str, Any]:
    """Server URL, trust, proxy URL and the configuration meant for exec plugins."""
    server = cluster.text("server")
    if not server:
        raise cluster.fault("server", "required", "the cluster has no server address")
    server = _without_login(cluster, _url(cluster, "server", server, ("https", "http")))
    _only_loopback_in_clear(cluster, server)
    proxy_url = cluster.text("proxy-url")
    if proxy_url:
        proxy_url = _url(cluster, "proxy-url", proxy_url, ("http", "https"))
    authority = cluster.material("certificate-authority")
    insecure = cluster.flag("insecure-skip-tls-verify")
    if insecure and authority is not None:
        raise cluster.fault(
            "insecure-skip-tls-verify",
            "contradiction",
            "cannot stand beside a certificate-authority",
            "remove one of the two",
        )
    trust = Trust(authority, insecure, cluster.text("tls-server-name"))
    return server, trust, proxy_url, _exec_config(cluster)


def _url(entry: Entry, field: str, value: str, schemes: tuple[str, ...]) -> str:
    full = value if "://" in value else f"https://{value}"
    try:
        parts = urlsplit(full)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable:
        raise entry.fault(field, "not_a_url", "is not a URL with a host")  # not shown: may hold a password
    if parts.scheme not in schemes:
        raise entry.fault(
            field,
            "unsupported",
            f"the scheme {parts.scheme!r} is not supported",
            "use " + " or ".join(schemes),
        )
    return full.rstrip("/")


def _without_login(cluster: Entry, server: str) -> str:
    """No supported Kubernetes takes a login from its address, and addresses are shown and recorded."""
    parts = urlsplit(server)
    if "@" in parts.netloc or "?" in server or "#" in server:
        raise cluster.fault(
            "server",
            "unsupported",
            "holds a login, a query or a fragment, which could be a credential and would be recorded",
            "leave only scheme, host, port and path; credentials belong to users[].user",
        )
    return server


def _only_loopback_in_clear(cluster: Entry, server: str) -> None:
    """Without TLS anybody on the way reads our credentials and answers in the API server's place."""
    parts = urlsplit(server)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise cluster.fault(
            "server",
            "unsupported",
            "is an http:// address of another host: what is sent there can be read and changed on the way",
            "write https://; http:// is for a server of this machine alone, as kubectl proxy opens one",
        )


def _exec_config(cluster: Entry) -> Any:
    for item in cluster.items("extensions"):
        if isinstance(item, dict) and item.get("name") == _EXEC_EXTENSION:
            return item.get("extension")
    return None
