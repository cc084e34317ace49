"""Fork: new sessions whose workspaces are copies of another one's. Called by ``sessions.verbs``.

Ends with the forks on record; whoever resumes one starts it, as after a launch. The other session is only
read. Where the workspace comes from is on record before anything is made for it: a copy lies complete in the
data folder by then, a clone is named. What its agent is started on is proved equal first (``engine.act``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from moorage.core.errors import Conflict, MoorageError, UsageError
from moorage.core.forking import fork_names, forked
from moorage.core.names import valid_session_name
from moorage.core.owned import WORKSPACE_PATH
from moorage.core.plans.fork import CLONE, COPY, METHODS, ForkVerdict, judge_fork
from moorage.core.session import FORKED, Session, SourceSpec, change
from moorage.ports.forks import ForkCheck, ForkPlan, ForkRequest
from moorage.ports.link import LeftOut
from moorage.ports.sessions import Progress, Report
from moorage.ports.store import SessionEvent
from moorage.sessions.fork_facts import LinkTo, gather
from moorage.sessions.parts import Parts

MOST = 50
"""Forks of one command: each is a Pod and a volume."""


async def plan(parts: Parts, origin: Session, request: ForkRequest, link_to: LinkTo) -> ForkPlan:
    """The preflight. UsageError for a request that no session could be forked by; Conflict for a name that is
    taken."""
    return (await _judged(parts, origin, request, link_to))[0]


async def fork(
    parts: Parts, origin: Session, request: ForkRequest, link_to: LinkTo, report: Report
) -> list[Session]:
    """The forks, on record. Nothing is recorded when this raises, but for a database that fails between two
    of several forks: the error then names those there are."""
    planned, verdict = await _judged(parts, origin, request, link_to)
    if refusal := verdict.refusal:
        raise Conflict(refusal.detail, hint=refusal.fix, details={"check": refusal.key})
    for finding in verdict.findings:
        if finding.status == "warning":
            report(Progress("warning", finding.detail))
    now, clone = parts.clock.now(), verdict.method == CLONE
    drafts = [
        forked(origin, parts.ids.session_id(), name, verdict.workspace, now, clone=clone)
        for name in planned.names
    ]
    async with parts.sources.launching():
        try:
            source = await _source(parts, origin, drafts, verdict, link_to, report)
            await parts.sources.keep_too(origin.id, [draft.id for draft in drafts])
            await _dry_run(parts, drafts[0], report)
            return await _record(parts, origin, [change(draft, source=source) for draft in drafts])
        except MoorageError:  # after a cancellation they may be on record: a later sweep knows
            known = await parts.store.sessions.ids()
            for draft in drafts:
                if draft.id not in known:
                    await parts.sources.forget(draft.id)
            raise


async def _judged(
    parts: Parts, origin: Session, request: ForkRequest, link_to: LinkTo
) -> tuple[ForkPlan, ForkVerdict]:
    _check(request)
    names = await _names(parts, origin, request)
    cluster = await parts.executors.of(origin)
    facts = await gather(cluster, origin, link_to, request.method)
    verdict = judge_fork(origin, facts, method=request.method, live=request.live)
    checks = tuple(ForkCheck(one.key, one.status, one.detail, one.fix) for one in verdict.findings)
    return ForkPlan(origin.name, verdict.method, names, verdict.workspace, checks), verdict


def _check(request: ForkRequest) -> None:
    if request.method not in METHODS:
        raise UsageError(
            f"there is no method {request.method!r} to fork by",
            field="method",
            hint="use " + ", ".join(METHODS),
        )
    if not 1 <= request.count <= MOST:
        raise UsageError(f"{request.count} forks cannot be made at once", field="n", hint=f"use 1 to {MOST}")
    for name in _given(request):
        if problem := valid_session_name(name):
            raise UsageError(problem.message, field=problem.field, hint=problem.hint)


def _given(request: ForkRequest) -> tuple[str, ...]:
    if not request.name or request.count == 1:
        return (request.name,) if request.name else ()
    return tuple(f"{request.name}-{number}" for number in range(1, request.count + 1))


async def _names(parts: Parts, origin: Session, request: ForkRequest) -> tuple[str, ...]:
    """A name that is taken is told before anything is read; the store has the last word."""
    known = await parts.store.sessions.list_all(include_archived=True)
    taken = {session.name for session in known}
    taken |= {one.session.name for one in await parts.store.sessions.unreadable()}
    given = _given(request)
    for name in given:
        if name in taken:
            raise Conflict(
                f"there is a session named {name} already",
                field="name",
                hint=f"choose another --name, or look at that one with: moorage describe {name}",
            )
    free = fork_names(origin.name, taken)
    return given or tuple(next(free) for _ in range(request.count))


async def _source(
    parts: Parts,
    origin: Session,
    drafts: Sequence[Session],
    verdict: ForkVerdict,
    link_to: LinkTo,
    report: Report,
) -> SourceSpec:
    """Where the workspaces come from; of a copy, the copy itself too."""
    before = origin.source
    spec = SourceSpec(
        kind=FORKED,
        location=origin.id,
        ref=before.ref if before else "",
        commit=before.commit if before else "",
        origin=before.repository if before else "",
        method=verdict.method,
    )
    if verdict.method == COPY:
        return await _copied(parts, origin, drafts, spec, verdict, link_to, report)
    tree = ""
    if verdict.proof:
        report(Progress("source", f"hashing the workspace of {origin.name}"))
        tree = await (await link_to(origin)).hash_tree(WORKSPACE_PATH)
    cloned: SourceSpec = change(spec, marker=before.marker if before else "", tree=tree)
    return cloned


async def _copied(
    parts: Parts,
    origin: Session,
    drafts: Sequence[Session],
    spec: SourceSpec,
    verdict: ForkVerdict,
    link_to: LinkTo,
    report: Report,
) -> SourceSpec:
    report(Progress("source", f"copying the workspace of {origin.name}"))
    link, left_out = await link_to(origin), LeftOut()
    copied = await parts.sources.take([draft.id for draft in drafts], link.get_tar(WORKSPACE_PATH, left_out))
    if verdict.proof and await link.hash_tree(WORKSPACE_PATH) != copied.tree:
        raise Conflict(
            f"the workspace of {origin.name} changed while it was copied",
            hint="end what writes there (moorage exec), or take the files as they are: --live",
        )
    report(Progress("source", f"{copied.size} bytes, {copied.marker}"))
    if left_out.count:
        what = f"{left_out.count} that are neither file, directory nor link"
        report(Progress("warning", f"left out of the copy: {what}: {', '.join(left_out.names[:10])}"))
    filled: SourceSpec = change(spec, marker=copied.marker, tree=copied.tree)
    return filled


async def _dry_run(parts: Parts, draft: Session, report: Report) -> None:
    from moorage.sessions.launch import dry_run  # the whole Pod schema, which no other verb needs

    await dry_run(draft, await parts.executors.of(draft), report)


async def _record(parts: Parts, origin: Session, drafts: Sequence[Session]) -> list[Session]:
    values = b""
    if origin.agent.env_ref:
        values = await parts.store.secrets.get(origin.agent.env_ref)
    done: list[Session] = []
    for draft in drafts:
        secrets = {draft.inventory.bootstrap_ref: parts.ids.nonce().encode()}
        if draft.agent.env_ref:
            secrets[draft.agent.env_ref] = values
        try:
            await parts.store.sessions.add(draft, secrets)
        except MoorageError as error:
            if done:
                there = ", ".join(one.name for one in done)
                error.hint = f"on record already: {there}; moorage resume or rm them; {error.hint}"
            raise
        done.append(draft)
        await _tell(parts, origin, draft)
    return done


async def _tell(parts: Parts, origin: Session, fork: Session) -> None:
    """Both histories say it, and by which method; that they may not be written changes nothing."""
    how = fork.source.method if fork.source else ""
    now = parts.clock.now()
    with contextlib.suppress(MoorageError):
        event = SessionEvent(now, "Forked", f"from {origin.name}, by {how}")
        await parts.store.sessions.add_event(fork.id, event)
        await parts.store.sessions.add_event(
            origin.id, SessionEvent(now, "Forked", f"to {fork.name}, by {how}")
        )
