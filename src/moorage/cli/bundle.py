"""``doctor --bundle FILE``: what somebody needs to look into a fault, in one archive without credentials.

Called by ``verbs.doctor``. Holds no output of agents, no value of a variable, no words of a command. What the
archive holds is redacted by ``core.redaction`` before it is written.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import platform
import tarfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from moorage.cli.command import Call
from moorage.cli.shapes import connection_test_object, event_object, session_object
from moorage.core.errors import Conflict, MoorageError
from moorage.core.kinds import Json
from moorage.core.redaction import MASK, Redactor, pod_values
from moorage.ports.sessions import ConnectionTest, SessionVerbs, SessionView

FOLDER: Final = "moorage-report"
_AT_ONCE: Final = 8
_README: Final = """\
What `moorage doctor --bundle` wrote on {when}.

  versions.json        of Moorage, of what it is made of, of this machine and of the API server
  settings.json        settings in force and where each comes from
  doctor.json          the checks
  sessions/NAME.json   a session's record, its events, its Pod and how much of its output is kept

It holds no output of an agent, no value of a variable, no words of a command and no annotation. Where such a
value, or something that looks like a credential, stood in a text, there is {mask}. Read it before you hand it
on.
"""


async def write_bundle(call: Call, sessions: SessionVerbs, test: ConnectionTest, file: Path) -> int:
    """Gather, redact and write; returns how many sessions are in it. Conflict where the file is there,
    MoorageError where it cannot be written."""
    views = await sessions.list_views(include_archived=True)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(view: SessionView) -> tuple[dict[str, Any], list[str]]:
        async with gate:
            return await _session(sessions, view)

    gathered = await asyncio.gather(*(one(view) for view in views))
    redactor = Redactor(value for _, values in gathered for value in values)
    documents: dict[str, Any] = {
        "versions.json": await _versions(call, sessions),
        "settings.json": [_setting(one) for one in call.wiring.settings(call.typed)],
        "doctor.json": connection_test_object(test),
    }
    for view, (found, _) in zip(views, gathered, strict=True):
        documents[f"sessions/{view.session.name}.json"] = found
    files = {"README.txt": _README.format(when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), mask=MASK)}
    for name, document in documents.items():
        shown = redactor.tree(_pods_redacted(document, redactor))
        files[name] = json.dumps(shown, indent=2, ensure_ascii=False) + "\n"
    _write(file, {name: text.encode() for name, text in files.items()})
    return len(views)


async def _session(sessions: SessionVerbs, view: SessionView) -> tuple[dict[str, Any], list[str]]:
    """One session's document, and the values that must not be in it."""
    session = view.session
    record = session_object(view)
    record["agent"] = {key: part for key, part in record["agent"].items() if not key.endswith("argv")}
    record["agent"]["words"] = len(session.agent.argv)
    template = (session.inventory.snapshot.template.get("template")) or session.inventory.snapshot.template
    found: dict[str, Any] = {"session": record, "template": template, "intent": session.intent.desired.value}
    told = [text for text in (session.agent.input, session.agent.resume_input) if text]
    secret = [*session.agent.argv, *session.agent.resume_argv, *told, *pod_values(template)]
    try:
        evidence = await sessions.evidence(session.id)
        found |= {"pod": evidence.pod, "pod_unseen": evidence.unseen}
        found["output"] = {"kept_from": evidence.kept_from, "end": evidence.end}
        secret += pod_values(evidence.pod or {})
        found["events"] = [event_object(event) for event in await sessions.events(session.id)]
    except MoorageError as error:  # what is known goes in, and what is not is said
        found["missing"] = error.message
    return found, secret


def _pods_redacted(document: Any, redactor: Redactor) -> Any:
    if not isinstance(document, dict):
        return document
    pods = {key: document[key] for key in ("template", "pod") if isinstance(document.get(key), dict)}
    return document | {key: redactor.pod(pod) for key, pod in pods.items()}


def _setting(one: Any) -> Json:
    return {"name": one.name, "value": one.value or None, "source": one.source or None}


async def _versions(call: Call, sessions: SessionVerbs) -> Json:
    versions = call.wiring.versions()
    try:
        server = await sessions.server_version()
    except MoorageError as error:
        server = f"unknown: {error.message}"
    return {
        "client": versions.client,
        "helper": versions.helper or None,
        "server": server,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libraries": dict(_libraries()),
    }


def _libraries() -> Iterator[tuple[str, str]]:
    for requirement in metadata.requires("moorage") or []:
        name = requirement.split(";")[0].split("[")[0]
        name = name.split(">")[0].split("=")[0].split("<")[0].split("~")[0].split("!")[0].strip()
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "not installed"


def _write(file: Path, files: dict[str, bytes]) -> None:
    """All in memory first, then one new file that only its owner can read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"{FOLDER}/{name}")
            member.size, member.mode, member.mtime = len(data), 0o600, int(time.time())
            archive.addfile(member, io.BytesIO(data))
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(packed.getvalue())
    except FileExistsError:
        raise Conflict(f"{file} is there already", field="--bundle", hint="name another file") from None
    except OSError as error:
        raise MoorageError(f"cannot write {file}: {error.strerror}", field="--bundle") from error
