"""How agentctl comes to life in a main container: the waiting entrypoint, the commands run by ``pods/exec``,
the frame that carries configuration and nonce, and what their answers mean.

Used by ``engine.bootstrap`` and by whoever builds the Pod. Pure: nothing here runs anything. Credentials are
in the frame (stdin) only, never in a command.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from moorage.core import owned
from moorage.core.errors import IntegrityError, LinkError, MoorageError
from moorage.core.exec_failure import cut_short

AGENTCTL: Final = f"{owned.OPT_PATH}/agentctl"
RECEIVE: Final = (AGENTCTL, "receive")
TUNNEL: Final = (AGENTCTL, "tunnel")
INSTALLED: Final = "installed"

_ELF_MACHINES = {62: "amd64", 183: "arm64"}

# The loop is the container's first process until agentctl takes its place (and its process number) by exec.
# TERM ends it at once; a signal that comes between the look and the sleep costs one period, no more.
# The agent inherits the umask of the loop, so that is left as the runtime gave it; what is ours is private.
_ENTRYPOINT = f"""\
helper={AGENTCTL} run={owned.RUN_PATH}
trap 'exit 143' TERM INT
trap : USR1
(umask 077; echo $$ > $run/.pid.$$) && mv $run/.pid.$$ $run/pid
while :; do
  if [ -f $run/bootstrap ] && [ -f $helper ] && $helper version >/dev/null 2>&1; then exec $helper serve; fi
  sleep 2 & nap=$!
  wait $nap
  kill $nap 2>/dev/null
done
"""

# Arguments: $1 length, $2 SHA-256, then the command to become once agentctl is in place. One word on a line
# of its own tells how it went; see read_install_answer. Checking the sum shows that it can run, too. Neither
# dd nor head reads past the length, and not every dd can; some heads go byte by byte.
_INSTALL = f"""\
umask 022
helper={AGENTCTL} new={AGENTCTL}.new.$$
trap 'rm -f $new' EXIT
take() {{
  if dd bs=1 count=0 iflag=fullblock </dev/null >/dev/null 2>&1
  then dd bs="$1" count=1 iflag=fullblock 2>/dev/null
  else head -c "$1"
  fi
}}
if ! take "$1" > $new; then echo write_failed; exit 1; fi
if ! chmod 755 $new; then echo write_failed; exit 1; fi
if ! sum=$($new checksum $new 2>/dev/null); then
  if command -v sha256sum >/dev/null 2>&1; then
    sum=$(sha256sum $new)
    if [ "${{sum%% *}}" != "$2" ]; then echo wrong_sum; exit 1; fi
  fi
  while read -r _ at _ options _; do
    case "$at,$options," in {owned.OPT_PATH},*,noexec,*|{owned.OPT_PATH},noexec,*) echo noexec; exit 1;; esac
  done < /proc/mounts
  echo cannot_run; exit 1
