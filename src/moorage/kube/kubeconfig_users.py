"""A user entry of a kubeconfig: who we are, and on whose behalf.

Called by ``kube.kubeconfig``. Runs no plugin and opens no file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from moorage.kube.kubeconfig_entries import Entry
from moorage.kube.target import ExecPlugin, Login

EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_INTERACTIVE = ("Never", "IfAvailable", "Always")


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
    command = _program(entry, command)
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


def _program(entry: Entry, command: str) -> str:
    """A bare word is looked up on PATH, a path is absolute or below the folder of its file."""
    if "/" not in command:
        return command
    if not command.startswith("/") and os.path.normpath(command).split("/")[0] == "..":
        raise entry.fault(
            "command",
            "outside",
            "is a relative path that leaves the folder of the kubeconfig",
            "write the absolute path of the program",
        )
    return str(Path(entry.document.source).parent / command)


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
