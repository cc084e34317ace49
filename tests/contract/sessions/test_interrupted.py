"""What takes a running agent away is mended where that loses nothing, and said where it does."""

from __future__ import annotations

from functools import partial

import pytest
from testcluster.audit import Judge, count
from testcluster.cluster import Cluster

from .commands import Moorage, Running
from .conftest import Template
from .observed import Objects, identity, kill_container, main_container, pod_name, until

pytestmark = pytest.mark.node

# Each run says its number, leaves a file, and waits.
AGENT = "n=$(($(cat runs 2>/dev/null || echo 0) + 1)); echo $n > runs; echo run $n; exec testagent wait"


def start(moorage: Moorage, template: Template, *flags: str) -> Running:
    args = moorage.run_args("--name", "s", *flags, template=template(), command=["sh", "-c", AGENT])
    run = moorage.start(*args)
    run.until(b"run 1\n")
    return run


def test_a_killed_container_starts_again_in_the_same_pod_with_its_workspace(
    moorage: Moorage, template: Template, objects: Objects, local_cluster: Cluster, audit: Judge
) -> None:
    run = start(moorage, template, "--workspace", "empty_dir")
    name = pod_name(moorage, "s")
    first = objects.pod(name)
    audit.forget()
    kill_container(local_cluster, first)
    run.until(b"run 1\nrun 2\n")
    second = objects.pod(name)
    assert identity(second)[0] == identity(first)[0]
    assert identity(second)[1:] != identity(first)[1:]
    assert "interrupted: container restart" in run.err
    assert objects.inside(name, "cat /workspace/runs") == "2\n"

    # A node's reboot: memory is empty, so the nonce is gone too. It comes again by exec, to this very Pod.
    objects.inside(name, "rm -rf /run/moorage/* /run/moorage/.[!.]*; ls -A /run/moorage")
    kill_container(local_cluster, second)
    run.until(b"run 1\nrun 2\nrun 3\n")
    third = objects.pod(name)
    assert identity(third)[0] == identity(first)[0]
    assert main_container(third)["restartCount"] == 2
    changed = count(audit.writes(agent="moorage", namespace=objects.namespace))
    assert {(verb, what) for _, verb, what in changed} == {("get", "pods/portforward"), ("get", "pods/exec")}

    moorage("stop", "s")
    run.end()
    moorage("rm", "-y", "s")
    assert objects.names() == []


