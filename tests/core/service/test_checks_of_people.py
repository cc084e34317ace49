"""People, tasks and tokens: each fault is named by its field."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.core.service.checks_of_people import check_task, check_token, check_user
from moorage.core.service.records import Role, Scope, Task, Token, User
from moorage.core.session import change

ANN = User("u1", "ann", Role.MEMBER, 0.0, 0.0, email="ann@example.org")
ROOF = Task("t1", "Mend the roof", "u1", 0.0, 0.0)
KEY = Token("k1", "u1", "ci", Scope.READ, 0.0)
NOW = 1000.0

USERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"email": ""}, set()),
    ({"name": "ann.b@example.org"}, set()),
    ({"issuer": "https://id.example.org", "subject": "42"}, set()),
    ({"name": ""}, {"name"}),
    ({"name": "Ann"}, {"name"}),
    ({"name": "-ann"}, {"name"}),
    ({"name": "an/n"}, {"name"}),
    ({"name": "a" * 64}, {"name"}),
    ({"email": "ann"}, {"email"}),
    ({"email": "a@b\x1b"}, {"email"}),
    ({"issuer": "https://id.example.org"}, {"subject"}),
    ({"subject": "42"}, {"issuer"}),
    ({"issuer": "http://id.example.org", "subject": "42"}, {"issuer"}),
]
TASKS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"prompt": "line\nline", "column": "in_review"}, set()),
    ({"title": " "}, {"title"}),
    ({"title": "a\nb"}, {"title"}),
    ({"title": "x" * 201}, {"title"}),
    ({"prompt": "\0"}, {"prompt"}),
    ({"prompt": "\udcff"}, {"prompt"}),
    ({"prompt": "x" * 200_000}, {"prompt"}),
    ({"column": ""}, {"column"}),
    ({"column": "To Do", "title": ""}, {"column", "title"}),
]
TOKENS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"expires_at": NOW + 1}, set()),
    ({"expires_at": NOW}, {"expires_at"}),
    ({"expires_at": -1.0}, {"expires_at"}),
    ({"expires_at": float("inf")}, {"expires_at"}),
    ({"expires_at": float("nan")}, {"expires_at"}),
    ({"name": ""}, {"name"}),
    ({"name": "a\x1b"}, {"name"}),
]


@pytest.mark.parametrize(("changed", "fields"), USERS)
def test_a_person(changed: dict[str, Any], fields: set[str]) -> None:
    assert {found.field for found in check_user(change(ANN, **changed))} == fields


@pytest.mark.parametrize(("changed", "fields"), TASKS)
def test_a_task(changed: dict[str, Any], fields: set[str]) -> None:
    assert {found.field for found in check_task(change(ROOF, **changed))} == fields


@pytest.mark.parametrize(("changed", "fields"), TOKENS)
def test_a_token(changed: dict[str, Any], fields: set[str]) -> None:
    assert {found.field for found in check_token(change(KEY, **changed), NOW)} == fields
