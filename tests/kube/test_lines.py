"""Splitting a watch into lines, wherever the network cut it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.kube.lines import LineSplitter, LineTooLong


@given(st.lists(st.binary(min_size=1).filter(lambda line: b"\n" not in line and line.strip())), st.data())
def test_lines_come_back_whole_however_they_were_cut(lines: list[bytes], data: st.DataObject) -> None:
    text = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    splitter, found = LineSplitter(), []
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        found += list(splitter.feed(text[start:end]))
    assert found == lines
    assert not splitter.pending


def test_a_line_longer_than_any_buffer_is_fine_up_to_its_bound() -> None:
    splitter = LineSplitter(max_line=3_000_000)
    assert [line for _ in range(2) for line in splitter.feed(b"x" * 1_000_000)] == []
    assert [len(line) for line in splitter.feed(b"y\nz")] == [2_000_001]
    assert splitter.pending
    with pytest.raises(LineTooLong):
        list(splitter.feed(b"x" * 3_000_000))


def test_empty_lines_mean_nothing() -> None:
    assert list(LineSplitter().feed(b"\n\r\n{}\n\n")) == [b"{}"]
