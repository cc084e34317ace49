"""From a profile and a wish to a launch; and what neither may bring into a session."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from moorage.core.errors import Conflict, DocumentError, UsageError
from moorage.core.service.records import EnvEntry, Policy, Profile, ProfileSpec, Verdict
from moorage.core.session import Phase, WorkspaceMode, WorkspaceSpec
from moorage.presets import Presets
from moorage.server.launching import Wish, resolved, secrets_needed
from tests.api.service import TEMPLATE, Service
from tests.api.test_following import hear


def profile(**fields: Any) -> Profile:
    spec = {
        "pod_template_yaml": TEMPLATE,
        "workspace": WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi"),
        "command": ("agent",),
        **fields,
    }
    return Profile("p1", "e1", "small", ProfileSpec(**spec), created_at=0.0, updated_at=0.0)


def test_the_profile_says_what_runs_and_the_wish_adds_to_it() -> None:
    env = (EnvEntry("PLAIN", "a"), EnvEntry("KEY", secret="moorage://KEY"))
    made = profile(env=env)
    assert secrets_needed(made.spec) == ("KEY",)
    request = resolved(made, Wish(args=("--fast",), env={"PLAIN": "b"}), task_id="t1", secrets={"KEY": "s"})
    assert (tuple(request.argv), request.env) == (("agent", "--fast"), {"PLAIN": "b", "KEY": "s"})
    assert (request.task_id, request.profile_id, request.workspace.size) == ("t1", "p1", "1Gi")


def test_a_preset_gets_the_prompt_its_own_way() -> None:
    wish = Wish(prompt="mend the tests")
    request = resolved(profile(command=(), preset="codex"), wish, preset=Presets().get("codex"))
    assert request.preset is not None
    assert "mend the tests" in (*request.argv, request.preset.input)


REFUSED: dict[str, tuple[Profile, Wish, type[Exception]]] = {
    "a profile that is off": (profile(enabled=False), Wish(), Conflict),
    "a path of the server": (profile(), Wish(source="/etc"), UsageError),
    "a file URL": (profile(), Wish(source="file:///etc"), UsageError),
    "a file URL in capitals": (profile(), Wish(source="FILE:///etc"), UsageError),
    "no command": (profile(command=()), Wish(), UsageError),
    "a script that would not run": (profile(script="true"), Wish(), DocumentError),
}


@pytest.mark.parametrize(("made", "wish", "error"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_launched_as_it_is_said_is_refused(
    made: Profile, wish: Wish, error: type[Exception]
) -> None:
    with pytest.raises(error):
        resolved(made, wish)


def test_a_policy_that_came_after_the_profile_refuses_its_launch() -> None:
    template = TEMPLATE + "    volumes:\n      - {name: host, hostPath: {path: /var}}\n"
    made = profile(pod_template_yaml=template)
    assert resolved(made, Wish()).argv
    with pytest.raises(DocumentError) as refused:
        resolved(made, Wish(), policies=[Policy("host_path", Verdict.REFUSE, 0.0)])
    assert refused.value.problems[0].field.startswith("spec.pod_template_yaml.template.spec.volumes[0]")


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Let the server go on until it holds."""
    while not await holds():  # noqa: ASYNC110 - what is waited for is a row
        await asyncio.sleep(0)


async def _runs(service: Service, session: str) -> bool:
    return (await service.stage.record(session)).state.phase is Phase.RUNNING


async def test_a_launched_session_runs_is_watched_and_outlives_the_server(service: Service) -> None:
    administrator, mia = await service.administrator(), await service.person("mia")
    task = await service.task(mia, (await service.profile(administrator))["id"])
    await service.parts.drivers.start()
    session = await service.session(mia, task)
    stage = service.stage
    await until(lambda: _runs(service, session))
    stage.agent.write(b"hello")
    told = asyncio.create_task(hear(mia, f"/sessions/{session}/attach?offset=0&watch=true"))
    await until(lambda: stage.store.transcripts.end(session))
    await service.parts.drivers.close()
    assert (stage.agent.state, await stage.store.leases.holder(session)) == ("running", "")
    told.cancel()
    assert (await mia.get(f"/sessions/{session}/logs")).body == "hello"
