"""Launch: check everything, then put a session on record. No cluster object exists before that.

Called by ``sessions.verbs``. What can be refused is refused here: the template, the workspace, the names, the
source, and (by strict server-side dry run) what the cluster itself would refuse.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib

import msgspec

from moorage.core.admitted import author_changes
from moorage.core.bootstrap import entrypoint
from moorage.core.cleaning import clean
from moorage.core.command import check_command
from moorage.core.diagnosis import diagnose_api
from moorage.core.errors import (
    ApiError,
    Conflict,
    DocumentError,
    MoorageError,
    NotFound,
    Problem,
    SessionFailed,
    Unreachable,
    UsageError,
)
from moorage.core.helper_spec import check_helper
from moorage.core.kinds import CLAIMS, NAMESPACES, PODS, Json
from moorage.core.metadata import check_metadata
from moorage.core.names import (
    bootstrap_ref,
    claim_name,
    env_ref,
    generated_name,
    pod_name,
    valid_session_name,
)
from moorage.core.session import (
    AgentSpec,
    Desired,
    Identity,
    Intent,
    Inventory,
    LaunchSnapshot,
    Phase,
    Session,
    SourceSpec,
    State,
    WorkspaceMode,
    WorkspaceSpec,
)
from moorage.core.template import CheckedTemplate, TemplateOptions, check_template, template_hash
from moorage.core.template.openapi import known_in
from moorage.core.workload import session_claim, session_pod
from moorage.core.workspace_spec import check_workspace
from moorage.engine.helper import helper_binary
from moorage.engine.mutators import find_mutators
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import LaunchRequest, Progress, Report
from moorage.ports.store import Allow
from moorage.sessions.executors import ExecutorConfig, Executors
from moorage.sessions.parts import Parts
from moorage.sessions.storage_check import check_storage

DRY_RUN_NONCE = "0" * 64
MOST_NAMES = 10
"""So many names of what a source leaves out are told."""


async def draft(parts: Parts, request: LaunchRequest, report: Report) -> tuple[Session, Allow | None]:
    """A checked session, not yet on record and without source or secrets; and what the store has to ask as
    it records it."""
    config = parts.executors.chosen()
    request = await usable(parts, config, request)
    if request.helper.source == "exec":
        helper_binary(request.platform)  # its absence is told before anything is made
    cluster = await parts.executors.cluster(config)
    session = await composed(parts, config, cluster, request, report)
    allow = await check_storage(parts, cluster, session, report)
    await dry_run(session, cluster, report)
    return session, allow


async def usable(parts: Parts, config: ExecutorConfig, request: LaunchRequest) -> LaunchRequest:
    """The request, completed for this executor. Raises UsageError, and Conflict for a name that is taken."""
    _check(request)
    request = _completed(request, parts.executors, config)
    await _check_name(parts, request.name)
    return request


async def composed(
    parts: Parts, config: ExecutorConfig, cluster: Cluster, request: LaunchRequest, report: Report
) -> Session:
    """A session of a usable request, by our own rules alone. Raises DocumentError, and NotFound for a
    namespace that is not there."""
    checked = await _check_template(request, cluster)
    for warning in checked.warnings:
        report(Progress("warning", f"{warning.field}: {warning.message}"))
    return await _compose(parts, config, request, checked, cluster)


async def launch(parts: Parts, request: LaunchRequest, report: Report) -> Session:
    """Draft, pin the source, record with the secrets. Nothing is recorded when this raises."""
    session, allow = await draft(parts, request, report)
    async with parts.sources.launching():
        try:
            return await _record(parts, request, session, allow, report)
        except MoorageError:  # after a cancellation it may be on record: a later sweep knows
            await parts.sources.forget(session.id)
            raise


async def _record(
    parts: Parts, request: LaunchRequest, session: Session, allow: Allow | None, report: Report
) -> Session:
    source: SourceSpec | None = None
    if request.source:
        report(Progress("source", f"reading {_shown(request.source)}"))
        left_out: list[str] = []
        logins: list[str] = []
        notes: list[str] = []
        source = await parts.sources.prepare(
            request.source,
            request.source_ref,
            session.id,
            left_out,
            logins,
            notes,
            exclude=request.preset.git_exclude if request.preset else (),
        )
        at = f"{source.location} at {source.commit or 'no commit'}"
        report(Progress("source", ", ".join([at, *notes])))
        if left_out:
            why = "left out of the source, neither file, directory nor link"
            report(Progress("warning", f"{why}: {_named(left_out)}"))
        if logins:
            why = "the agent gets these files of git without the logins in them"
            report(Progress("warning", f"{why}: {_named(logins)}"))
    session = msgspec.structs.replace(session, source=source)
    secrets = {session.inventory.bootstrap_ref: parts.ids.nonce().encode()}
    if session.agent.env_ref:
        packed = "\0".join(f"{key}={value}" for key, value in request.env.items())
        secrets[session.agent.env_ref] = packed.encode()
    await parts.executors.remember(parts.executors.chosen())
    await parts.store.sessions.add(session, secrets, allow)
    return session


def preview_objects(session: Session) -> list[Json]:
    """The objects that a launch would create."""
    pod = session_pod(session.identity, session.inventory, DRY_RUN_NONCE, entrypoint=entrypoint())
    managed = session.inventory.snapshot.workspace.mode is WorkspaceMode.MANAGED_PVC
    claim = [session_claim(session.identity, session.inventory, DRY_RUN_NONCE)] if managed else []
    return [*claim, pod]


def _check(request: LaunchRequest) -> None:
    """What needs no cluster: the words of the request."""
    if not request.argv:
        raise UsageError(
            "no command was given", hint="put it after --, e.g. moorage run … -- sh -c 'echo hi'"
        )
    preset = request.preset
    check_command(request.argv, request.env, request.cwd, preset.input if preset else "")
    if preset is not None:
        if preset.input and request.stdin and not request.tty:
            raise UsageError(
                f"{preset.preset} is told its prompt on stdin, so nothing else can be passed there",
                field="stdin",
                hint="leave out -i, or add -t",
            )
        check_command(preset.resume_argv, request.env, request.cwd, preset.resume_input)
    named = valid_session_name(request.name) if request.name else None
    problems = [*([named] if named else []), *check_workspace(request.workspace), *_check_env(request)]
    problems += [*check_helper(request.helper), *check_metadata(request.metadata)]
    if problems:
        first = problems[0]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UsageError(first.message + more, field=first.field, hint=first.hint)


def _completed(request: LaunchRequest, executors: Executors, config: ExecutorConfig) -> LaunchRequest:
    """On the embedded cluster a template is not needed, and a platform is this machine's unless another than
    the default was asked for. Raises UsageError for a template that is missing elsewhere."""
    own = executors.built_in if config.embedded else None
    if own is not None:
        asked = request.platform != TemplateOptions().platform
        text = own.template if request.template_text is None else request.template_text
        platform = request.platform if asked else own.platform
        return dataclasses.replace(request, template_text=text, platform=platform)
    if request.template_text is None:
        raise UsageError("no Pod template given", hint="add --template FILE, or set MOORAGE_TEMPLATE")
    return request


async def _check_name(parts: Parts, name: str) -> None:
    """A name that is taken is told before a source is read; the store has the last word."""
    if not name:
        return
    try:
        taken = await parts.store.sessions.get(name)
    except NotFound:
        return
    raise Conflict(
        f"there is a session named {taken.name} already",
        field="name",
        hint=f"choose another --name, look at that one with: moorage describe {taken.name}; "
        f"or remove it: moorage rm {taken.name}",
    )


async def _check_template(request: LaunchRequest, cluster: Cluster) -> CheckedTemplate:
    """The template by our own rules; a field that only the server knows is a warning, not an error."""
    text = request.template_text or b""
    checked = check_template(text, _options(request))
    if any(problem.code == "unknown_field" for problem in checked.errors):
        with contextlib.suppress(ApiError):
            known = known_in(await cluster.openapi())
            checked = check_template(text, _options(request), known)
    if not checked.valid:
        count = len(checked.errors)
        raise DocumentError(
            f"the template has {count} error{'s' if count != 1 else ''}",
            list(checked.errors),
            hint="moorage template check FILE shows them all",
        )
    return checked


def _options(request: LaunchRequest) -> TemplateOptions:
    defaults = TemplateOptions()
    return TemplateOptions(
        main_container=request.main_container or defaults.main_container,
        platform=request.platform,
        workspace_mode=request.workspace.mode.value,
        transport=request.transport,
        helper_source=request.helper.source,
    )


def _check_env(request: LaunchRequest) -> list[Problem]:
    found = []
    for name, value in request.env.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            found.append(Problem(f"env.{name}", "env_name", "not a usable variable", "use -e NAME=VALUE"))
        elif name.startswith(("AGENTCTL_", "MOORAGE_")):
            found.append(Problem(f"env.{name}", "reserved", f"{name} is reserved", "choose another name"))
    return found


async def _compose(
    parts: Parts, config: ExecutorConfig, request: LaunchRequest, checked: CheckedTemplate, cluster: Cluster
) -> Session:
    assert checked.template is not None
    session_id = parts.ids.session_id()
    name = request.name or generated_name(parts.ids.nonce())
    main = request.main_container or TemplateOptions().main_container
    snapshot = LaunchSnapshot(
        template=checked.template,
        platform=request.platform,
        main_container=main,
        workspace=request.workspace,
        helper=request.helper,
    )
    identity = Identity(
        install_id=await parts.store.install_id(),
        executor_id=config.id,
        profile_id=request.profile_id or f"run-{template_hash(checked.template)[:12]}",
        task_id=request.task_id or f"run-{session_id}",
        session_id=session_id,
    )
    server = await cluster.identity()
    inventory = Inventory(
        namespace=config.namespace,
        namespace_uid=await _namespace_uid(cluster, config.namespace),
        server_address=server.address,
        server_ca_sha256=server.ca_sha256,
        pod_name=pod_name(session_id),
        claim_name=_claim(request.workspace, session_id),
        snapshot=snapshot,
        template_hash=template_hash(checked.template),
        config_hash=hashlib.sha256(msgspec.json.encode(snapshot)).hexdigest(),
        bootstrap_ref=bootstrap_ref(session_id),
    )
    now = parts.clock.now()
    return Session(
        identity=identity,
        name=name,
        created_at=now,
        agent=_agent(request, session_id),
        state=State(phase=Phase.CONFIGURED, since=now),
        inventory=inventory,
        intent=Intent(desired=Desired.RUNNING, number=1, at=now),
        transport=request.transport,
        restart_allowed=request.restart_allowed,
        start_timeout=request.start_timeout,
        metadata=dict(request.metadata),
    )


def _agent(request: LaunchRequest, session_id: str) -> AgentSpec:
    agent = AgentSpec(
        argv=tuple(request.argv),
        env_ref=env_ref(session_id) if request.env else "",
        env_names=tuple(sorted(request.env)),
        cwd=request.cwd,
        tty=request.tty,
        stdin=request.stdin,
        grace_seconds=request.grace_seconds,
    )
    if (preset := request.preset) is None:
        return agent
    return msgspec.structs.replace(
        agent,
        preset=preset.preset,
        input=preset.input,
        resume_argv=preset.resume_argv,
        resume_input=preset.resume_input,
        state_dirs=preset.state_dirs,
    )


def _claim(workspace: WorkspaceSpec, session_id: str) -> str:
    """The claim behind the workspace, ours or the given one; "" for an emptyDir."""
    managed = workspace.mode is WorkspaceMode.MANAGED_PVC
    return claim_name(session_id) if managed else workspace.claim_name


async def _namespace_uid(cluster: Cluster, namespace: str) -> str:
    """The UID to record; "" where the Namespace may not be read (then the API server stands for it)."""
    try:
        found = await cluster.get(NAMESPACES, namespace)
    except ApiError as error:
        if error.problem.http_status == 404 and error.problem.reason == "NotFound":
            raise NotFound(
                f"namespace {namespace} does not exist",
                field="namespace",
                hint=f"create it with: kubectl create namespace {namespace}",
            ) from None
        if error.problem.http_status == 403:
            return ""
        raise
    uid: str = found["metadata"]["uid"]
    return uid


async def dry_run(session: Session, cluster: Cluster, report: Report) -> None:
    """The authority is the server: what it would refuse is refused now, before anything is recorded, and what
    admission makes of the author's own words is told."""
    resources = {"Pod": PODS, "PersistentVolumeClaim": CLAIMS}
    for obj in preview_objects(session):
        resource = resources[obj["kind"]]
        try:
            admitted = await cluster.create(resource, obj, session.inventory.namespace, dry_run=True)
        except ApiError as error:
            why = diagnose_api(error.problem, f"create {resource.kind} (dry run)")
            unheard = error.problem.kind == "transport"  # the server refused nothing: it did not answer
            kind = Unreachable if unheard else SessionFailed
            raise kind(why.message, hint=why.hint, details={"category": why.category}) from error
        if resource is PODS and (changed := author_changes(obj, admitted)):
            report(Progress("warning", await _admission(cluster, admitted, changed)))


async def _admission(cluster: Cluster, admitted: Json, changed: tuple[str, ...]) -> str:
    who = await find_mutators(cluster, PODS, admitted)
    by = f" (likely: {', '.join(who[:3])})" if who else ""
    fields = ", ".join(clean(path, 200) for path in changed[:3])
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"admission{by} does not leave the template as it is: {fields}{more}"


def _named(names: list[str]) -> str:
    """How many entries of a source these are, and which."""
    first = ", ".join(clean(name, 200) for name in names[:MOST_NAMES])
    more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    entries = "1 entry" if len(names) == 1 else f"{len(names)} entries"
    return f"{entries}: {first}{more}"


def _shown(source: str) -> str:
    """A source as it may be printed: what stands before the host of a URL may be a password."""
    scheme, found, rest = source.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}" if found else source
