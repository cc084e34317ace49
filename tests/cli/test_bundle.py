"""``doctor --bundle``: a report that explains, in which no credential is."""

from __future__ import annotations

import json
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import AccessDenied, Conflict
from moorage.core.session import (
    AgentSpec,
    HelperSpec,
    LaunchSnapshot,
    SourceSpec,
    WorkspaceMode,
    WorkspaceSpec,
)
from moorage.ports.link import Output
from moorage.ports.sessions import Check, Evidence
from moorage.ports.store import SessionEvent
from tests.cli.harness import Cli
from tests.cli.scripted_views import make_session, make_view

PLANT = "p1anted-cr3dential"


def pod() -> dict[str, Any]:
    container = {
        "name": "agent",
        "image": "registry.example/agent:1",
        "args": [PLANT],
        "env": [{"name": "TOKEN", "value": PLANT}],
    }
    return {
        "metadata": {"name": "moorage-brisk-otter", "annotations": {"note": PLANT}},
        "spec": {"containers": [container]},
        "status": {"phase": "Running", "message": f"said {PLANT}"},
    }


@pytest.fixture
def planted(cli: Cli) -> Cli:
    """A session with one word wherever a person, the agent or the cluster could have put it."""
    snapshot = LaunchSnapshot(
        template={"metadata": {"annotations": {"a": PLANT}}, "spec": pod()["spec"]},
        platform="linux/amd64",
        main_container="agent",
        workspace=WorkspaceSpec(WorkspaceMode.MANAGED_PVC),
        helper=HelperSpec(),
    )
    record = make_session()
    inventory = type(record.inventory)(
        **{name: getattr(record.inventory, name) for name in record.inventory.__struct_fields__}
        | {"snapshot": snapshot}
    )
    view = make_view(
        inventory=inventory,
        reason=f"token={PLANT}",
        agent=AgentSpec(
            argv=("agent", "--key", PLANT),
            env_names=("TOKEN",),
            preset="bot",
            input=f"use {PLANT}",
            resume_argv=("agent", "--again", PLANT),
            resume_input=PLANT,
        ),
        source=SourceSpec(kind="url", location="https://git.example/a.git"),
    )
    cli.verbs.views = [view]
    cli.verbs.found = {view.session.id: Evidence(pod(), "", 100, 5000)}
    cli.verbs.history = [SessionEvent(1.0, "Failed", f"it ran {PLANT}", "pod/a")]
    cli.verbs.checks = [Check("server", "failed", f"https://me:{PLANT}@cluster.example refused", "log in")]
    cli.verbs.transcript = [Output(0, PLANT.encode())]
    cli.verbs.kubelet = [PLANT.encode()]
    cli.wiring.settings_set = {"template": f"/folder/{PLANT}.yaml", "namespace": "agents"}
    cli.wiring.environ = {"TOKEN": PLANT, "MOORAGE_SECRET_KEY": PLANT}
    return cli


def report(file: Path) -> dict[str, str]:
    with tarfile.open(file) as archive:
        members = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        return {name: stream.read().decode() for name, stream in members.items() if stream is not None}


def test_what_was_planted_everywhere_is_nowhere_in_the_report(planted: Cli) -> None:
    file = planted.folder / "report.tar.gz"
    assert planted("doctor", "--bundle", str(file)).code == 1  # a check failed, as without it
    assert {name: text.count(PLANT) for name, text in report(file).items()} == dict.fromkeys(
        [
            "moorage-report/README.txt",
            "moorage-report/versions.json",
            "moorage-report/settings.json",
            "moorage-report/doctor.json",
            "moorage-report/sessions/brisk-otter.json",
        ],
        0,
    )
    assert planted.verbs.names("logs") == planted.verbs.names("container_logs") == []


def test_the_report_says_what_explains_a_fault(planted: Cli) -> None:
    file = planted.folder / "report.tar.gz"
    planted("doctor", "--bundle", str(file))
    found = report(file)
    session = json.loads(found["moorage-report/sessions/brisk-otter.json"])
    assert (session["session"]["status"], session["session"]["agent"]["words"]) == ("Running", 3)
    assert session["output"] == {"kept_from": 100, "end": 5000}
    assert session["pod"]["spec"]["containers"][0]["env"] == [{"name": "TOKEN", "from": ["value"]}]
    assert session["template"]["spec"]["containers"][0]["image"] == "registry.example/agent:1"
    assert session["events"][0]["message"] == "it ran ***"
    versions = json.loads(found["moorage-report/versions.json"])
    assert (versions["server"], versions["client"]) == ("v1.36.3", "0.1.0")
    assert "aiohttp" in versions["libraries"]
    assert json.loads(found["moorage-report/doctor.json"])["steps"][0]["fix"] == "log in"


def test_the_report_is_for_its_owner_only(planted: Cli) -> None:
    file = planted.folder / "report.tar.gz"
    result = planted("doctor", "--bundle", str(file))
    assert f"wrote {file} with 1 session; read it before you hand it on\n" in result.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with tarfile.open(file) as archive:
        assert {member.mode for member in archive.getmembers()} == {0o600}


def test_what_cannot_be_read_is_said_in_the_report(planted: Cli) -> None:
    planted.verbs.failures = {
        "evidence": Conflict("somebody changed it"),
        "server_version": AccessDenied("no"),
    }
    file = planted.folder / "report.tar.gz"
    planted("doctor", "--bundle", str(file))
    found = report(file)
    assert json.loads(found["moorage-report/sessions/brisk-otter.json"])["missing"] == "somebody changed it"
    assert json.loads(found["moorage-report/versions.json"])["server"] == "unknown: no"
    assert PLANT not in "".join(found.values())


def test_a_file_that_is_there_is_not_written_over(cli: Cli) -> None:
    file = cli.folder / "report.tar.gz"
    file.write_text("mine")
    result = cli("doctor", "--bundle", str(file))
    assert (result.code, file.read_text(), cli.verbs.calls) == (5, "mine", [])


def test_a_folder_that_is_not_there_is_told(cli: Cli) -> None:
    result = cli("doctor", "--bundle", str(cli.folder / "none" / "report.tar.gz"))
    assert result.code == 1
    assert "cannot write" in result.err


def test_without_the_flag_nothing_is_written(cli: Cli) -> None:
    before = sorted(cli.folder.iterdir())
    assert cli("doctor").code == 0
    assert sorted(cli.folder.iterdir()) == before
    assert cli.verbs.names("evidence") == []
