"""Credentials that Moorage was given are used and stand nowhere: not here, in the cluster or in the Pod."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from testcluster.testrun import RealCluster

from .commands import Moorage
from .conftest import Template
from .verdicts import OWN_FAILURE

pytestmark = pytest.mark.node

VALUE = "planted-value-5d1e7f"
FILE_VALUE = "planted-file-value-a91c03"
RIGHTS: list[dict[str, Any]] = [
    {"apiGroups": [""], "resources": ["pods", "persistentvolumeclaims"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods/exec", "pods/portforward", "pods/log"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "get", "watch"]},
]
AGENT = 'echo started; test -n "$PLANTED" && test -n "$FROM_FILE" && read -r _ < /workspace/open'


def forms(secret: str) -> list[bytes]:
    """The secret as it might be written: plain, hexadecimal, and in base64 at each of three offsets."""
    raw = secret.encode()
    encoded = [base64.b64encode(b"x" * shift + raw)[4 if shift else 0 : -4] for shift in range(3)]
    return [raw, raw.hex().encode(), *encoded]


def holders(secret: str, places: Iterable[tuple[str, bytes]]) -> list[str]:
    """Names of the places in which the secret stands."""
    return [name for name, data in places if any(form in data for form in forms(secret))]


def files(*folders: Path) -> list[tuple[str, bytes]]:
    return [
        (str(path), path.read_bytes())
        for folder in folders
        for top, _, names in os.walk(folder)
        for path in (Path(top, name) for name in names)
    ]


def processes() -> list[tuple[str, bytes]]:
    """Every command line on this machine, where the test's own node runs with its Pods; and the environment
    of every agentctl."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
            found.append((str(path), line))
            if line.startswith(b"/opt/moorage/agentctl"):
                found.append((f"{path.parent}/environ", (path.parent / "environ").read_bytes()))
        except OSError:
            continue
    return found


def token_of(kubeconfig: Path) -> str:
    token: str = json.loads(kubeconfig.read_text())["users"][0]["user"]["token"]
    return token


def test_planted_credentials_stand_nowhere_but_in_the_agents_environment(
    cluster: RealCluster,
    moorage: Moorage,
    template: Template,
    namespace: str,
    limited_user: Callable[[list[dict[str, Any]]], Path],
    tmp_path: Path,
) -> None:
    moorage.kubeconfig = limited_user(RIGHTS)
    token = token_of(moorage.kubeconfig)
    (tmp_path / "env").write_text(f"FROM_FILE={FILE_VALUE}\n")
    args = ("-vv", "--name", "keeper", "-e", "PLANTED", "--env-file", tmp_path / "env")
    script = f"mkfifo /workspace/open; {AGENT}"
    running = moorage.start(
        *moorage.run_args(*args, template=template(), command=["sh", "-c", script]), env={"PLANTED": VALUE}
    )
    running.until(b"started\n")

    seen = processes()
    look = "cat -v /proc/1/cmdline; find /opt/moorage /run/moorage /workspace -type f -exec cat -v {} +"
    pod = cluster.get("pods", "-n", namespace)["items"][0]["metadata"]["name"]
    words = ("-n", namespace, "exec", pod, "-c", "agent", "--", "sh", "-c")
    inside = cluster.kubectl(*words, look)
    environ = cluster.kubectl(*words, "cat -v /proc/[0-9]*/environ 2>/dev/null || true")
    moorage("exec", "keeper", "--", "sh", "-c", "echo > /workspace/open")
    done = running.end()
    assert (done.code, done.out) == (0, b"started\n")

    printed = done.err.encode() + done.out
    shown = [moorage(*words).out for words in (("describe", "keeper", "-o", "json"), ("events", "keeper"))]
    objects = cluster.kubectl("-n", namespace, "get", "pods,pvc,events,secrets,configmaps", "-o", "yaml")
    places = [
        *seen,
        *files(moorage.home),
        ("stderr and stdout", printed),
        ("describe and events", b"".join(shown)),
        ("objects", objects.encode()),
        ("the Pod", inside.encode()),
    ]
    for secret in (VALUE, FILE_VALUE, token):
        assert holders(secret, places) == []
    # The search can find: what the agent itself was given is in its own environment, and only there.
    assert holders(VALUE, [("environ", environ.encode())]) == ["environ"]
    names = moorage.session("keeper")["agent"]["env_names"]
    assert names == ["FROM_FILE", "PLANTED"]


def test_a_value_is_there_again_after_a_new_pod_and_gone_with_the_session(
    moorage: Moorage, template: Template
) -> None:
    args = moorage.run_args(
        "--name", "again", "-e", "PLANTED", template=template(), command=["sh", "-c", "echo $PLANTED"]
    )
    assert moorage(*args, env={"PLANTED": VALUE}).out == f"{VALUE}\n".encode()
    moorage("pause", "again")
    moorage("resume", "again")
    moorage("attach", "again")
    assert moorage("logs", "again").out == f"{VALUE}\n".encode() * 2
    moorage("rm", "-y", "again")
    assert holders(VALUE, files(moorage.home)) == []


@pytest.mark.parametrize("kind", ["token", "client key"])
def test_a_refused_credential_does_not_stand_in_the_error(
    cluster: RealCluster, moorage: Moorage, template: Template, tmp_path: Path, kind: str
) -> None:
    config = json.loads(cluster.kubectl("config", "view", "--minify", "--flatten", "--raw", "-o", "json"))
    if kind == "token":
        secret = "planted-token-77aa01"
        config["users"][0]["user"] = {"token": secret}
    else:
        secret = base64.b64encode(b"-----BEGIN PRIVATE KEY-----\nplanted-key-0b\n").decode()
        config["users"][0]["user"]["client-key-data"] = secret
    moorage.kubeconfig = tmp_path / "refused.kubeconfig"
    moorage.kubeconfig.write_text(json.dumps(config))
    moorage.kubeconfig.chmod(0o600)

    done = moorage(*moorage.run_args("-vv", template=template(), command=["true"]), code=OWN_FAILURE)
    assert "error:" in done.err
    assert secret not in done.err
    assert "planted" not in done.err
    assert holders(secret, files(moorage.home)) == []