fi
if [ "$sum" != "$2" ]; then echo wrong_sum; exit 1; fi
if ! mv -f $new $helper; then echo write_failed; exit 1; fi
echo {INSTALLED}
shift 2
[ $# -eq 0 ] || exec "$@"
"""

_INSTALL_FAULTS: Mapping[str, tuple[str, str, str]] = {
    "noexec": (
        "noexec",
        f"{owned.OPT_PATH} is mounted noexec: agentctl cannot run there",
        "allow execution on emptyDir volumes of this node: they lie in its kubelet's folder",
    ),
    "cannot_run": (
        "platform",
        "the container cannot run agentctl",
        "does the node's architecture fit the session's platform?",
    ),
    "write_failed": (
        "storage",
        f"agentctl could not be written to {owned.OPT_PATH}",
        "is the node's disk full, or the volume not writable for the container's user?",
    ),
}


def entrypoint() -> list[str]:
    """The main container's command where the helper comes by exec, as it stands in a Pod."""
    return ["/bin/sh", "-c", pod_literal(_ENTRYPOINT)]


def entrypoint_script() -> str:
    """The loop as sh reads it."""
    return _ENTRYPOINT


def pod_literal(text: str) -> str:
    """``text`` as it must be written in a Pod's command: the kubelet reads ``$$`` as ``$``."""
    return text.replace("$", "$$")


def install_command(length: int, sha256: str, then: Sequence[str] = ()) -> list[str]:
    """The exec that reads ``length`` bytes of agentctl on stdin, checks them, puts them in place, says so on
    a line, and then becomes the command ``then`` (if any)."""
    return ["/bin/sh", "-c", _INSTALL, "install", str(length), sha256, *then]


def read_install_answer(output: str, errors: str, code: int | None = None, reason: str = "") -> None:
    """Judge what the install exec printed, and (``code``, ``reason``) how it ended. Raises IntegrityError or
    MoorageError, each with ``details['category']``: noexec, platform, storage, crash, integrity; LinkError
    where it was cut short and another try may do better."""
    word = output.split()[-1] if output.split() else ""
    if word == INSTALLED:
        return
    said = f": {errors.strip()[-200:]}" if errors.strip() else ""
    if word == "wrong_sum":
        raise IntegrityError("agentctl arrived damaged", hint="try again", details={"category": "integrity"})
    if word not in _INSTALL_FAULTS and cut_short(code, reason, errors):
        raise LinkError(f"the upload of agentctl was cut short (code {code}){said}")
    category, message, hint = _INSTALL_FAULTS.get(
        word,
        (
            "crash",
            "the upload of agentctl did not finish",
            "the image needs sh, head, chmod and mv; without them use --helper image",
        ),
    )
    raise MoorageError(message + said, hint=hint, details={"category": category})


def elf_machine(data: bytes) -> str:
    """``amd64`` or ``arm64`` for a 64-bit ELF program, ``""`` for anything else."""
    if len(data) < 20 or data[:6] != b"\x7fELF\x02\x01":
        return ""
    return _ELF_MACHINES.get(int.from_bytes(data[18:20], "little"), "")


def check_platform(data: bytes, platform: str) -> None:
    """Refuse, before any upload, a helper that is not built for ``platform`` (``linux/amd64`` …)."""
    machine = elf_machine(data)
    if f"linux/{machine}" != platform:
        raise IntegrityError(
            f"the helper is built for {machine or 'no known machine'}, the session's platform is {platform}",
            hint="install this release again, or build the helpers from a checkout",
            details={"category": "platform"},
        )


def check_node(node: Mapping[str, Any], platform: str) -> None:
    """Refuse a node whose kubelet reports another architecture than ``platform``. One that reports none
    passes. Raises MoorageError with ``details['category']`` platform."""
    machine = ((node.get("status") or {}).get("nodeInfo") or {}).get("architecture") or ""
    if machine and f"linux/{machine}" != platform:
        name = (node.get("metadata") or {}).get("name")
        raise MoorageError(
            f"node {name} is {machine}, the session's platform is {platform}",
            hint=f"correct the label kubernetes.io/arch of node {name}, or keep the Pod off it by a selector",
            details={"category": "platform"},
        )


def bootstrap_frame(config: Mapping[str, Any], nonce: bytes) -> bytes:
    """What ``agentctl receive`` reads on stdin: magic, two lengths, configuration as JSON, nonce."""
    text = json.dumps(dict(config), separators=(",", ":"), sort_keys=True).encode()
    if len(nonce) < 32:
        raise LinkError("a bootstrap nonce has at least 32 bytes")
    return b"MRG1" + struct.pack(">II", len(text), len(nonce)) + text + nonce


@dataclass(frozen=True)
class Introduction:
    """The first line of ``agentctl receive``."""

    pod_uid: str
    helper: str
    platform: str


def read_introduction(line: bytes) -> Introduction:
    """Parse that line. Raises LinkError when something else speaks."""
    try:
        said = msgspec.json.decode(line)  # refuses surrogates, too deep nesting and NaN
        return Introduction(str(said["pod_uid"]), str(said["helper"]), str(said["platform"]))
    except (ValueError, RecursionError, KeyError, TypeError):
        raise LinkError(
            f"agentctl did not introduce itself: {line[:200].decode(errors='replace')!r}"
        ) from None


def check_pod(introduction: Introduction, expect_pod_uid: str) -> None:
    """Refuse to go on, before anything secret is sent, in any Pod but ours."""
    if introduction.pod_uid != expect_pod_uid:
        raise IntegrityError(
            f"the exec ended up in Pod {introduction.pod_uid or 'unknown'}, not in {expect_pod_uid}",
            hint="the Pod was replaced under its name; read its state again",
            details={"category": "integrity"},
        )


def read_receipt(line: bytes, frame: bytes) -> None:
    """Check the acknowledgement of ``frame``. Raises IntegrityError or LinkError."""
    try:
        digest = str(msgspec.json.decode(line)["sha256"])
    except (ValueError, RecursionError, KeyError, TypeError):
        raise LinkError("agentctl did not acknowledge its configuration") from None
    if digest != hashlib.sha256(frame).hexdigest():
        raise IntegrityError("the configuration arrived damaged", details={"category": "integrity"})
