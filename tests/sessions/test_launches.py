"""A launch checks all it can, then records; nothing is recorded or created when it raises."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.core.errors import Conflict, MoorageError, NotFound, SessionFailed, UsageError
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS
from moorage.core.session import HelperSpec, Session, SourceSpec
from moorage.ports.link import ProcessSpec
from moorage.ports.sessions import LaunchRequest
from moorage.sessions import launch

from .fake_cluster import FORBIDDEN, status
from .stage import MODES, TEMPLATE, Stage

DENIED = status(403, "Forbidden", PODS, "x")


async def test_the_server_is_asked_by_dry_run_before_anything_is_on_record(stage: Stage) -> None:
    session = await stage.launch()
    dry = [call.plural for call in stage.cluster.calls if call.verb == "dry-run"]
    assert dry == ["persistentvolumeclaims", "pods"]
    assert stage.cluster.writes() == []
    assert (await stage.record()) == session


@pytest.mark.parametrize("resource", [PODS, CLAIMS], ids=["pod", "claim"])
async def test_what_the_server_would_refuse_is_never_recorded(stage: Stage, resource: Any) -> None:
    stage.cluster.fail("dry-run", resource, DENIED)
    with pytest.raises(SessionFailed):
        await stage.launch()
    await nothing_kept(stage)


async def test_without_a_helper_to_upload_nothing_is_made(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(platform: str) -> bytes:
        raise NotFound(f"this installation has no helper for {platform}")

    monkeypatch.setattr(launch, "helper_binary", absent)
    with pytest.raises(NotFound, match="no helper for linux/amd64"):
        await stage.launch()
    await nothing_kept(stage)
    assert stage.cluster.calls == [], "and no cluster was asked"


async def test_a_helper_that_an_image_brings_need_not_be_here(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "helper_binary", None)
    image = f"registry.example/helper@sha256:{'0' * 64}"
    assert (await stage.launch(helper=HelperSpec("image", image))).name == "calm-cove"


@pytest.mark.parametrize(
    "fault",
    [
        {"source": "/nowhere/at/all"},
        {"env": {"MOORAGE_X": "1"}},
        {"env": {"A=B": "1"}},
        {"helper": HelperSpec("image")},
        {"helper": HelperSpec("image", "registry.example/helper:1.0")},
        {"main_container": "other"},
        {"platform": "linux/s390x"},
    ],
    ids=[
        "source",
        "reserved env",
        "bad env",
        "no helper image",
        "helper tag",
        "no such container",
        "platform",
    ],
)
async def test_what_can_be_refused_is_refused_before_anything_is_recorded(
    stage: Stage, fault: dict[str, Any]
) -> None:
    with pytest.raises(MoorageError):
        await stage.launch(**fault)
    await nothing_kept(stage)


async def nothing_kept(stage: Stage) -> None:
    assert stage.cluster.writes() == []
    assert await stage.store.sessions.list_all(include_archived=True) == []
    with pytest.raises(NotFound):
        await stage.record()


async def test_a_name_that_is_taken_is_told_by_name_before_the_source_is_read(
    stage: Stage, tmp_path: Path
) -> None:
    first = await stage.launch()
    with pytest.raises(Conflict) as taken:
        await stage.launch(source=str(tmp_path / "nowhere"))
    assert taken.value.message == "there is a session named calm-cove already"
    assert first.id not in taken.value.message + taken.value.hint
    for command in ("--name", "moorage describe calm-cove", "moorage rm calm-cove"):
        assert command in taken.value.hint


async def test_what_cannot_come_with_a_source_is_said(stage: Stage, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "kept").write_text("")
    for number in range(12):
        os.mkfifo(tree / f"p\x1b[2J{number:02}")
    await stage.launch(source=str(tree))
    (warning,) = [said.message for said in stage.said if said.step == "warning"]
    assert "neither file, directory nor link: 12 entries: p00, p01, p02" in warning
    assert warning.endswith("p09, and 2 more")


async def test_a_login_that_stays_here_is_said_with_its_file_and_not_shown(
    stage: Stage, tmp_path: Path
) -> None:
    (tmp_path / "tree/r/.git").mkdir(parents=True)
    config = '[remote "origin"]\n\turl = https://bob:planted-pw@git.test/r.git\n'
    (tmp_path / "tree/r/.git/config").write_text(config)
    await stage.launch(source=str(tmp_path / "tree"))
    (warning,) = [said.message for said in stage.said if said.step == "warning"]
    assert warning == "the agent gets these files of git without the logins in them: 1 entry: r/.git/config"


async def test_a_name_taken_while_a_source_is_read_leaves_nothing_of_the_second_session(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[str] = []
    add, prepare = stage.store.sessions.add, stage.parts.sources.prepare

    async def noted(session: Session, secrets: Mapping[str, bytes], *more: Any) -> None:
        offered.extend(secrets)
        await add(session, secrets)

    async def overtaken(*args: Any, **more: Any) -> SourceSpec:
        spec = await prepare(*args, **more)
        await stage.launch()
        monkeypatch.setattr(stage.store.sessions, "add", noted)
        return spec

    monkeypatch.setattr(stage.parts.sources, "prepare", overtaken)
    (tmp_path / "tree").mkdir()
    with pytest.raises(Conflict):
        await stage.launch(source=str(tmp_path / "tree"), env={"A": "1"})
    assert len(offered) == 2
    for ref in offered:
        with pytest.raises(NotFound):
            await stage.store.secrets.get(ref)
    assert not list((tmp_path / "sources").glob("*.tar"))


async def test_values_of_the_environment_are_in_the_secret_store_and_nowhere_else(
    stage: Stage, tmp_path: Path
) -> None:
    session = await stage.running(env={"TOKEN": "planted-value"})
    assert "TOKEN" in session.agent.env_names
    assert b"planted-value" not in msgspec.json.encode(session)
    assert stage.agent.starts[0].env == {"TOKEN": "planted-value"}
    assert "planted-value" not in repr(stage.cluster.objects)
    assert "planted-value" not in repr(stage.said)
    for file in (tmp_path / "data").iterdir():
        assert b"planted-value" not in file.read_bytes(), file.name


async def test_neither_the_link_secret_nor_any_credential_is_in_the_record_or_the_pod(stage: Stage) -> None:
    session = await stage.running()
    secret = (await stage.store.secrets.get(session.inventory.bootstrap_ref)).decode()
    assert len(secret) == 64
    assert secret not in repr(session)
    assert secret not in repr(stage.cluster.objects)
    assert secret not in {n.nonce for n in session.inventory.nonces}


async def test_the_namespaces_uid_is_recorded_at_launch(stage: Stage) -> None:
    session = await stage.launch()
    assert session.inventory.namespace_uid == stage.cluster.only(NAMESPACES)["metadata"]["uid"]


async def test_a_namespace_that_is_not_there_is_named(stage: Stage) -> None:
    stage.cluster.drop(NAMESPACES, "agents")
    with pytest.raises(NotFound, match="agents") as missing:
        await stage.launch()
    assert "kubectl create namespace agents" in missing.value.hint


async def test_a_namespace_that_may_not_be_read_does_not_stop_a_launch(stage: Stage) -> None:
    stage.cluster.fail("get", NAMESPACES, FORBIDDEN)
    assert (await stage.launch()).inventory.namespace_uid == ""


async def test_a_command_too_long_for_one_request_is_refused_and_nothing_recorded(stage: Stage) -> None:
    request = LaunchRequest(TEMPLATE, ["sh", "-c", "x" * 100_000], MODES["empty_dir"], name="long")
    with pytest.raises(UsageError, match="fit"):
        await stage.verbs.launch(request, stage.said.append)
    assert await stage.verbs.list_views() == []
    assert stage.cluster.calls == []


@pytest.mark.parametrize(
    "fault",
    [{"argv": ["x\udcff"]}, {"env": {"A": "x\udcff"}}, {"cwd": "/x\udcff"}],
    ids=["word", "value", "cwd"],
)
async def test_what_would_reach_the_pod_as_other_bytes_is_refused_also_by_a_dry_run(
    stage: Stage, fault: dict[str, Any]
) -> None:
    request = LaunchRequest(
        **{"template_text": TEMPLATE, "workspace": MODES["empty_dir"], "argv": ["x"], **fault}
    )
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        await stage.verbs.launch(request, stage.said.append)
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        await stage.verbs.preview(request)
    await nothing_kept(stage)


async def test_a_command_for_exec_that_would_arrive_as_another_is_refused(stage: Stage) -> None:
    await stage.running()
    with pytest.raises(UsageError, match="word 2 of the command is not UTF-8 text"):
        await stage.verbs.exec("calm-cove", ProcessSpec(["cat", "x\udcff"]))
