"""A server in a session is reached from this machine, without a port of the Pod being open to anybody."""

from __future__ import annotations

import http.client
import signal

import pytest
from testcluster.shell import wait_for

from .commands import Moorage, Running
from .conftest import Template

pytestmark = pytest.mark.node

SERVER = "mkdir -p /tmp/w; hostname > /tmp/w/name; exec httpd -f -p 127.0.0.1:8080 -h /tmp/w"


def fetched(address: str) -> str:
    """What the server said; "" while there is none."""
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("GET", "/name")
        answer = connection.getresponse()
        return answer.read().decode().strip() if answer.status == 200 else ""
    except (OSError, http.client.HTTPException):
        return ""
    finally:
        connection.close()


def address_of(forward: Running, port: int) -> str:
    forward.until(f"-> {port}\n".encode())
    lines = [line.split(" -> ") for line in forward.out.decode().splitlines()]
    return next(address for address, remote in lines if remote == str(port))


def test_a_server_is_reached_also_in_the_pod_that_replaces_another(
    moorage: Moorage, template: Template
) -> None:
    run = moorage.run_args("-d", "--name", "web", template=template(), command=["sh", "-c", SERVER])
    moorage(*run)
    forward = moorage.start("port-forward", "web", "0:8080", ":9")
    address = address_of(forward, 8080)
    pod = moorage.session("web")["pod"]
    assert wait_for("an answer of the server", lambda: fetched(address), 60) == pod["name"]

    assert fetched(address_of(forward, 9)) == ""
    forward.until_said("nothing listens on port 9 in the Pod of web")

    moorage("reset", "web")
    assert moorage.session("web")["pod"]["uid"] != pod["uid"]
    assert wait_for("an answer of the new Pod's server", lambda: fetched(address), 60) == pod["name"]

    forward.process.send_signal(signal.SIGINT)
    assert forward.end().code == 130
    assert fetched(address) == ""
