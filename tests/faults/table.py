"""Which knob is allowed at which call. A triple of the state machine that it allows must fire.

A family is a module with its ``KNOBS``. A row is left out of the machine only here, with its reason.
"""

from __future__ import annotations

from tests.faults import admission, auth, create, exec_, pod, portforward, read, watch
from tests.faults.knob import Knob

FAMILIES = (create, read, watch, auth, admission, exec_, portforward, pod)
KNOBS: dict[str, Knob] = {knob.name: knob for family in FAMILIES for knob in family.KNOBS}

NOT_HERE: dict[tuple[str, str], str] = {
    **dict.fromkeys(
        (("get_404_then_200", call) for call in read.GETS),
        "a most-recent read never lags, and no verb allows an old answer",
    ),
}
"""(knob, call) pairs that no verb meets in the state machine, and why; each has its story all the same."""


ONLY: dict[tuple[str, str], tuple[str, ...]] = {
    ("uid_swap", "get persistentvolumeclaims"): ("rm", "rm --force", "archive"),
    ("idle_cut", "get pods/portforward"): ("run", "exec", "stop", "pause", "reset", "archive", "rm"),
}
"""(knob, call) pairs for these verbs alone. Elsewhere a claim that is replaced is a lost workspace; and only
these verbs wait on an open link on which nobody says anything: for a process to end."""

FIRST_CUT: dict[str, str] = {"first_conn_only": "rst"}
"""Knob → the knob that must cut the connection before: no verb opens a second one unless the first broke."""


def allowed(call: str, verb: str) -> list[Knob]:
    """The knobs that a call of a verb may be hit by."""

    def fits(knob: Knob) -> bool:
        pair = (knob.name, call)
        return call in knob.calls and pair not in NOT_HERE and verb in ONLY.get(pair, (verb,))

    return [knob for knob in KNOBS.values() if fits(knob)]
