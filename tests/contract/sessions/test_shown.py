"""What lists, descriptions and events show of a session on a real node: why, where, and which object."""

from __future__ import annotations

import pytest

from .commands import Moorage
from .conftest import Template

pytestmark = pytest.mark.node


def test_a_list_says_how_the_agent_ended_and_where_and_events_name_their_objects(
    moorage: Moorage, template: Template, namespace: str
) -> None:
    flags = ["--workspace", "empty_dir", "--name", "shown"]
    moorage(*moorage.run_args(*flags, template=template(), command=["sh", "-c", "exit 3"]), code=3)
    try:
        header, row = moorage("ls").out.decode().splitlines()
        assert row[header.index("REASON") :] == "exited 3"
        session = moorage.session("shown")
        header, row = moorage("ls", "-n", namespace, "-o", "wide").out.decode().splitlines()
        assert row[header.index("NAMESPACE") :].split()[:2] == [namespace, session["context"]]
        assert moorage("ls", "-n", "elsewhere", "-q").out == b""
        assert moorage("ls", "-n", "elsewhere", "-A", "-q").out == b"shown\n"
        events = moorage("events", "shown", "-o", "json").json()["items"]
        assert {"session/shown", f"pod/{session['pod']['name']}"} <= {event["object"] for event in events}
        assert "Scheduled" in {event["name"] for event in events}
    finally:
        moorage("rm", "-y", "shown")
