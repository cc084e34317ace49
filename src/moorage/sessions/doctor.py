"""The connection test: can this identity do what sessions need, on this cluster, now? ``moorage doctor``
calls it, and whoever saves an executor or a profile.

Asks and dry-runs only, and makes nothing, so that whoever interrupts it leaves nothing; where a launch is
asked for, the last step makes one Pod, and removes it. Steps stand in an order in which each needs the ones
before: after a failure, later ones are ``not_run``. Of the rights all are asked, so that one script grants
what is missing. The keys of steps are stable.
"""

from __future__ import annotations

from moorage.core.errors import MoorageError
from moorage.ports.sessions import Check, ConnectionTest, LaunchRequest, Progress, Report
from moorage.sessions import probe
from moorage.sessions.checks import launched, rights, server, way_in, workload
from moorage.sessions.checks.trial import Step, Trial, run
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.parts import Parts


def _untold(progress: Progress) -> None:
    """Who waits for the steps alone is told nothing on the way."""


async def doctor(
    parts: Parts,
    profile: LaunchRequest | None = None,
    *,
    launch: bool = False,
    report: Report = _untold,
) -> ConnectionTest:
    """Of the executor that a new session would go to."""
    try:
        config = parts.executors.chosen()
    except MoorageError as error:
        return ConnectionTest("", "", (Check("connection", "failed", error.message, error.hint),))
    return await connection_test(parts, config, profile, launch=launch, report=report)


async def connection_test(
    parts: Parts,
    config: ExecutorConfig,
    profile: LaunchRequest | None = None,
    *,
    launch: bool = False,
    report: Report = _untold,
) -> ConnectionTest:
    """Of an executor that need not be on record, and of a profile that need not be saved. A profile without a
    template still tells the workspace and the transport that are meant. ``launch``: also start a Pod of the
    profile, and tell ``report`` how that goes; what a killed test left of such a Pod is removed first."""
    try:
        cluster = await parts.executors.cluster(config)
    except MoorageError as error:
        failed = Check("connection", "failed", error.message, error.hint)
        return ConnectionTest("", config.namespace, (failed,))
    if launch:
        await probe.sweep(parts)
    trial = Trial(parts, config, profile, cluster, report)
    checks: list[Check] = []
    for stage in [*_stages(trial), *([(launched.STEP,)] if launch else [])]:
        failed_before = next((check for check in checks if check.status == "failed"), None)
        if failed_before is not None:
            checks += [_not_run(step, failed_before) for step in stage]
            continue
        checks += [await run(step, trial) for step in stage]
        if len(stage) > 1 and any(check.fix.startswith(rights.SCRIPT) for check in checks):
            checks.append(rights.script(trial, checks))
    return ConnectionTest(trial.version, config.namespace, tuple(checks))


def _stages(trial: Trial) -> list[tuple[Step, ...]]:
    """Each stage needs those before it; the rights are one of many steps, all of which are run."""
    own = [(server.ISOLATION,)] if trial.config.embedded else []
    return [
        (server.CONNECTION,),
        *((step,) for step in server.STEPS),
        *own,
        rights.steps(trial),
        *((step,) for step in (*workload.steps(trial), *way_in.STEPS)),
    ]


def _not_run(step: Step, failed: Check) -> Check:
    return Check(step.key, "not_run", f"not tried: {failed.key} failed before it")
