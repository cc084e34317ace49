"""The rules of the rows' fields: what one field says about another, and what a template says at all.

Pure. Called before an executor or a profile is stored and before an unsaved one is tried; each fault names
its field as the API has it (``spec.workspace.size``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from moorage.core.command import is_utf8
from moorage.core.errors import DocumentError, Problem
from moorage.core.helper_spec import check_helper
from moorage.core.names import is_dns_label, is_object_name
from moorage.core.owned import ENV_PREFIXES
from moorage.core.service.records import AuthMode, ExecutorSpec, Policy, ProfileSpec, Verdict
from moorage.core.template import TemplateOptions, check_template
from moorage.core.workspace_spec import check_workspace

TEXT_LIMIT = 4096
"""Bytes of one word of a command, and of a path."""
COMMAND_LIMIT = 128 * 1024
CONTENT_LIMIT = 256 * 1024
"""Bytes of a template, a script or an injected file: what is longer belongs into an image."""
ENTRIES = 256
"""Variables, and injected files, of one profile."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"moorage://[A-Za-z0-9]([-A-Za-z0-9_.]{0,125}[A-Za-z0-9])?")
_K8S_SECRET = re.compile(r"k8s-secret://([^#/]+)#([-._a-zA-Z0-9]{1,253})")
_PLATFORMS = ("linux/amd64", "linux/arm64")


def check_executor(spec: ExecutorSpec) -> list[Problem]:
    """Every fault of an executor, whether or not its cluster can be reached."""
    return list(_executor(spec))


def _executor(spec: ExecutorSpec) -> Iterator[Problem]:
    if spec.type != "k8s":
        yield Problem("spec.type", "type", f"{spec.type!r} is no kind of executor", "use k8s")
    if not is_dns_label(spec.namespace):
        said = f"{spec.namespace!r} cannot name a namespace" if spec.namespace else "a namespace is needed"
        yield Problem("spec.namespace", "name", said, "a-z, 0-9 and -, at most 63 characters")
    if not 1 <= spec.request_timeout_seconds <= 300:
        said = f"{spec.request_timeout_seconds} is not from 1 to 300"
        yield Problem("spec.request_timeout_seconds", "range", said, "give seconds")
    if spec.auth_mode is AuthMode.KUBECONFIG:
        yield from _kubeconfig(spec)
        return
    for name in ("kubeconfig_path", "kube_context"):
        if getattr(spec, name):
            said = f"{name} belongs to auth_mode kubeconfig"
            yield Problem(f"spec.{name}", "mode", said, "leave it out with in_cluster")


def _kubeconfig(spec: ExecutorSpec) -> Iterator[Problem]:
    path, field = spec.kubeconfig_path, "spec.kubeconfig_path"
    hint = "give the file's whole path on the server"
    if not path:
        yield Problem(field, "required", "auth_mode kubeconfig needs a file", hint)
    elif not _plain(path):
        yield Problem(field, "path", "the path holds characters that no file here has", hint)
    elif not path.startswith("/"):
        yield Problem(field, "path", f"{path!r} is not absolute", hint)
    elif posixpath.normpath(path) != path:
        yield Problem(
            field, "path", f"{path!r} is not its shortest form", f"write {posixpath.normpath(path)}"
        )
    if not _plain(spec.kube_context, 253):
        said = "the context holds characters that no context has"
        yield Problem("spec.kube_context", "text", said, "kubectl config get-contexts lists them")


def check_profile(spec: ProfileSpec, policies: Sequence[Policy] = ()) -> list[Problem]:
    """Every fault of a profile; what is a warning by itself is one where a policy refuses it."""
    return list(_profile(spec, policies))


def _profile(spec: ProfileSpec, policies: Sequence[Policy]) -> Iterator[Problem]:
    options = TemplateOptions(
        main_container=spec.main_container,
        platform=spec.platform,
        workspace_mode=spec.workspace.mode.value,
        helper_source=spec.helper.source,
    )
    checked = check_template(spec.pod_template_yaml, options)
    yield from below("spec.pod_template_yaml", checked.errors)
    yield from below("spec.pod_template_yaml", refused(checked.warnings, policies))
    yield from below("spec", check_workspace(spec.workspace))
    yield from below("spec", check_helper(spec.helper))
    if spec.platform not in _PLATFORMS:
        yield Problem("spec.platform", "choice", f"{spec.platform!r} is none", " or ".join(_PLATFORMS))
    if spec.helper.source not in ("exec", "image"):
        said = f"{spec.helper.source!r} is no source of the helper"
        yield Problem("spec.helper.source", "choice", said, "exec or image")
    if spec.helper.source == "exec" and spec.helper.image:
        said = "an image of the helper belongs to source image"
        yield Problem("spec.helper.image", "mode", said, "leave it out, or set the source to image")
    yield from _agent(spec)
    yield from _env(spec)
    yield from _files(spec)
    if not _storable(spec.script) or len(spec.script.encode(errors="replace")) > CONTENT_LIMIT:
        said = f"the script is no text, or longer than {CONTENT_LIMIT} bytes"
        yield Problem("spec.script", "size", said, "put it into the image")
    # Refused rather than kept and left out of the sessions that were to have them.
    for name, value in (("files", spec.files), ("script", spec.script), ("pool", spec.pool)):
        if value:
            yield Problem(
                f"spec.{name}", "not_offered", "sessions do not get it yet", "put it into the image"
            )


