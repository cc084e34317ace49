"""Kubeconfig files to one ``Target``: kubectl's list, merge and path rules, strict about what we use.

Called by ``kube.connect`` at the start and by ``kube.access`` when a file changed. Reads files; talks to
nothing else. Errors name file, place and field (``contexts[name=x].context.cluster``), never a value
that could be a credential.

Merge rules are client-go's: of several files the first to set ``current-context``, or to define a named
entry, wins as a whole; missing files of the ``KUBECONFIG`` list are skipped; relative paths belong to
the file they stand in.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from moorage.core.errors import DocumentError, NotFound, Problem, UsageError
from moorage.kube.kubeconfig_entries import Entry, cluster_of, entries
from moorage.kube.kubeconfig_users import login_of
from moorage.kube.kubeconfig_yaml import Document, parse
from moorage.kube.target import Environment, Target


def paths(kubeconfig: str | None, environ: Environment) -> tuple[list[Path], bool]:
    """The files to read, and whether they were named explicitly (then a missing one is an error)."""
    if kubeconfig is not None:
        if not kubeconfig:
            raise UsageError("the kubeconfig path is empty", field="kubeconfig")
        return [Path(kubeconfig).expanduser()], True
    listed = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        return list(dict.fromkeys(listed)), False
    home = environ.get("HOME") or str(Path.home())
    return [Path(home) / ".kube" / "config"], False


def load(kubeconfig: str | None, context: str | None, namespace: str | None, environ: Environment) -> Target:
    """Read and resolve.

    Raises NotFound (no such file, no such context), UsageError (an unreadable file) or DocumentError
    (a fault in a file, with its place; a file that everybody may write).
    """
    files, explicit = paths(kubeconfig, environ)
    documents = [document for path in files if (document := _read(path, explicit)) is not None]
    if not documents:
        shown = ", ".join(str(path) for path in files)
        raise NotFound(
            f"no kubeconfig was found at {shown}",
            field="kubeconfig",
            hint="name one with --kubeconfig, or set KUBECONFIG",
        )
    return _resolve(documents, context, namespace, tuple(path.absolute() for path in files))


def _read(path: Path, explicit: bool) -> Document | None:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except FileNotFoundError:
        if explicit:
            raise NotFound(
                f"the kubeconfig {path} does not exist", field="kubeconfig", hint="check the path"
            ) from None
        return None
    except OSError as error:
        raise UsageError(
            f"the kubeconfig {path} cannot be read: {error.strerror or error}", field="kubeconfig"
        ) from error
    if stat.S_ISREG(mode) and mode & stat.S_IWOTH:  # /dev/null, which everybody may write, says nothing
        raise _writable_by_all(path.absolute(), mode)
    return parse(str(path.absolute()), text)


def _writable_by_all(path: Path, mode: int) -> DocumentError:
    """Whoever can write a kubeconfig has programs run as us (``exec``) and reads what we send."""
    message, hint = f"everybody may write the file (mode {stat.S_IMODE(mode):04o})", f"chmod o-w {path}"
    return DocumentError(f"{path}: {message}", [Problem("", "mode", message, hint, 1, 1)], hint=hint)


def _resolve(
    documents: Sequence[Document], wanted: str | None, namespace: str | None, files: tuple[Path, ...]
) -> Target:
    contexts = _merged(documents, "contexts", "context")
    name = wanted if wanted is not None else _current(documents)
    context = contexts.get(name)
    if context is None:
        known = ", ".join(sorted(contexts)) or "none"
        if wanted is not None:
            raise NotFound(
                f"the kubeconfig has no context {name!r}", field="context", hint=f"contexts here: {known}"
            )
        raise documents[0].fault(
            "current-context", "unknown", f"no context is named {name!r}", f"contexts here: {known}"
        )
    cluster = _referred(context, "cluster", _merged(documents, "clusters", "cluster"))
    if cluster is None:
        raise context.fault("cluster", "required", "the context names no cluster")
    user = _referred(context, "user", _merged(documents, "users", "user"))
    server, trust, proxy_url, cluster_config = cluster_of(cluster)
    return Target(
        server=server,
        namespace=namespace or context.text("namespace") or "default",
        trust=trust,
        login=login_of(user, cluster_config),
        proxy_url=proxy_url,
        context=name,
        files=files,
    )


def _current(documents: Sequence[Document]) -> str:
    for document in documents:
        name = document.root.get("current-context")
        if name is not None and not isinstance(name, str):
            raise document.fault("current-context", "type", "must be text")
        if name:
            return name
    raise documents[0].fault(
        "current-context", "required", "no current context is set", "name one with --context"
    )


def _merged(documents: Sequence[Document], section: str, inner: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for document in documents:
        for name, entry in entries(document, section, inner).items():
            found.setdefault(name, entry)
    return found


def _referred(context: Entry, field: str, among: dict[str, Entry]) -> Entry | None:
    name = context.text(field)
    if not name:
        return None
    entry = among.get(name)
    if entry is None:
        known = ", ".join(sorted(among)) or "none"
        raise context.fault(field, "unknown", f"no {field} is named {name!r}", f"{field}s here: {known}")
    return entry


def context_names(kubeconfig: str | None, environ: Environment) -> list[str]:
    """The names of all contexts, for completion and hints; [] when nothing can be read."""
    files, _ = paths(kubeconfig, environ)
    try:
        documents = [document for path in files if (document := _read(path, False)) is not None]
        return sorted(_merged(documents, "contexts", "context"))
    except (UsageError, DocumentError):
        return []
