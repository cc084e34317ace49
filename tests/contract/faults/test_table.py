"""What may go wrong in the embedded cluster may go wrong on the way to a real one, where that can be."""

from __future__ import annotations

import pytest

from tests.faults.table import KNOBS as EMBEDDED

from .faults import CALLS, KNOBS

HERE = {
    "commit_then_drop": "commit_then_drop",
    "commit_then_slow": "slow",
    "read_slow": "slow",
    "drop_before": "rst",
    "read_drop": "rst",
    "409_AlreadyExists": "409",
    "409_Conflict": "409",
    "409_quota_modified": "409",
    "429": "429",
    "read_429": "429",
    "500_webhook_timeout": "5xx",
    "read_500": "5xx",
    "413_html": "html",
    "404_html": "html",
    "read_502_html": "html",
    "200_not_101": "html",
    "list_stale": "two_apiservers",
    "two_apiservers": "two_apiservers",
    "http410": "watch_gone",
    "inband_ERROR410": "watch_gone",
    "200_close_empty": "watch_gone",
    "lb_cut": "watch_cut",
    "silent": "watch_silent",
    "101_then_close": "exec_cut",
    "rst_after": "exec_cut",
    "rst": "portforward_cut",
    "idle_cut": "portforward_cut",
    "accept_stall": "accept_stall",
}
"""Knob of the embedded cluster → the knob here that is felt as the same."""

_SERVERS = (
    "the API server's own word, with a reason: a real one is brought to say it in tests/contract/sessions"
)
_NEVER = "a real API server does not do that"
_FRAMES = "inside the frames of a stream, which the proxy does not read"
NOT_ON_THE_WAY = {
    **dict.fromkeys(("403_quota", "403_psa", "403_rbac", "403_ns_terminating", "422_field"), _SERVERS),
    **dict.fromkeys(("get_404_then_200", "404_nameless", "uid_swap", "watch_of_an_older_server"), _NEVER),
    **dict.fromkeys(("drop_event", "dup_event", "coalesce", "bookmark_only", "replay_old"), _NEVER),
    **dict.fromkeys(("no_status_close_1000", "no_status_close_1001", "no_status_close_1006"), _FRAMES),
    **dict.fromkeys(("success_without_code", "drop_tail", "v4_only", "slow_reader", "stdin_drop"), _FRAMES),
    **dict.fromkeys(("half_close", "error_stream_timeout", "first_conn_only"), _FRAMES),
}
OTHER_FAMILIES = ("ADMISSION", "AUTH/ENV", "POD")
"""Not on the way at all: in the server, on the node, or with the client."""


@pytest.mark.parametrize(
    "knob", [knob for knob in EMBEDDED.values() if knob.family not in OTHER_FAMILIES], ids=str
)
def test_a_knob_of_the_embedded_cluster_is_here_too_for_the_same_calls_or_cannot_be(knob: object) -> None:
    name = str(knob)
    assert (name in HERE) != (name in NOT_ON_THE_WAY)
    if name in HERE:
        made = {call for calls in CALLS.values() for call in calls}
        assert EMBEDDED[name].calls & made <= KNOBS[HERE[name]][0]
