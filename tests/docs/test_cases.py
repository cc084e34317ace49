"""docs/cases.md: every case of the catalogue has one row, and what a row names exists."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.docs.collected import collected
from tests.docs.pages import ROOT

PAGE = ROOT / "docs/cases.md"
ISSUES = ("6", "7", "8", "9", "10")
"""Where the service, the operator, running inside a cluster, deployments and the console are built."""
MOST_NOT_APPLICABLE = 15
SECTIONS = {
    1: "1 2 3 5 6 7 9 10 11 13 14 15 17 18 19 21 22 23",
    2: "25 26 27 29 30 31 33 34 35 37 38 39 41 42 43",
    3: "45 46 47 49 50 51 53 54 55 57 58 59 61 62 63 65 66 67 69 70 71 73 74 75 77 78 79 81 82",
    4: "83 85 86 87 89 90 91 93 94 95 97 98 99 101",
    5: "102 103 105 106 107 109 110 111 113 114 115 117 118",
    6: "119 121 122 123 125 126 127",
    7: "129 130 131 133 134 135",
    8: "137 138 139 141 142 143 145 146 147",
    9: "149 150 151 153 154 155 157",
    10: "158 159",
    11: "161 162 163 165 166 167",
    13: "177 178 179 181 182 183 185 186 187",
    14: "189 190 191",
    16: "a1 a2 a4 a5 a7 a8 a10 a11 a13 a14 a16 a17 a19 a20 a22 a23 a25 k1 k2 k4 k5 k7 k8",
    17: "r1 r2 r4 r5 r6 r7 r8 r10 r11 r12 r13 r14 r16 r17 r19 r20 r21 r22",
}

_HEADING = re.compile(r"^## (?P<section>\d+)\. ")
_ROW = re.compile(
    r"^\| (?P<number>[akr]?\d+) \| (?P<fault>[^|]+) \| (?P<property>[^|]*?) ?\| (?P<shown>[^|]+) \|$"
)
_NODE = re.compile(r"`(tests/[^`]+)`")
_LATER = re.compile(r"^not built yet: issue (\d+)$")
_ABSENT = re.compile(r"^not applicable: \S.{20,}$")


@dataclass(frozen=True)
class Row:
    """One case as the page has it. ``shown``: the last column as written; ``tests``: the node ids in it."""

    section: int
    number: str
    excludes: str
    shown: str

    @property
    def named(self) -> tuple[str, ...]:
        return tuple(_NODE.findall(self.shown))


def rows(text: str) -> list[Row]:
    found, section = [], 0
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            section = int(heading["section"])
        if not section or not re.match(r"\| [akr]?\d", line):
            continue
        match = _ROW.match(line)
        assert match, f"no row of four columns: {line}"
        found.append(Row(section, match["number"], match["property"], match["shown"]))
    return found


ROWS = rows(PAGE.read_text())


def test_every_case_of_the_catalogue_has_one_row() -> None:
    for section, numbers in SECTIONS.items():
        assert [row.number for row in ROWS if row.section == section] == numbers.split()


def test_no_row_stands_outside_the_sections() -> None:
    assert {row.section for row in ROWS} == SECTIONS.keys()


def test_each_case_has_tests_or_says_why_it_cannot_be_or_where_it_will() -> None:
    assert [row.number for row in ROWS if not told(row)] == []


def told(row: Row) -> bool:
    """Whether the row has its columns: the property and tests, or a word of the two that stand for them."""
    if later := _LATER.match(row.shown):
        return later[1] in ISSUES
    if row.shown.startswith("not applicable"):
        return bool(row.excludes and _ABSENT.match(row.shown))
    return bool(row.excludes and row.named) and _NODE.sub("", row.shown).strip(", ") == ""


def test_few_cases_cannot_exist_here() -> None:
    absent = [row.number for row in ROWS if row.shown.startswith("not applicable")]
    assert len(absent) <= MOST_NOT_APPLICABLE, absent


def test_every_test_that_is_named_is_collected_for_its_case() -> None:
    """A test whose table names cases (``case N: …``, ``cases N, M: …``) must have one of that number."""
    nodes, said = collected({test for row in ROWS for test in row.named})
    assert [fault for row in ROWS for fault in unshown(row, nodes)] == [], said


def unshown(row: Row, nodes: set[str]) -> list[str]:
    """What the row names and pytest did not collect."""
    faults = []
    for test in row.named:
        forms = [node.removeprefix(test) for node in nodes if node.partition("[")[0] == test]
        tables = [form for form in forms if form.startswith("[case")]
        if not forms:
            faults.append(f"{row.number}: no test {test}")
        elif tables and row.number not in {number for form in tables for number in _numbers(form)}:
            faults.append(f"{row.number}: no case of this number in {test}")
    return faults


def _numbers(form: str) -> list[str]:
    """Of ``[cases 46, 47: …]``."""
    return re.sub(r"^\[cases? ", "", form.partition(":")[0].rstrip("]")).split(", ")


def test_a_row_that_shows_nothing_is_noticed() -> None:
    (row,) = rows("## 1. One\n| 1 | It broke. | It holds. | not yet |\n")
    assert not told(row)


def test_a_test_that_is_not_there_or_not_for_this_case_is_noticed() -> None:
    text = "## 1. One\n| 1 | It broke. | It holds. | `tests/a.py::test_b`, `tests/a.py::test_c` |\n"
    (row,) = rows(text)
    assert unshown(row, {"tests/a.py::test_b[cases 7, 1: so]", "tests/a.py::test_c"}) == []
    assert unshown(row, {"tests/a.py::test_b[case 11: so]"}) == [
        "1: no case of this number in tests/a.py::test_b",
        "1: no test tests/a.py::test_c",
    ]