def test_a_container_that_is_told_to_end_is_an_interruption_too_and_no_restart_is_kept(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    run = start(moorage, template, "--workspace", "empty_dir", "--no-restart")
    name = pod_name(moorage, "s")
    objects.inside(name, "kill -TERM 1", check=False)
    done = run.end()
    assert done.code == 125
    assert "interrupted" in done.err
    assert "--no-restart" in done.err
    assert "hint:" in done.err
    session = moorage.session("s")
    assert (session["status"], session["diagnosis"]["category"]) == ("Failed", "interrupted")

    moorage("resume", "s")  # the workspace is there still
    assert moorage("exec", "s", "--", "cat", "runs").out == b"2\n"
    moorage("stop", "s")
    assert moorage("logs", "s").out == b"run 1\nrun 2\n"


def runs(objects: Objects, pod: str) -> bool:
    return "running" in main_container(objects.pod(pod))["state"]


def ended(objects: Objects, pod: str, container: str) -> bool:
    return not runs(objects, pod) or main_container(objects.pod(pod))["containerID"] != container


def test_a_pause_takes_the_last_words_out_of_a_container_that_is_between_two_starts(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    """Nobody is there when they are written, and the container ends again and again."""
    speaks = "until [ -e go ]; do sleep 0.1; done; echo last words; touch said; exec testagent wait"
    moorage(*moorage.run_args("-d", "--name", "s", template=template(), command=["sh", "-c", speaks]))
    name = pod_name(moorage, "s")
    objects.inside(name, "touch /workspace/go; until [ -e /workspace/said ]; do sleep 0.1; done")
    for _ in range(2):
        until("a running container", partial(runs, objects, name))
        before = main_container(objects.pod(name))["containerID"]
        objects.inside(name, "kill -TERM 1", check=False)
        until("its end", partial(ended, objects, name, before))
    moorage("pause", "s")
    assert objects.names() == [f"persistentvolumeclaim/{moorage.session('s')['workspace']['claim']}"]
    assert moorage("logs", "s").out == b"last words\n"
    moorage("rm", "-y", "s")


def test_a_pod_that_somebody_deletes_is_replaced_three_times_on_the_same_claim(
    moorage: Moorage, template: Template, objects: Objects, audit: Judge
) -> None:
    run = start(moorage, template)
    session = moorage.session("s")
    name, claim = session["pod"]["name"], session["workspace"]["claim"]
    moorage("exec", "s", "--", "sh", "-c", "mkdir -m 750 d; echo kept > d/f; chmod 640 d/f; echo 0 > runs")
    before, claim_uid = objects.tree(name), objects.claim(claim)["metadata"]["uid"]
    uids = [session["pod"]["uid"]]
    said = b"run 1\n"
    for number in (1, 2, 3):
        objects.kubectl("delete", "pod", name, "--wait=false")
        said += b"run %d\n" % number
        run.until(said)
        pod = objects.pod(name)
        uids.append(pod["metadata"]["uid"])
        if number == 1:
            objects.inside(name, "echo 0 > /workspace/runs")
            assert objects.tree(name) == before
            objects.inside(name, "echo 1 > /workspace/runs")
        assert objects.claim(claim)["metadata"]["uid"] == claim_uid
    assert len(set(uids)) == 4

    objects.kubectl("delete", "pod", name, "--wait=false")
    done = run.end()
    assert done.code == 125
    assert "interrupted (Pod deleted)" in done.err
    assert "3 times" in done.err
    assert moorage.session("s")["status"] == "Failed"
    moorage("resume", "s")
    assert moorage("exec", "s", "--", "cat", "d/f", "runs").out == b"kept\n4\n"
    changed = count(audit.writes(agent="moorage", namespace=objects.namespace))
    verbs = {
        (verb, what): number
        for (_, verb, what), number in changed.items()
        if what in ("pods", "persistentvolumeclaims")
    }
    assert verbs == {("create", "persistentvolumeclaims"): 1, ("create", "pods"): 5}
    moorage("rm", "-y", "s")
    assert objects.names() == []


def test_an_empty_dir_that_goes_with_its_pod_is_lost_and_said_so(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    run = start(moorage, template, "--workspace", "empty_dir")
    name = pod_name(moorage, "s")
    objects.kubectl("delete", "pod", name)
    done = run.end()
    assert done.code == 125
    assert "emptyDir" in done.err
    assert "--workspace managed_pvc" in done.err
    session = moorage.session("s")
    assert (session["phase"], session["reason"]) == ("lost", "workspace_lost: WorkspaceLost")
    assert session["diagnosis"]["category"] == "workspace_lost"
    refused = moorage("resume", "s", code=None)
    assert refused.code != 0
    assert "emptyDir" in refused.err
    assert objects.names() == []
    assert moorage("logs", "s").out == b"run 1\n"
    moorage("rm", "-y", "s")


def test_what_nobody_drives_is_mended_by_the_next_command(
    moorage: Moorage, template: Template, objects: Objects
) -> None:
    start(moorage, template).kill()
    session = moorage.session("s")
    name, uid = session["pod"]["name"], session["pod"]["uid"]
    objects.kubectl("delete", "pod", name)
    assert moorage.session("s")["status"] == "Unhealthy"
    follower = moorage.start("attach", "s")
    follower.until(b"run 2\n")
    until("another Pod", lambda: objects.pod(name)["metadata"]["uid"] != uid)
    moorage("stop", "s")
    follower.end()
    moorage("rm", "-y", "s")
    assert objects.names() == []
