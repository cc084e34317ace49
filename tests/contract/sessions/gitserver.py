"""A git server that wants a password, and repositories with everything in them that git can hold."""

from __future__ import annotations

import base64
import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}


def git(folder: Path, *args: str) -> str:
    """Output of one git command; fails the test when git does."""
    done = subprocess.run(["git", *args], cwd=folder, env=WHO, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, **files: str) -> Path:
    """A repository with one commit of these files on branch main."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first", "--allow-empty")
    return folder


@dataclass
class Served:
    """``url``: without credentials. ``commands``: every command line of this machine, as it stood while the
    repository was being read. ``refused``: requests without the right password."""

    url: str
    commands: list[bytes] = field(default_factory=list)
    refused: int = 0


class _Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, served: Served, password: str, *args: object, directory: str) -> None:
        self.served = served
        self.wanted = "Basic " + base64.b64encode(f"me:{password}".encode()).decode()
        super().__init__(*args, directory=directory)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != self.wanted:
            self.served.refused += 1
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.served.commands += _command_lines()
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def _command_lines() -> list[bytes]:
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return lines


@contextmanager
def serve(repositories: Path, password: str) -> Iterator[Served]:
    """Serve the bare repositories of a folder over HTTP to user ``me`` with this password."""
    served = Served("")
    handler = functools.partial(_Handler, served, password, directory=str(repositories))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
