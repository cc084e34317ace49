"""A workspace is filled once, with the very bytes that were pinned, before the agent starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .fake_link import FakeLink
from .stage import Stage


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/work.txt").write_text("work\n")
    return str(tmp_path / "tree")


async def test_the_workspace_is_filled_before_the_agent_starts(stage: Stage, source: str) -> None:
    session = await stage.running(source=source)
    steps = [line.partition(" ")[0] for line in stage.log]
    assert steps.index("materialize") < steps.index("start")
    assert b"work\n" in stage.agent.unpacked[0]
    assert session.source is not None
    assert stage.agent.markers == {"/workspace": session.source.marker}
    assert session.filled == session.inventory.claim_uid


@pytest.mark.parametrize("cwd", ["/workspace/sub/dir", "/tmp", "/"])
async def test_a_source_goes_to_the_workspace_wherever_the_agent_starts(
    stage: Stage, source: str, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    materialize = FakeLink.materialize

    async def there_alone(link: FakeLink, path: str, *args: Any, **more: Any) -> Any:
        assert path == "/workspace"  # elsewhere it would be looked for, and unpacked, for ever
        return await materialize(link, path, *args, **more)

    monkeypatch.setattr(FakeLink, "materialize", there_alone)
    session = await stage.running(source=source, cwd=cwd)
    assert session.source is not None
    assert stage.agent.markers == {"/workspace": session.source.marker}
    assert session.filled == session.inventory.claim_uid
    assert [spec.cwd for spec in stage.agent.starts] == [cwd]


async def test_the_hash_of_a_workspace_is_of_all_of_it_wherever_the_agent_starts(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def hash_tree(link: FakeLink, path: str) -> str:
        asked.append(path)
        return "hash"

    monkeypatch.setattr(FakeLink, "hash_tree", hash_tree, raising=False)
    await stage.running(cwd="/workspace/sub")
    assert await stage.verbs.workspace_hash("calm-cove") == "hash"
    assert asked == ["/workspace"]


async def test_a_filled_claim_is_not_filled_again_by_the_next_pod(stage: Stage, source: str) -> None:
    await stage.running(source=source)
    await stage.verbs.pause("calm-cove", stage.said.append)
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert stage.log.count("materialize") == 1


async def test_the_spooled_source_goes_once_the_workspace_holds_it(
    stage: Stage, source: str, tmp_path: Path
) -> None:
    session = await stage.launch(source=source)
    spooled = tmp_path / "sources" / f"{session.id}.tar"
    assert spooled.exists()
    await stage.verbs.resume("calm-cove", stage.said.append)
    assert not spooled.exists()


async def test_an_emptydir_is_filled_anew_in_each_pod_that_never_ran(stage: Stage, source: str) -> None:
    session = await stage.running("empty_dir", source=source)
    assert session.filled == session.inventory.pod_uid
