"""A PostgreSQL server of this run alone, for tests of the store. Used by the fixture ``postgresql``.

In a folder of its own, reached by a unix socket only, ended and removed with the run. It syncs nothing to
the disk: what survives a power cut is PostgreSQL's promise, not ours. Its server refuses to run as root, so
there it runs as ``nobody``; when the process that started it dies, it ends too.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path

from moorage.store.migrate import POSTGRESQL

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian puts each version."""
PACKAGE = "postgresql-15"
WAIT = 60.0
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
_QUIET = ("listen_addresses=", "max_connections=60")


def programs() -> Path | None:
    """The folder with initdb and postgres, of the newest version there is; None: none that is new enough."""
    found = [path for path in INSTALLED.glob("*/bin") if (path / "initdb").exists()]
    versions = {int(path.parent.name): path for path in found if re.fullmatch(r"\d+", path.parent.name)}
    newest = max(versions, default=0)
    if newest >= POSTGRESQL:
        return versions[newest]
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


class Server:
    """``end`` it."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="moorage-pg-"))  # short: sockets have short paths
        self._as = _other_user() if os.geteuid() == 0 else []
        if self._as:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
        self._numbers = count(1)
        data = self._folder / "data"
        self._run("initdb", "-D", data, "-U", "moorage", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        options = [word for option in (*_FAST, *_QUIET) for word in ("-c", option)]
        command: list[str | Path] = [
            *self._as,
            programs / "postgres",
            "-D",
            data,
            "-k",
            self._folder,
            *options,
        ]
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)
        self._run("pg_isready", "-h", self._folder, "-t", str(int(WAIT)), patient=True)

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://moorage@/{database}?host={self._folder}"

    def new_database(self, template: str = "template0") -> str:
        """Its name. ``template``: what it begins as."""
        name = f"t{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, name: str) -> None:
        """Each takes 8 MB of the disk."""
        self.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def sql(self, text: str, database: str = "postgres") -> str:
        """What psql prints."""
        return self._run("psql", "-h", self._folder, "-U", "moorage", "-d", database, "-qAtc", text)

    def end(self) -> None:
        """All of it is gone afterwards."""
        self._process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
        try:
            self._process.wait(WAIT)
        finally:
            self._process.kill()
            self._process.wait()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *words: str | Path, patient: bool = False) -> str:
        argv: list[str | Path] = [*self._as, self._programs / program, *words]
        while True:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=self._folder)
            if not done.returncode:
                return done.stdout
            if not patient or self._process.poll() is not None:
                raise AssertionError(f"{program}: {done.stderr}")


def _other_user() -> list[str | Path]:
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--pdeathsig=INT", "--"]