def _agent(spec: ProfileSpec) -> Iterator[Problem]:
    """The command may be left out: who starts a session then gives one."""
    if spec.preset and spec.command:
        yield Problem("spec.command", "mode", "a preset brings its own command", "give one of the two")
    for index, word in enumerate(spec.command):
        if not _storable(word) or (not word and not index):
            yield Problem(f"spec.command[{index}]", "text", "is no word of a command", "give UTF-8 text")
    if sum(len(word.encode(errors="replace")) for word in spec.command) > COMMAND_LIMIT:
        said = f"the command is longer than {COMMAND_LIMIT} bytes"
        yield Problem("spec.command", "size", said, "put what is long into the image")


def _env(spec: ProfileSpec) -> Iterator[Problem]:
    yield from _too_many("spec.env", len(spec.env))
    seen: set[str] = set()
    for index, entry in enumerate(spec.env):
        field = f"spec.env[{index}]"
        if not _VARIABLE.fullmatch(entry.name):
            said = f"{entry.name!r} is no name of a variable"
            yield Problem(f"{field}.name", "env_name", said, "use A-Z, a-z, 0-9 and _")
        if entry.name.startswith(ENV_PREFIXES):
            said = f"{entry.name} is reserved: variables {' and '.join(ENV_PREFIXES)}* are Moorage's"
            yield Problem(f"{field}.name", "reserved", said, "choose another name")
        if entry.name in seen:
            yield Problem(f"{field}.name", "duplicate", f"{entry.name} stands here twice", "remove one")
        seen.add(entry.name)
        if not _storable(entry.value):
            yield Problem(f"{field}.value", "text", "the value is no text that a variable can hold", "")
        yield from _secret(field, entry.secret, bool(entry.value))


def _files(spec: ProfileSpec) -> Iterator[Problem]:
    yield from _too_many("spec.files", len(spec.files))
    seen: set[str] = set()
    for index, file in enumerate(spec.files):
        field = f"spec.files[{index}]"
        path = file.path
        if not path or not _plain(path) or path.startswith("/") or posixpath.normpath(path) != path:
            said = f"{path!r} is not a plain path below /workspace"
            yield Problem(f"{field}.path", "path", said, "write it like config/agent.toml")
        elif path == "." or path.split("/")[0] == "..":
            said = f"{path!r} does not lie below /workspace"
            yield Problem(f"{field}.path", "path", said, "write it like config/agent.toml")
        if path in seen:
            yield Problem(f"{field}.path", "duplicate", f"{path} stands here twice", "remove one")
        seen.add(path)
        if len(file.content.encode(errors="replace")) > CONTENT_LIMIT:
            said = f"the content is longer than {CONTENT_LIMIT} bytes"
            yield Problem(f"{field}.content", "size", said, "put it into the image")
        if not 0 <= file.mode <= 0o777:
            yield Problem(f"{field}.mode", "range", f"{file.mode:o} is no mode", "from 0 to 777, octal")
        yield from _secret(field, file.secret, bool(file.content))


def _secret(field: str, reference: str, has_value: bool) -> Iterator[Problem]:
    """The reference is in no message: somebody may have put the secret itself there."""
    if reference and has_value:
        yield Problem(f"{field}.secret", "mode", "there is a value, too", "give one of the two")
    found = _K8S_SECRET.fullmatch(reference)
    if found and is_object_name(found[1]):
        hint = "use valueFrom.secretKeyRef in the template"
        yield Problem(f"{field}.secret", "not_offered", "sessions do not get it yet", hint)
    elif reference and not _SECRET.fullmatch(reference):
        yield Problem(f"{field}.secret", "reference", "is no reference", "write moorage://NAME")


def _too_many(field: str, count: int) -> Iterator[Problem]:
    if count > ENTRIES:
        yield Problem(field, "size", f"there are {count}, at most {ENTRIES} may be", "remove some")


def _plain(text: str, limit: int = TEXT_LIMIT) -> bool:
    """Printable text, as names and paths are."""
    return text.isprintable() and is_utf8(text) and len(text.encode()) <= limit


def _storable(text: str) -> bool:
    return is_utf8(text) and "\0" not in text


def refused(warnings: Iterable[Problem], policies: Sequence[Policy]) -> list[Problem]:
    """The warnings that an administrator made refusals."""
    strict = {policy.id for policy in policies if policy.verdict is Verdict.REFUSE}
    return [
        Problem(
            found.field,
            found.code,
            f"{found.message} (refused by a policy of this service)",
            found.hint,
            found.line,
            found.column,
        )
        for found in warnings
        if found.code in strict
    ]


def below(field: str, problems: Iterable[Problem]) -> list[Problem]:
    """The same faults, their fields as seen from further out."""
    return [
        Problem(
            f"{field}.{found.field}" if found.field else field,
            found.code,
            found.message,
            found.hint,
            found.line,
            found.column,
        )
        for found in problems
    ]


def require(problems: Sequence[Problem], what: str) -> None:
    """Raises DocumentError when there are any."""
    if problems:
        first = problems[0]
        raise DocumentError(
            f"{what} is not valid: {first.field}: {first.message}", list(problems), hint=first.hint
        )


def secret_name(reference: str) -> str:
    """``moorage://NAME`` → NAME; "" for anything else."""
    return reference.removeprefix("moorage://") if _SECRET.fullmatch(reference) else ""
