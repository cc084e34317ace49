"""After any refusal the database is as it was before, but for the audit; and no secret is anywhere in
clear."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.api.scripted_places import on_record
from tests.api.service import EXECUTOR, PROFILE, TEMPLATE, Client, Service

PLANTED = "planted-Zx81-secret-value"


def dump(service: Service, folder: Path) -> list[str]:
    """Every row but the audit's, and but the notes of use and of failed sign-ins."""
    with sqlite3.connect(next((folder / "data").glob("*.db"))) as database:
        lines = list(database.iterdump())
    return [
        line for line in lines if not line.startswith(('INSERT INTO "audit', 'INSERT INTO "service_audit'))
    ]


WRONG = {"auth_mode": "in_cluster", "namespace": "A B"}
TWO_WAYS = {"pod_template_yaml": TEMPLATE, "preset": "custom", "command": ["agent"]}
REFUSED: list[tuple[str, str, Any]] = [
    ("POST", "/executors", {"name": "two", "spec": WRONG}),
    ("POST", "/executors", EXECUTOR),
    ("PATCH", "/executors/{executor}", {"name": "other", "spec": WRONG}),
    ("POST", "/executors/{executor}/profiles", {"name": "two", "spec": TWO_WAYS}),
    ("POST", "/executors/none/profiles", PROFILE),
    ("DELETE", "/executors/{executor}", None),
    ("DELETE", "/executors/{executor}/profiles/{profile}", None),
    ("POST", "/tasks", {"title": "x", "profile_id": "none"}),
    ("PATCH", "/tasks/{task}", {"title": "new", "profile_id": "none"}),
    ("POST", "/tasks/{task}/sessions", {"source": "/etc"}),
    ("POST", "/tasks/{task}/sessions", {"source": "file:///etc"}),
    ("POST", "/tasks/{task}/sessions", {"env": {"MOORAGE_X": "1"}}),
    ("POST", "/users", {"name": "Not A Name"}),
    ("DELETE", "/users/{me}", None),
    ("PUT", "/secrets/not%20a%20name", {"value": "x"}),
    ("POST", "/tokens", {"name": "  "}),
    ("POST", "/kubernetes/test", {"spec": {"auth_mode": "kubeconfig", "namespace": "a"}}),
]


@pytest.fixture
async def names(service: Service) -> dict[str, str]:
    """Of an administrator's own task with a session that runs."""
    administrator = await service.administrator()
    profile = await service.profile(administrator)
    task = await service.task(administrator, profile["id"])
    await on_record(service.parts, task, profile["executor_id"], profile["id"])
    assert administrator.user is not None
    return {
        "executor": profile["executor_id"],
        "profile": profile["id"],
        "task": task,
        "me": administrator.user.id,
    }


async def test_nothing_is_half_saved_after_a_refusal(
    service: Service, names: dict[str, str], tmp_path: Path
) -> None:
    administrator = await service.administrator()
    await administrator.get("/me")  # the use of the token is noted now, and not again for a while
    before = dump(service, tmp_path)
    for method, path, body in REFUSED:
        told = await administrator.ask(method, path.format(**names), body, etag="*")
        assert 400 <= told.status < 500, (method, path, told)
        assert dump(service, tmp_path) == before, (method, path)


async def test_a_planted_secret_is_in_no_answer_no_log_and_no_dump(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    administrator = await service.administrator()
    clients: list[Client] = [administrator, service.nobody()]
    await administrator.put("/secrets/KEY", {"value": PLANTED})
    await administrator.put("/me/password", {"password": PLANTED})
    await clients[1].post("/signin/password", {"name": "admin", "password": PLANTED})
    await administrator.post("/executors", {**EXECUTOR, "token": PLANTED})
    profile = await service.profile(administrator)
    task = await service.task(administrator, profile["id"])
    made = await administrator.post(f"/tasks/{task}/sessions", {"env": {"KEY": PLANTED}})
    assert made.status == 201
    for path in ("/secrets", "/audit", "/users", f"/sessions/{made.body['id']}", f"/tasks/{task}/sessions"):
        assert (await administrator.get(path)).status == 200
    said = "\n".join(line for client in clients for line in client.said)
    kept = b"".join(file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file())
    assert PLANTED not in said
    assert PLANTED not in caplog.text
    assert PLANTED.encode() not in kept


async def test_a_token_is_told_once_and_kept_nowhere(service: Service, tmp_path: Path) -> None:
    mia = await service.person("mia")
    value = (await mia.post("/tokens", {"name": "ci"})).body["value"]
    kept = b"".join(file.read_bytes() for file in (tmp_path / "data").rglob("*") if file.is_file())
    assert value.encode() not in kept
    assert value not in str((await mia.get("/tokens")).body)
