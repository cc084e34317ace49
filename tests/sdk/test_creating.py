"""The life of a sandbox object: what is asked of the verbs, what is left when something goes wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moorage import (
    AsyncSandbox,
    ConflictException,
    NotOffered,
    Place,
    SandboxFailedException,
    SandboxNotFoundException,
    SandboxQuery,
    SandboxState,
)
from moorage.core.errors import Conflict, NotFound, SessionFailed, UsageError
from moorage.core.session import HelperSpec, WorkspaceMode, WorkspaceSpec
from moorage.sdk import opening
from moorage.sdk.opening import Opened
from tests.cli.scripted_views import make_view
from tests.sdk.fakes import Verbs, paused, sandbox_view


def acts(verbs: Verbs) -> list[str]:
    return [call[0] for call in verbs.calls]


async def test_a_sandbox_is_a_session_that_waits_and_is_removed_at_the_end(verbs: Verbs) -> None:
    async with await AsyncSandbox.create(
        b"text", metadata={"a": "1"}, envs={"TOKEN": "x"}, name="one", source="/src", at=verbs
    ) as sandbox:
        assert sandbox.name == "brisk-otter"
        assert acts(verbs) == ["launch", "resume"]
    assert acts(verbs) == ["launch", "resume", "remove"]
    request = verbs.request
    assert request is not None
    assert list(request.argv) == ["/opt/moorage/agentctl", "idle"]
    assert (request.template_text, request.metadata, request.env) == (b"text", {"a": "1"}, {"TOKEN": "x"})
    assert (request.name, request.source) == ("one", "/src")


@pytest.mark.parametrize("keep", [True, False])
async def test_one_that_is_to_be_kept_stays(verbs: Verbs, keep: bool) -> None:
    async with await AsyncSandbox.create(keep=keep, at=verbs):
        pass
    assert ("remove" in acts(verbs)) is not keep


async def test_a_start_that_fails_leaves_nothing_and_says_why(verbs: Verbs) -> None:
    verbs.failures["resume"] = SessionFailed(
        "no image", hint="pull it", details={"category": "image_missing"}
    )
    with pytest.raises(SandboxFailedException, match="no image") as caught:
        await AsyncSandbox.create(at=verbs)
    assert (caught.value.reason, caught.value.hint) == ("image_missing", "pull it")
    assert verbs.calls[-1][:3] == ("remove", verbs.views[0].session.id, True)


async def test_one_whose_agent_ended_at_once_did_not_start(verbs: Verbs) -> None:
    verbs.views = [paused(sandbox_view())]
    with pytest.raises(SandboxFailedException):
        await AsyncSandbox.create(at=verbs)
    assert "remove" in acts(verbs)


async def test_a_create_is_made_again_by_its_name(verbs: Verbs) -> None:
    verbs.failures["launch"] = Conflict("there is a session named brisk-otter already")
    with pytest.raises(ConflictException):
        await AsyncSandbox.create(name="brisk-otter", at=verbs)
    again = await AsyncSandbox.create(name="brisk-otter", adopt_existing=True, at=verbs)
    assert again.sandbox_id == verbs.views[0].session.id
    assert acts(verbs)[-1] == "resume"
    assert "remove" not in acts(verbs)
    with pytest.raises(ConflictException):
        await AsyncSandbox.create(name="another", adopt_existing=True, at=verbs)
    verbs.views = [make_view()]
    with pytest.raises(ConflictException):  # an agent's session is nobody's sandbox
        await AsyncSandbox.create(name="brisk-otter", adopt_existing=True, at=verbs)


async def test_one_that_is_adopted_and_does_not_start_is_not_removed(verbs: Verbs) -> None:
    verbs.failures |= {"launch": Conflict("taken"), "resume": SessionFailed("no image")}
    with pytest.raises(SandboxFailedException):
        await AsyncSandbox.create(name="brisk-otter", adopt_existing=True, at=verbs)
    assert "remove" not in acts(verbs)


async def test_connecting_by_id_resumes_and_keeps(verbs: Verbs) -> None:
    async with await AsyncSandbox.connect(verbs.views[0].session.id, at=verbs) as sandbox:
        assert await sandbox.connect() is sandbox
    assert acts(verbs) == ["view", "resume", "resume"]
    with pytest.raises(SandboxNotFoundException):
        await AsyncSandbox.connect("nobody", at=verbs)


async def test_its_time_is_over_once(verbs: Verbs) -> None:
    sandbox = await AsyncSandbox.create(timeout=1000, at=verbs)
    end = (await sandbox.get_info()).end_at
    await sandbox.set_timeout(None)
    assert end is not None
    assert (await sandbox.get_info()).end_at is None
    removed = asyncio.Event()
    verbs.on_remove = removed.set
    await sandbox.set_timeout(0)
    await removed.wait()
    assert sandbox._ending is not None
    await sandbox._ending
    with pytest.raises(UsageError, match="closed"):
        await sandbox.get_info()


async def test_what_the_class_is_asked_by_id_is_what_the_object_is_asked(verbs: Verbs) -> None:
    sandbox = await AsyncSandbox.connect("brisk-otter", at=verbs)
    assert await AsyncSandbox.get_info("brisk-otter", at=verbs) == await sandbox.get_info()
    (by_id,), (own,) = await AsyncSandbox.get_metrics("brisk-otter", at=verbs), await sandbox.get_metrics()
    assert (by_id.mem_used, by_id.mem_total) == (own.mem_used, own.mem_total) == (1 << 20, 1 << 30)
    assert not await AsyncSandbox.pause("brisk-otter", at=verbs)
    assert not await sandbox.pause(discard_workspace=True)
    assert [call[1:] for call in verbs.calls if call[0] == "pause"] == [
        ("brisk-otter", False),
        (sandbox.sandbox_id, True),
    ]
    assert await AsyncSandbox.kill("brisk-otter", keep_workspace=True, at=verbs)
    assert await sandbox.kill()
    assert not await AsyncSandbox.kill("nobody", at=verbs)


async def test_running_is_only_what_was_seen_to_run(verbs: Verbs) -> None:
    sandbox = await AsyncSandbox.connect("brisk-otter", at=verbs)
    seen = {}
    for word in ("Running", "Unknown", "Paused", "Unhealthy"):
        verbs.views = [sandbox_view(word=word)]
        seen[word] = await sandbox.is_running()
    assert seen == {"Running": True, "Unknown": False, "Paused": False, "Unhealthy": False}
    verbs.views = []
    assert not await sandbox.is_running()


async def test_what_is_not_offered_says_why(verbs: Verbs) -> None:
    sandbox = await AsyncSandbox.connect("brisk-otter", at=verbs)
    with pytest.raises(NotOffered, match="NetworkPolicy"):
        _ = sandbox.update_network  # type: ignore[attr-defined]
    assert not hasattr(sandbox, "nonsense")
    assert not hasattr(sandbox.commands, "stream_input")


async def test_settings_say_what_was_not_given(verbs: Verbs, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_bytes(b"kind: PodTemplate")
    settings = {
        "template": str(tmp_path / "pod.yaml"),
        "workspace_size": "2Gi",
        "storage_class": "fast",
        "helper": "image",
        "helper_image": "r/h@sha256:1",
        "main_container": "main",
        "transport": "exec",
    }

    async def opened(place: Place) -> Opened:
        return Opened(verbs, lambda key: settings.get(key, ""))

    before = list(opening._openers)
    opening.use_opener(opened)
    try:
        async with await AsyncSandbox.create(at=Place("here")):
            pass
        with pytest.raises(NotFound, match="cannot read the template"):
            await AsyncSandbox.create(tmp_path / "none", at=Place("here"))
        settings["workspace"] = "existing_claim"
        with pytest.raises(UsageError, match="existing_claim"):
            await AsyncSandbox.create(at=Place("here"))
    finally:
        opening._openers[:] = before
    request = verbs.request
    assert request is not None
    assert request.template_text == b"kind: PodTemplate"
    assert request.workspace == WorkspaceSpec(
        mode=WorkspaceMode.MANAGED_PVC, size="2Gi", storage_class="fast"
    )
    assert request.helper == HelperSpec(source="image", image="r/h@sha256:1")
    assert (request.main_container, request.transport) == ("main", "exec")
    assert verbs.closed == 3  # each time the last user of the place had gone


async def test_the_sandboxes_of_a_place_share_what_was_opened(verbs: Verbs) -> None:
    opens: list[Place] = []

    async def opened(place: Place) -> Opened:
        opens.append(place)
        return Opened(verbs, lambda key: "")

    before = list(opening._openers)
    opening.use_opener(opened)
    try:
        first, second = (
            await AsyncSandbox.create(at=Place("a")),
            await AsyncSandbox.connect("brisk-otter", at=Place("a")),
        )
        await AsyncSandbox.get_info("brisk-otter", at=Place("b"))
        assert (opens, verbs.closed) == ([Place("a"), Place("b")], 1)
        await first.close()
        await first.close()
        assert await second.is_running()
        assert verbs.closed == 1
        await second.kill()
        assert verbs.closed == 2
    finally:
        opening._openers[:] = before


async def test_a_list_has_pages_and_only_sandboxes(verbs: Verbs) -> None:
    made = [sandbox_view(f"box-{n}", created_at=1000.0 + n, metadata={"n": str(n % 2)}) for n in range(5)]
    verbs.views = [*made, make_view("an-agent"), paused(sandbox_view("old", created_at=1.0))]
    pages = AsyncSandbox.list(limit=2, at=verbs)
    seen = []
    while pages.has_next:
        seen.append([info.name for info in await pages.next_items()])
    assert seen == [["box-4", "box-3"], ["box-2", "box-1"], ["box-0", "old"]]
    with pytest.raises(UsageError, match="no more pages"):
        await pages.next_items()
    first = AsyncSandbox.list(limit=4, order="asc", at=verbs)
    await first.next_items()
    rest = AsyncSandbox.list(next_token=first.next_token, order="asc", at=verbs)
    assert [info.name for info in await rest.next_items()] == ["box-3", "box-4"]
    odd = AsyncSandbox.list(SandboxQuery(metadata={"n": "1"}), at=verbs)
    assert [info.metadata["n"] for info in await odd.next_items()] == ["1", "1"]
    idle = AsyncSandbox.list(SandboxQuery(state=[SandboxState.PAUSED]), at=verbs)
    assert [info.name for info in await idle.next_items()] == ["old"]
