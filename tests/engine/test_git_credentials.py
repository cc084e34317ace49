"""A source's password goes to the host it was given for, and to no other."""

from __future__ import annotations

import base64
import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from moorage.core.errors import MoorageError
from moorage.engine.git import clone

PASSWORD = r"planted\npw%s"
LOGIN = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()


class Handler(http.server.SimpleHTTPRequestHandler):
    """Asks for a login; with one, serves its folder, or redirects to ``elsewhere``."""

    def __init__(
        self, seen: list[str], elsewhere: str, before: bool, *args: object, directory: str | None = None
    ) -> None:
        self.seen, self.elsewhere, self.before = seen, elsewhere, before
        super().__init__(*args, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        login = self.headers.get("Authorization", "")
        self.seen.append(login)
        if self.elsewhere and (self.before or login):
            self.send_response(302)
            self.send_header("Location", self.elsewhere + self.path)
        elif login != LOGIN:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
        else:
            super().do_GET()
            return
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


@contextmanager
def server(folder: Path, seen: list[str], elsewhere: str = "", *, before: bool = False) -> Iterator[str]:
    """The address of a server; ``seen`` gets the login of every request, "" for none."""
    handler = functools.partial(Handler, seen, elsewhere, before, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}"
        finally:
            serving.shutdown()
            thread.join()


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """A folder with the bare repository r.git."""
    folder = tmp_path / "served"
    bare = folder / "r.git"
    bare.mkdir(parents=True)
    identity = ["-c", "user.name=t", "-c", "user.email=t@t.test", "-c", "commit.gpgsign=false"]
    tree = ["mktree"]
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", "."], cwd=bare, check=True)
    empty = subprocess.run(["git", *tree], cwd=bare, check=True, capture_output=True, input=b"").stdout
    words = [*identity, "commit-tree", "-m", "first", empty.decode().strip()]
    commit = subprocess.run(["git", *words], cwd=bare, check=True, capture_output=True).stdout
    subprocess.run(["git", "update-ref", "refs/heads/main", commit.decode().strip()], cwd=bare, check=True)
    subprocess.run(["git", "update-server-info"], cwd=bare, check=True)
    return folder


async def test_the_host_it_was_given_for_gets_the_password_as_it_is(served: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    with server(served, seen) as address:
        await clone(f"{address}/r.git", tmp_path / "clone", user="me", password=PASSWORD)
    assert set(seen[1:]) == {LOGIN}
    assert (tmp_path / "clone/.git").is_dir()


@pytest.mark.parametrize("before", [False, True], ids=["after the login", "before any login"])
async def test_a_host_that_is_redirected_to_receives_nothing(
    served: Path, tmp_path: Path, *, before: bool
) -> None:
    first: list[str] = []
    evil: list[str] = []
    with (
        server(served, evil) as other,
        server(served, first, other, before=before) as address,
        pytest.raises(MoorageError) as caught,
    ):
        await clone(f"{address}/r.git", tmp_path / "clone", user="me", password=PASSWORD)
    assert first, "the first host was asked"
    assert evil == []
    assert "final URL" in caught.value.hint


async def test_even_where_redirects_are_followed_the_other_host_gets_no_password(
    served: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A person's own configuration for one URL is stronger than ours for all.
    first: list[str] = []
    evil: list[str] = []
    with server(served, evil) as other, server(served, first, other, before=True) as address:
        for name, value in (
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", f"http.{address}.followRedirects"),
            ("GIT_CONFIG_VALUE_0", "true"),
        ):
            monkeypatch.setenv(name, value)
        with pytest.raises(MoorageError):
            await clone(f"{address}/r.git", tmp_path / "clone", user="me", password=PASSWORD)
    assert set(evil) == {""}
