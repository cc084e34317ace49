"""The smallest JSON client for one identity of one API server.

Called by the launcher, the provisioner and tests. It never retries and never hides a status code.
"""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from .cluster import Cluster

Json = Any  # whatever JSON holds; callers index into it


class Api:
    """`api("GET", "/api/v1/nodes")` → (status, decoded body or text)."""

    def __init__(self, cluster: Cluster, user: str = "admin", server: int = 1, agent: str = "") -> None:
        self.host = cluster.host
        self.port = cluster.state.ports["api" if server == 1 else "api2"]
        self.agent = agent or f"testcluster-{user}"
        self.tls = ssl.create_default_context(cafile=str(cluster.dir / "pki/ca.crt"))
        self.tls.load_cert_chain(cluster.dir / f"pki/{user}.crt", cluster.dir / f"pki/{user}.key")

    def open(
        self, method: str, path: str, body: Json = None, kind: str = "application/json", timeout: float = 30
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request; the caller reads the response (a watch: line by line) and closes the connection."""
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=timeout)
        headers = {"Content-Type": kind, "User-Agent": self.agent}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        return connection, connection.getresponse()

    def __call__(
        self, method: str, path: str, body: Json = None, kind: str = "application/json", timeout: float = 30
    ) -> tuple[int, Json]:
        """Status and body: decoded when it is one JSON object, else text."""
        connection, answer = self.open(method, path, body, kind, timeout)
        try:
            data = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(data)
        except ValueError:
            return answer.status, data.decode(errors="replace")
