"""What E2B's SDK has and this one has not, with the reason. One table: errors and docs/sdk.md are made of
it."""

from __future__ import annotations

from typing import Final

from moorage.sdk.errors import NotOffered

_SNAPSHOTS = "a sandbox's state is its workspace: pause keeps it, moorage fork copies it"
_NETWORK = "who may reach what is the template's and the cluster's matter (NetworkPolicy)"
_URLS = "nothing of a sandbox is exposed to the network; use files.read and files.write"
_MCP = "no MCP gateway runs in a sandbox; run a server as a command and reach it with get_host"
_E2B = "it names a host of E2B's service"
_INPUT = "send_stdin is ordered and takes any size"
_GIT = "E2B itself gives it up for commands: commands.run(['git', …])"
_GIT_METHODS = (
    "add branches checkout_branch clone commit configure_user create_branch dangerously_authenticate"
    " delete_branch get_config init pull push remote_add remote_get reset restore set_config status"
)

NOT_OFFERED: Final[dict[str, dict[str, str]]] = {
    "sandbox": {
        "beta_pause": "use pause",
        "connection_config": _E2B,
        "create_snapshot": _SNAPSHOTS,
        "default_mcp_template": _MCP,
        "default_sandbox_timeout": "there is none: a sandbox stays until it is removed",
        "default_template": "there is none: the template is yours",
        "delete_snapshot": _SNAPSHOTS,
        "download_url": _URLS,
        "envd_api_url": _E2B,
        "envd_direct_url": _E2B,
        "fork": "not yet in the SDK",
        "get_mcp_token": _MCP,
        "get_mcp_url": _MCP,
        "git": _GIT,
        "list_snapshots": _SNAPSHOTS,
        "mcp_port": _MCP,
        "sandbox_domain": _E2B,
        "traffic_access_token": _E2B,
        "update_network": _NETWORK,
        "upload_url": _URLS,
    },
    "commands": {"stream_input": _INPUT},
    "pty": {"stream_input": _INPUT},
    "files": {},
    "git": dict.fromkeys(_GIT_METHODS.split(), _GIT),
    "handle": {},
    "watch": {},
    "paginator": {},
}


def not_offered(of: str, name: str) -> AttributeError:
    """The error for an attribute that is not there; with the reason, where E2B has it."""
    reason = NOT_OFFERED[of].get(name)
    if reason is None:
        return AttributeError(f"{of} has no {name}")
    return NotOffered(f"{name} is not offered: {reason}", field=name, hint="docs/sdk.md says what is")
