"""Credentials that are replaced on disk while we run, and those of a Pod."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage.core.errors import ApiError, UsageError
from moorage.kube import in_cluster
from moorage.kube.access import FILE_CHECK, TOKEN_FILE_AGE, Access
from moorage.kube.target import Inline, Login, Target

SECRET = "planted-secret-8d1f"


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def token_of(headers: Any) -> str:
    return str(headers.get("Authorization", ""))


async def test_a_token_file_is_read_again_every_minute_and_survives_its_absence(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    clock = Hands()
    target = Target("http://h", "ns", login=Login(token_file=file))
    access = Access(target, lambda: target, {}, "ua", monotonic=clock)
    seen = [token_of((await access.current()).headers)]
    file.write_text("two")
    clock.time = TOKEN_FILE_AGE - 1
    seen.append(token_of((await access.current()).headers))
    clock.time = TOKEN_FILE_AGE
    seen.append(token_of((await access.current()).headers))
    file.unlink()
    clock.time = 3 * TOKEN_FILE_AGE
    seen.append(token_of((await access.current()).headers))
    assert seen == ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]


async def test_changed_files_are_noticed_and_another_server_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("1")
    clock = Hands()

    def target(server: str, token: str) -> Target:
        return Target(server, "ns", login=Login(token=token), files=(file,))

    now = target("http://a", "one")
    access = Access(now, lambda: now, {}, "ua", monotonic=clock)
    before = await access.current()
    now = target("http://a", "two")
    file.write_text("12")
    assert await access.current() is before
    clock.time = FILE_CHECK
    assert token_of((await access.current()).headers) == "Bearer two"
    now = target("http://b", "three")
    file.write_text("123")
    clock.time = 2 * FILE_CHECK
    for _ in range(3):
        with pytest.raises(ApiError) as caught:
            await access.current()
        assert (caught.value.problem.reason, caught.value.problem.sent) == ("ServerChanged", "no")
    now = target("http://a", "four")
    assert token_of((await access.current()).headers) == "Bearer four"


async def test_a_token_that_no_header_can_carry_is_refused_without_showing_it() -> None:
    target = Target("http://h", "ns", login=Login(token=f"{SECRET}é"))
    with pytest.raises(ApiError) as caught:
        await Access(target, lambda: target, {}, "ua").current()
    assert SECRET not in str(caught.value)


def service_account(folder: Path) -> Path:
    (folder / "token").write_text("sa")
    (folder / "namespace").write_text("own\n")
    (folder / "ca.crt").write_text("x")
    return folder


ENV = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}


def test_a_pod_finds_its_own_cluster(tmp_path: Path) -> None:
    target = in_cluster.load(None, ENV, service_account(tmp_path))
    assert (target.server, target.namespace) == ("https://[fd00::1]:443", "own")
    assert target.login.token_file == tmp_path / "token"
    assert in_cluster.load("other", ENV, tmp_path).namespace == "other"


@pytest.mark.parametrize("environ", [{}, ENV], ids=["no Pod", "no token"])
def test_outside_a_pod_the_service_account_is_refused(tmp_path: Path, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        in_cluster.load(None, environ, tmp_path)
    assert caught.value.field == "auth_mode"


def test_inline_bytes_never_show_in_a_representation() -> None:
    login = Login(token=SECRET, key=Inline(SECRET.encode()))
    assert SECRET not in repr(Target("https://h", "n", login=login, proxy_url=f"http://u:{SECRET}@p"))
