"""The step that makes a Pod: is the helper delivered, does it answer, does it run a program? Only where it is
asked for; called by ``sessions.doctor`` last, when every dry step was passed.

Whatever happens, its probe is removed before the step ends; where that cannot be, it says how.
"""

from __future__ import annotations

import asyncio
from typing import Final

from moorage.core.errors import MoorageError
from moorage.core.session import Phase, Session, WorkspaceMode
from moorage.ports.sessions import Check, Progress, Report
from moorage.sessions import probe
from moorage.sessions.checks.trial import Step, Trial

KEY: Final = "launch"
GIVE_ONE: Final = "add --template FILE: it is what the Pod is made from"
SEE_IT: Final = "the same flags with moorage run keep the session, to look into it"


async def launched(trial: Trial) -> Check:
    """Start, look, remove. A test that is interrupted removes, too, unless it is interrupted again."""
    if trial.session is None:
        return Check(KEY, "failed", "a launch was asked for, and no template was given", GIVE_ONE)
    heard = _Heard(trial.report)
    made = await probe.record(trial.parts, trial.config, trial.session, trial.allow)
    left = "nobody waited for its end"
    try:
        check = await _judged(trial, made, heard)
    except asyncio.CancelledError:
        trial.report(Progress("delete", "removing the probe; Ctrl-C again leaves that to the next run or rm"))
        raise
    finally:
        left = await probe.remove(trial.parts, made, trial.report)
        if left:
            trial.report(Progress("warning", f"{made.name} may be left: {left}"))
    if left:
        answered = f"{check.detail}; but its probe {made.name} may be left: {left}"
        return Check(KEY, "failed", answered, f"remove it with: moorage rm {made.name}")
    return check


async def _judged(trial: Trial, made: Session, heard: _Heard) -> Check:
    try:
        ended = await probe.run(trial.parts, made, heard)
    except TimeoutError:
        return Check(KEY, "failed", "agentctl started a program that did not end", SEE_IT)
    except MoorageError as error:
        return Check(KEY, "failed", error.message, error.hint)
    why, run = ended.state.diagnosis, ended.run
    if ended.state.phase is Phase.DELETED:
        return Check(KEY, "failed", "the probe was removed by another command", "test again")
    if ended.state.phase is not Phase.PRESERVED or run is None or run.exit is None:
        said = why.message if why else f"the probe is {ended.state.phase.value}"
        return Check(KEY, "failed", said, _advice(why.hint if why else "", made))
    if run.exit.code != 0:
        told = run.exit.error or f"code {run.exit.code}, signal {run.exit.signal}"
        return Check(KEY, "failed", f"a program that agentctl started did not succeed: {told}", SEE_IT)
    if ended.inventory.pod_uid.encode() not in await probe.printed(trial.parts, made):
        return Check(KEY, "failed", "what a program printed in the Pod did not arrive here", SEE_IT)
    what = "Pod and claim are" if trial.mode is WorkspaceMode.MANAGED_PVC else "the Pod is"
    return Check(KEY, "ok", f"{heard.hello}; a program ran in a Pod of the template, {what} gone again")


def _advice(hint: str, made: Session) -> str:
    """What leads to the probe leads nowhere: it is gone by the time that anybody reads it."""
    return hint if hint and made.name not in hint else SEE_IT


class _Heard:
    """Passes progress on, and keeps what was said of the hello."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.hello = ""

    def __call__(self, progress: Progress) -> None:
        if progress.step == "hello":
            self.hello = progress.message
        self._report(progress)


STEP: Final = Step(KEY, "start a Pod of the template", launched)
