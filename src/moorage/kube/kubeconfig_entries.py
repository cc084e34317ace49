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
from moorage.kube.target import ExecPlugin, FromFile, Inline, Login, Material, Trust

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_INTERACTIVE = ("Never", "IfAvailable", "Always")


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
    server = _url(cluster, "server", server, ("https", "http"))
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


def _exec_config(cluster: Entry) -> Any:
    for item in cluster.items("extensions"):
        if isinstance(item, dict) and item.get("name") == _EXEC_EXTENSION:
            return item.get("extension")
    return None


def login_of(user: Entry | None, cluster_config: Any) -> Login:
    """Credentials of a user entry; none at all is anonymous."""
    if user is None:
        return Login()
    if user.text("username") or user.text("password"):
        raise user.fault(
            "username",
            "unsupported",
            "user name and password are not accepted by any supported Kubernetes",
            "use a token, a client certificate or an exec plugin",
        )
    if user.values.get("auth-provider") is not None:
        raise user.fault(
            "auth-provider",
            "unsupported",
            "auth providers were removed from Kubernetes clients in 1.26",
            "use the exec plugin of your cloud (kubelogin, gke-gcloud-auth-plugin, aws eks get-token)",
        )
    certificate, key = user.material("client-certificate"), user.material("client-key")
    if (certificate is None) != (key is None):
        missing = "client-key" if key is None else "client-certificate"
        raise user.fault(missing, "required", "client-certificate and client-key go together")
    token, token_file = user.text("token"), user.existing("tokenFile")
    # As in client-go, a token beside an exec plugin wins, and a token's file wins over the token.
    plugin = None if token or token_file else _plugin(user.inner("exec"), cluster_config)
    if any(character in token for character in "\r\n\0"):
        raise user.fault("token", "invalid", "the token contains a line break")
    return Login("" if token_file else token, token_file, certificate, key, plugin, _impersonation(user))


def _plugin(entry: Entry | None, cluster_config: Any) -> ExecPlugin | None:
    if entry is None:
        return None
    version, command, mode = entry.text("apiVersion"), entry.text("command"), entry.text("interactiveMode")
    if version not in EXEC_VERSIONS:
        raise entry.fault("apiVersion", "unsupported", "must be one of " + ", ".join(EXEC_VERSIONS))
    if not command:
        raise entry.fault("command", "required", "the exec plugin names no command")
    if not mode and version == EXEC_VERSIONS[0]:
        raise entry.fault("interactiveMode", "required", "v1 plugins must say it", "usually IfAvailable")
    if mode and mode not in _INTERACTIVE:
        raise entry.fault("interactiveMode", "unsupported", "must be one of " + ", ".join(_INTERACTIVE))
    if "/" in command:  # a bare word is looked up on PATH; anything else belongs to its file
        command = str(Path(entry.document.source).parent / command)
    args = entry.items("args")
    env = entry.items("env")
    if not all(isinstance(arg, str) for arg in args):
        raise entry.fault("args", "type", "must be a list of text")
    pairs = [(i.get("name"), i.get("value") or "") if isinstance(i, dict) else (None, "") for i in env]
    if not all(isinstance(name, str) and name and isinstance(value, str) for name, value in pairs):
        raise entry.fault("env", "type", "must be a list of name and value")
    return ExecPlugin(
        api_version=version,
        command=command,
        args=tuple(str(arg) for arg in args),
        env=tuple((str(name), str(value)) for name, value in pairs),
        install_hint=entry.text("installHint"),
        provide_cluster_info=entry.flag("provideClusterInfo"),
        interactive_mode=mode or "IfAvailable",
        cluster_config=cluster_config,
    )


def _impersonation(user: Entry) -> tuple[tuple[str, str], ...]:
    name, uid, groups = user.text("as"), user.text("as-uid"), user.items("as-groups")
    extra = user.inner("as-user-extra")
    if not name:
        if uid or groups or (extra and extra.values):
            raise user.fault("as", "required", "as-uid, as-groups and as-user-extra need a user to act as")
        return ()
    if not all(isinstance(group, str) for group in groups):
        raise user.fault("as-groups", "type", "must be a list of text")
    headers = [("Impersonate-User", name)]
    headers += [("Impersonate-Uid", uid)] if uid else []
    headers += [("Impersonate-Group", str(group)) for group in groups]
    for key in extra.values if extra else ():
        headers += (
            [(f"Impersonate-Extra-{_header_name(key)}", str(v)) for v in extra.items(key)] if extra else []
        )
    return tuple(headers)


def _header_name(key: str) -> str:
    """Percent-encode what a header name cannot carry, as client-go does."""
    allowed = "!#$&'*+-.^_`|~"
    return "".join(c if c.isascii() and (c.isalnum() or c in allowed) else _percent(c) for c in key)


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())
