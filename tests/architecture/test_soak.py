"""What ``./dev soak`` decides by: its schedule, its line through memory, what it calls lost. No cluster."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from moorage.core.errors import IntegrityError, LinkError
from moorage.ports.link import Gap, Output
from tools.soak import trying
from tools.soak.files import content, digest, missing, packed, unpacked
from tools.soak.memory import by_minute, slope
from tools.soak.schedule import CLAIM, DISTURBANCES, EMPTY, disturbances, script
from tools.soak.spoken import FILLER, Heard, check_lines, joined
from tools.soak.tally import Record, Tally
from tools.soak.trying import Stuck, insist

HOUR = 60
SCRIPTS = [script(7, number) for number in range(300)]


def said(*runs: int, last_word: bool = True) -> str:
    """What an agent says that was ended after so many lines, for each run."""
    text = ""
    for run, lines in enumerate(runs, 1):
        text += "".join(f"{run} {line} {FILLER}\n" for line in range(1, lines + 1))
        text += f"end {run} {lines}\n" if last_word else ""
    return text


def test_the_seed_repeats_scripts_and_disturbances() -> None:
    assert SCRIPTS[:20] == [script(7, number) for number in range(20)]
    assert disturbances(7, HOUR) == disturbances(7, HOUR)
    assert SCRIPTS[:20] != [script(8, number) for number in range(20)]
    assert disturbances(7, HOUR) != disturbances(8, HOUR)


def test_an_hour_disturbs_everything_often_enough_and_leaves_its_ends_alone() -> None:
    planned = disturbances(7, HOUR)
    assert min(Counter(one.kind for one in planned)[kind] for kind in DISTURBANCES) >= 5
    assert [one.at for one in planned] == sorted(one.at for one in planned)
    assert 60 < planned[0].at < planned[-1].at < HOUR * 60 - 60
    assert sum(one.kills for one in SCRIPTS) >= 150


def test_every_session_moves_bytes_each_way_and_no_emptydir_is_paused() -> None:
    for one in SCRIPTS:
        verbs = [step.verb for step in one.steps]
        assert (verbs[0], verbs[-2:]) == ("run", ["check", "stop"])
        assert {"copy_in", "copy_out", "echo", "write"} <= set(verbs)
        assert one.kills <= 2, "a session that is interrupted more often fails, as it should"
        assert one.mode == CLAIM or not {"pause", "reset"} & set(verbs)
        assert all(
            verbs[at + 1] == "resume" for at, verb in enumerate(verbs[:-2]) if verb in ("stop", "pause")
        )
    assert {one.mode for one in SCRIPTS} == {CLAIM, EMPTY}
    assert {step.verb for one in SCRIPTS for step in one.steps} >= {
        "pause",
        "resume",
        "reset",
        "stop",
        "logs",
    }


GOOD = [
    (said(45, 3), 0),
    (said(0), 0),
    (said(5, last_word=False), 1),
    (f"{said(5, last_word=False)}1 6 the qui2 1 {FILLER}\nend 2 1\n", 1),
    (f"1 1 {FILLER}\nen" + "end 2 0\n", 1),
    (f"1 1 {FILLER}\n1 2 the q", 1),
    (f"3 1 {FILLER}\nend 3 1\n", 2),
]
BAD = [
    ("a line is missing", f"1 1 {FILLER}\n1 3 {FILLER}\nend 1 3\n", 2),
    ("a line is there twice", f"1 1 {FILLER}\n1 1 {FILLER}\nend 1 1\n", 2),
    ("bytes in a line are missing", f"1 1 {FILLER}\n1 2 the quick brown dog\n1 3 {FILLER}\nend 1 3\n", 2),
    ("other bytes", f"1 1 {FILLER.upper()}\nend 1 1\n", 2),
    ("the last lines are missing", f"1 1 {FILLER}\nend 1 3\n", 2),
    ("a run of before comes again", f"{said(1, 1)}{said(1)}", 2),
    ("no last word, and nobody was killed", said(5, last_word=False), 0),
    ("two without a last word, one was killed", said(5, 5, last_word=False), 1),
    ("a whole run is missing", f"3 1 {FILLER}\nend 3 1\n", 1),
    ("words after the last word", f"{said(1)}1 2 {FILLER}\nend 1 2\n", 2),
    ("a torn end of something never said", f"1 1 {FILLER}\n1 7 the q", 1),
]


@pytest.mark.parametrize(("text", "kills"), GOOD)
def test_a_transcript_that_is_whole_but_for_what_a_kill_may_cut(text: str, kills: int) -> None:
    assert check_lines(text.encode(), kills) == []


@pytest.mark.parametrize(("text", "kills"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_a_transcript_that_has_lost_something(text: str, kills: int) -> None:
    assert check_lines(text.encode(), kills) != []


def test_every_lost_byte_of_a_transcript_is_told() -> None:
    whole = said(3, 2).encode()
    assert check_lines(whole, 0) == []
    for at in range(len(whole)):
        assert check_lines(whole[:at] + whole[at + 1 :], 0) != [], f"byte {at}"


def test_a_gap_or_a_jump_in_a_transcript_is_a_loss() -> None:
    assert (joined([Output(0, b"ab"), Output(2, b"c")]).data, joined([Output(0, b"ab")]).lost) == (b"abc", [])
    assert joined([Output(0, b"ab"), Output(3, b"c")]).lost == ["transcript goes on at byte 3, not at 2"]
    assert joined([Output(0, b"ab"), Gap(2, None)]).lost == ["gap of None bytes at byte 2"]


def test_a_follower_is_given_every_byte_once() -> None:
    heard = Heard()
    heard.take(Output(0, b"ab"))
    heard.take(Output(2, b"c"))
    assert (heard.lost, heard.against(b"abcd"), heard.against(b"abd")) == (
        [],
        [],
        ["the follower was given 3 bytes; from 2 on the transcript has others"],
    )
    heard.take(Output(2, b"c"))
    heard.take(Gap(3, 4))
    assert len(heard.lost) == 2


async def test_a_file_is_known_by_its_bytes() -> None:
    data = content(5, 70_000)
    assert data == content(5, 70_000) != content(6, 70_000)
    found = unpacked(b"".join([chunk async for chunk in packed("a", data)]))
    assert found == {"a": digest(data)}
    assert missing(found, found, "here") == []
    assert missing(found, {"a": digest(data[:-1])}, "here") == ["a is of other bytes (here)"]
    assert missing(found, {}, "here") == ["a is gone (here)"]


def test_a_line_through_memory_that_grows_evenly_has_its_slope_and_a_narrow_interval() -> None:
    samples = [(float(at), 100 + at / 3600 * 6 + (at // 60 % 2) * 0.1) for at in range(0, 3600, 5)]
    points = by_minute(samples, 600)
    found = slope(points)
    assert found is not None
    assert (len(points), points[0][0], found.values) == (50, 630.0, 50)
    assert found.low < 6 < found.high
    assert found.high - found.low < 0.3
    assert abs(found.at_start - 101.1) < 0.1


def test_values_that_drag_on_widen_the_interval() -> None:
    jumping = slope([(60.0 * n, 100 + n % 2) for n in range(40)])
    dragging = slope([(60.0 * n, 100 + n // 10 % 2) for n in range(40)])
    assert jumping is not None
    assert dragging is not None
    assert dragging.high - dragging.low > 2 * (jumping.high - jumping.low)


def test_too_few_minutes_have_no_slope() -> None:
    assert slope([(0.0, 1.0), (60.0, 2.0), (120.0, 3.0)]) is None


def test_a_verb_that_fails_while_the_cluster_is_away_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "PAUSE", 0)
    tries, retried = iter([LinkError("cut"), LinkError("cut"), None]), Counter[str]()

    async def act() -> None:
        if (error := next(tries)) is not None:
            raise error

    asyncio.run(insist("cp", retried, act))
    assert retried == {"cp link": 2}


def test_a_verb_may_not_hang_and_may_not_say_that_bytes_were_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "LIMIT", 0.01)

    async def hang() -> None:
        await asyncio.Event().wait()

    async def damaged() -> None:
        raise IntegrityError("other bytes")

    with pytest.raises(Stuck, match="stop for"):
        asyncio.run(insist("stop", Counter(), hang))
    with pytest.raises(IntegrityError):
        asyncio.run(insist("cp", Counter(), damaged))


def record(**fields: list[str]) -> Record:
    return Record(1, "s", CLAIM, True, over=True, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tally",
    [
        Tally([record(lost=["a byte"])]),
        Tally([record(stuck=["stop"])]),
        Tally([record(faults=["it said no"])]),
        Tally([Record(1, "s", CLAIM, True)]),
        Tally([record()], orphans=["pod/x"]),
        Tally([record()], faults=["containerd did not come back"]),
    ],
    ids=["lost", "stuck", "fault", "never over", "orphan", "disturbance"],
)
def test_a_soak_is_clean_only_when_nothing_at_all_was_found(tally: Tally) -> None:
    assert Tally([record()]).clean
    assert not tally.clean
