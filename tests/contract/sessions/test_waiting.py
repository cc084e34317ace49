"""What a script does with sessions it does not follow: preview, wait, report."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from .commands import Moorage
from .conftest import Template

pytestmark = pytest.mark.node

PLANT = "p1anted-cr3dential"


def test_a_preview_shows_pod_and_claim_and_leaves_nothing(
    moorage: Moorage, template: Template, kubectl: Callable[..., str], namespace: str
) -> None:
    run = moorage.run_args(
        "--dry-run", "--name", "later", "-o", "name", template=template(), command=["make"]
    )
    kinds = [line.split("/")[0] for line in moorage(*run).out.decode().splitlines()]
    assert kinds == ["persistentvolumeclaim", "pod"]
    assert kubectl("-n", namespace, "get", "pods,pvc", "-o", "name") == ""
    assert moorage("ls", "-a", "-o", "name").out == b""


def test_a_preview_of_what_the_server_refuses_is_refused(moorage: Moorage, template: Template) -> None:
    bad = template(main={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}})
    done = moorage(*moorage.run_args("--dry-run", template=bad, command=["make"]), code=125)
    assert (done.out, "cpu" in done.err) == (b"", True)


def test_a_wait_sees_the_end_of_an_agent_that_nobody_follows_and_takes_none_of_its_output(
    moorage: Moorage, template: Template
) -> None:
    agent = ["sh", "-c", "until [ -e go ]; do sleep 0.1; done; echo gone; exit 3"]
    moorage(*moorage.run_args("-d", "--name", "alone", template=template(), command=agent))
    assert moorage("wait", "alone", "--for", "running", "--timeout", "1m").out == b"alone\n"
    assert moorage("wait", "alone", "--for", "exited", "--timeout", "0", code=6).out == b""
    waiting = moorage.start("wait", "alone", "--for", "exited", "--timeout", "2m")
    moorage("exec", "alone", "--", "touch", "go")
    assert waiting.end().code == 0
    assert moorage.session("alone")["agent"]["exit"]["code"] == 3
    assert moorage("attach", "alone", code=3).out == b"gone\n"
    moorage("rm", "-y", "alone")
    assert moorage("wait", "alone", "--for", "deleted", "--timeout", "0").out == b"alone\n"


def test_a_report_of_a_real_session_holds_no_credential(
    moorage: Moorage, template: Template, tmp_path: Path
) -> None:
    pod = template(main={"env": [{"name": "IN_TEMPLATE", "value": f"{PLANT}-1"}]})
    command = ["sh", "-c", f"echo {PLANT}-2 $GIVEN $IN_TEMPLATE; echo {PLANT}-3 >&2; exit 4"]
    run = moorage.run_args("--name", "full", "-e", f"GIVEN={PLANT}-4", template=pod, command=command)
    assert f"{PLANT}-2 {PLANT}-4 {PLANT}-1".encode() in moorage(*run, code=4).out
    file = tmp_path / "report.tar.gz"
    moorage("doctor", *moorage.place(), "--bundle", file)
    with tarfile.open(file) as archive:
        texts = {one.name: archive.extractfile(one) for one in archive.getmembers()}
        found = {name: stream.read().decode() for name, stream in texts.items() if stream is not None}
    assert "moorage-report/sessions/full.json" in found
    assert '"code": 4' in found["moorage-report/sessions/full.json"]
    assert [name for name, text in found.items() if PLANT in text] == []
