"""Which knob is allowed at which call. A triple of the state machine that it allows must fire.

A family is a module with its ``KNOBS``. A row is left out of the machine only here, with its reason.
"""

from __future__ import annotations

from tests.faults import admission, auth, create, exec_, portforward, read, watch
from tests.faults.knob import Knob

FAMILIES = (create, read, watch, auth, admission, exec_, portforward)
KNOBS: dict[str, Knob] = {knob.name: knob for family in FAMILIES for knob in family.KNOBS}

NOT_HERE: dict[tuple[str, str], str] = {
    **{
        (
            "get_404_then_200",
            call,
        ): "a most-recent read never lags, and no verb allows an old answer"
        for call in read.GETS
    },
}
"""(knob, call) pairs that no verb can meet, and why."""


def allowed(call: str) -> list[Knob]:
    """The knobs that a call may be hit by."""
    return [knob for knob in KNOBS.values() if call in knob.calls and (knob.name, call) not in NOT_HERE]
