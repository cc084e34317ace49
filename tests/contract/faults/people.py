"""A person with a data folder, whose every command is the library opened, used and closed, as the CLI does.

Used by ``story``. Nothing of the library is replaced: its composition root, the settings there are, a
kubeconfig that names the proxy.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from moorage.cli.wiring import GlobalOptions
from moorage.main import Composition
from moorage.ports.sessions import SessionVerbs
from tests.contract.data_folder import left_in


class Person:
    """``server``: URL of the proxy's lane; ``token``: who they are to the API server."""

    def __init__(self, home: Path, server: str, token: str, namespace: str) -> None:
        self._home, self._namespace = home, namespace
        home.mkdir(parents=True)
        self._kubeconfig = home / "kubeconfig"
        self._kubeconfig.touch(mode=0o600)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lane",
            "clusters": [{"name": "lane", "cluster": {"server": server}}],
            "users": [{"name": "lane", "user": {"token": token}}],
            "contexts": [
                {"name": "lane", "context": {"cluster": "lane", "user": "lane", "namespace": namespace}}
            ],
        }
        self._kubeconfig.write_text(json.dumps(config))

    @asynccontextmanager
    async def command(self, timeout: float = 60.0) -> AsyncIterator[SessionVerbs]:
        """One command's worth of the library. ``timeout``: seconds it gives one API call."""
        environ = {
            "HOME": str(self._home),
            "MOORAGE_DATA_DIR": str(self._home / "data"),
            "MOORAGE_CONFIG_DIR": str(self._home / "config"),
        }
        options = GlobalOptions(
            kubeconfig=str(self._kubeconfig),
            namespace=self._namespace,
            request_timeout=timeout,
            no_input=True,
        )
        sessions = await Composition(environ).sessions(options)
        try:
            yield sessions
        finally:
            await sessions.close()

    def left(self) -> list[str]:
        """What the data folder still holds of sessions: secrets, records, spooled sources."""
        return left_in(self._home / "data")
