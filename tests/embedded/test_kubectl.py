"""What people do with kubectl works on the embedded cluster: with the newest version, and with the oldest.

Needs both versions of the program, so it runs with the tests of the real cluster; that one is not used.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testcluster import versions
from testcluster.build import bin_dir, build

from .running import Threaded, on_this_machine

pytestmark = pytest.mark.cluster
Done = subprocess.CompletedProcess[str]
Kubectl = Callable[..., Done]
PATIENCE = 120
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "story"}},
    "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [
            {
                "name": "main",
                "image": "localhost/busybox:test",
                "command": ["sh", "-c", "echo one; echo two; exec sleep 1000000"],
            }
        ],
    },
}
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}}


def own() -> Path:
    if not (bin_dir() / "kubectl").exists():
        build(nodes=False)
    return bin_dir() / "kubectl"


PROGRAMS: dict[str, Callable[[], Path]] = {"1.36": own, "1.32": lambda: versions.built("kubectl-1.32")}


@pytest.fixture(scope="module", params=PROGRAMS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def program(version: str) -> Path:
    return PROGRAMS[version]()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Threaded]:
    own()  # also what the images are made of
    threaded = on_this_machine(tmp_path_factory.mktemp("story"))
    threaded.start()
    yield threaded
    threaded.end()


@pytest.fixture(scope="module")
def kubectl(program: Path, running: Threaded) -> Iterator[Kubectl]:
    """``kubectl(*words, stdin="", code=0)`` in a namespace of this version's: what it said."""
    namespace = f"story-{secrets.token_hex(3)}"

    def run(*words: str, stdin: str = "", code: int = 0) -> Done:
        argv = [str(program), "--kubeconfig", str(running.cluster.kubeconfig), "-n", namespace, *words]
        done = subprocess.run(
            argv, input=stdin, text=True, capture_output=True, check=False, timeout=PATIENCE
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done

    run("create", "namespace", namespace)
    run("wait", "--for=create", "serviceaccount/default", f"--timeout={PATIENCE}s")
    yield run
    run("delete", "namespace", namespace, "--wait=false")


@pytest.fixture(scope="module")
def pod(kubectl: Kubectl) -> str:
    """The name of a Pod that is ready."""
    kubectl("apply", "-f", "-", stdin=json.dumps(POD))
    kubectl("wait", "--for=condition=Ready", "pod/p", f"--timeout={PATIENCE}s")
    return "p"


def test_both_sides_tell_their_version(kubectl: Kubectl, version: str) -> None:
    said = json.loads(kubectl("version", "-o", "json").stdout)
    assert said["clientVersion"]["gitVersion"].startswith(f"v{version}.")
    assert said["serverVersion"]["gitVersion"]


def test_get_prints_a_table_an_object_and_a_list(kubectl: Kubectl, pod: str) -> None:
    lines = kubectl("get", "pods").stdout.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["NAME", "READY", "STATUS", "RESTARTS"],
        ["p", "1/1", "Running", "0"],
    ]
    assert json.loads(kubectl("get", "pod", "p", "-o", "json").stdout)["metadata"]["name"] == "p"
    assert kubectl("get", "pods", "-l", "app=story", "-o", "name").stdout == "pod/p\n"
    assert kubectl("get", "pods", "--field-selector", "status.phase=Failed").stderr.startswith(
        "No resources found"
    )
    assert "NotFound" in kubectl("get", "pod", "none", code=1).stderr


def test_describe_shows_what_happened(kubectl: Kubectl, pod: str) -> None:
    said = kubectl("describe", "pod", "p").stdout
    assert re.search(r"^Status: +Running$", said, re.MULTILINE)
    assert re.search(r"^  Normal +Started ", said, re.MULTILINE)


def test_wait_ends_when_it_holds_and_fails_when_its_time_is_up(kubectl: Kubectl, pod: str) -> None:
    kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p", f"--timeout={PATIENCE}s")
    assert "timed out" in kubectl("wait", "--for=delete", "pod/p", "--timeout=1s", code=1).stderr


@pytest.mark.parametrize("side", ["client", "server"])
def test_apply_makes_changes_and_leaves(kubectl: Kubectl, side: str) -> None:
    first = {**MAP, "metadata": {"name": side}}
    words = ("apply", "-f", "-", *(("--server-side",) if side == "server" else ()))
    done = "serverside-applied" if side == "server" else "created"
    assert kubectl(*words, stdin=json.dumps(first)).stdout == f"configmap/{side} {done}\n"
    changed = {**first, "data": {"l": "w"}}
    done = "serverside-applied" if side == "server" else "configured"
    assert kubectl(*words, stdin=json.dumps(changed)).stdout == f"configmap/{side} {done}\n"
    assert json.loads(kubectl("get", "configmap", side, "-o", "json").stdout)["data"] == {"l": "w"}
    done = "serverside-applied" if side == "server" else "unchanged"
    assert kubectl(*words, stdin=json.dumps(changed)).stdout == f"configmap/{side} {done}\n"


def test_apply_refuses_a_field_that_there_is_not(kubectl: Kubectl) -> None:
    refused = kubectl("apply", "-f", "-", stdin=json.dumps({**MAP, "dota": {"k": "v"}}), code=1)
    assert 'unknown field "dota"' in refused.stderr


def test_delete_waits_until_it_is_gone(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=json.dumps({**POD, "metadata": {"name": "q"}}))
    kubectl("wait", "--for=condition=Ready", "pod/q", f"--timeout={PATIENCE}s")
    assert kubectl("delete", "pod", "q").stdout.startswith('pod "q" deleted')
    assert "NotFound" in kubectl("get", "pod", "q", code=1).stderr
    assert "NotFound" in kubectl("delete", "pod", "q", code=1).stderr


def test_logs_are_what_it_wrote(kubectl: Kubectl, pod: str) -> None:
    assert kubectl("logs", "p").stdout == "one\ntwo\n"
    assert kubectl("logs", "p", "--tail=1").stdout == "two\n"


def test_exec_passes_input_output_and_the_exit_code(kubectl: Kubectl, pod: str) -> None:
    done = kubectl("exec", "-i", "p", "--", "sh", "-c", "cat; echo oops >&2; exit 7", stdin="a\nb\n", code=7)
    assert done.stdout == "a\nb\n"
    assert done.stderr.startswith("oops\n")
    assert kubectl("exec", "p", "--", "true").stdout == ""


def test_run_carries_input_to_its_end_and_tells_the_exit_code(kubectl: Kubectl) -> None:
    words = ("run", "r", "--image=localhost/busybox:test", "--restart=Never", "--rm", "-i", "--quiet")
    done = kubectl(*words, "--", "sh", "-c", "cat; exit 4", stdin="a\nb\n", code=4)
    assert done.stdout.startswith("a\nb\n")
    assert done.stdout.count("a\n") == 1, "said once: the streams' own end is no failure"
    assert "couldn't attach" not in done.stderr


def test_events_tell_the_story_of_a_pod(kubectl: Kubectl, pod: str) -> None:
    said = kubectl("events", "--for", "pod/p").stdout
    assert {"Scheduled", "Started"} <= {line.split()[2] for line in said.splitlines()[1:]}
