"""Each rule of ``./dev check`` refuses a bad sample and lets a good one pass."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tools.check import lengths, links, purity, resource_version, skips, sleeps, tests_assert, words
from tools.check.source import Finding, SourceFile

TEST = "tests/core/test_sample.py"
CORE = "src/moorage/core/sample.py"
GO_TEST = "agentctl/internal/sample_test.go"
MARK = "TO" + "DO"  # in pieces, so that the rule under test does not find it here


def sample(path: str, text: str) -> SourceFile:
    return SourceFile(path, textwrap.dedent(text).lstrip("\n"))


ASSERTS_NOTHING = {
    "no statement": "def test_it():\n    run()\n",
    "a constant": "def test_it():\n    assert True\n",
    "a tuple, which is always true": "def test_it():\n    assert (run() == 1, 'message')\n",
    "a mock's word for it": "def test_it():\n    result = run()\n    print(result)\n",
    "a helper that asserts nothing": "def helper():\n    run()\n\ndef test_it():\n    helper()\n",
    "in a class": "class TestIt:\n    async def test_it(self):\n        await run()\n",
    "only swallows": "def test_it():\n    try:\n        run()\n    except ValueError:\n        pass\n",
}


@pytest.mark.parametrize("text", ASSERTS_NOTHING.values(), ids=ASSERTS_NOTHING.keys())
def test_a_test_that_cannot_fail_is_refused(text: str) -> None:
    (finding,) = tests_assert.check([SourceFile(TEST, text)])
    assert finding.path == TEST
    assert finding.message.startswith("test_it asserts nothing")


ASSERTS = {
    "assert": "def test_it():\n    assert run() == 1\n",
    "raises": "import pytest\n\ndef test_it():\n    with pytest.raises(ValueError):\n        run()\n",
    "raises, imported": "from pytest import raises\n\ndef test_it():\n    raises(ValueError, run)\n",
    "a helper": "def same(a):\n    assert a\n\ndef test_it():\n    same(run())\n",
    "a helper of a helper": "def a(x):\n    assert x\n\ndef b(x):\n    a(x)\n\ndef test_it():\n    b(1)\n",
    "a method": "class A:\n    def ends(self):\n        assert self.x\n\ndef test_it(a):\n    a.b().ends()\n",
    "raise": "def test_it():\n    if run():\n        raise AssertionError('ran')\n",
}


@pytest.mark.parametrize("text", ASSERTS.values(), ids=ASSERTS.keys())
def test_a_test_that_asserts_passes(text: str) -> None:
    assert list(tests_assert.check([SourceFile(TEST, text)])) == []


def test_a_helper_in_another_file_counts_only_if_it_asserts() -> None:
    test = SourceFile(TEST, "from tests.story import expect\n\ndef test_it():\n    expect(run())\n")
    empty = SourceFile("tests/story.py", "def expect(x):\n    return x\n")
    strict = SourceFile("tests/story.py", "def expect(x):\n    assert x\n")
    assert [finding.line for finding in tests_assert.check([test, empty])] == [3]
    assert list(tests_assert.check([test, strict])) == []


def test_a_name_shared_by_a_helper_that_asserts_and_one_that_does_not_is_not_trusted() -> None:
    test = SourceFile(TEST, "def test_it(story):\n    story.run()\n")
    strict = SourceFile("tests/a.py", "def run(x):\n    assert x\n")
    lax = SourceFile("tests/b.py", "def run(x):\n    return x\n")
    assert [finding.line for finding in tests_assert.check([test, strict, lax])] == [1]


def test_the_helper_of_the_same_file_is_meant_before_others_of_its_name() -> None:
    near = SourceFile(TEST, "def until(x):\n    assert x\n\ndef test_it():\n    until(1)\n")
    far = SourceFile("tests/b.py", "def until(x):\n    return x\n")
    assert list(tests_assert.check([near, far])) == []


def test_a_go_test_must_be_able_to_fail() -> None:
    empty = sample(GO_TEST, "package x\n\nfunc TestIt(t *testing.T) {\n\tRun()\n}\n")
    fails = sample(
        GO_TEST, 'package x\n\nfunc TestIt(t *testing.T) {\n\tif Run() {\n\t\tt.Fatal("ran")\n\t}\n}\n'
    )
    helped = sample(GO_TEST, "package x\n\nfunc TestIt(t *testing.T) {\n\tsame(t, Run(), 1)\n}\n")
    assert [finding.line for finding in tests_assert.check([empty])] == [3]
    assert list(tests_assert.check([fails, helped])) == []


SLEEPS = {
    "time": "import time\n\ntime.sleep(1)\n",
    "asyncio": "import asyncio\n\nasync def f():\n    await asyncio.sleep(0.1)\n",
    "by its name": "from asyncio import sleep\n\nasync def f():\n    await sleep(2)\n",
    "renamed": "from time import sleep as rest\n\nrest(2)\n",
    "a comment without a reason": "import time\n\ntime.sleep(1)  # sleep:\n",
}


@pytest.mark.parametrize("text", SLEEPS.values(), ids=SLEEPS.keys())
def test_a_sleep_in_a_test_is_refused(text: str) -> None:
    (finding,) = sleeps.check([SourceFile(TEST, text)])
    assert finding.message.startswith("sleeps in a test")


def test_yielding_and_a_sleep_with_its_reason_pass() -> None:
    yields = SourceFile(TEST, "import asyncio\n\nasync def f():\n    await asyncio.sleep(0)\n")
    reason = SourceFile(TEST, "import time\n\ntime.sleep(1)  # sleep: etcd has no event for this\n")
    product = SourceFile("src/moorage/kube/retry.py", "import time\n\ntime.sleep(1)\n")
    assert list(sleeps.check([yields, reason, product])) == []


def test_a_sleep_in_a_go_test_is_refused() -> None:
    (finding,) = sleeps.check([SourceFile(GO_TEST, "package x\n\nfunc f() {\n\ttime.Sleep(1)\n}\n")])
    assert finding.line == 4


IMPURE = {
    "the clock": "from datetime import datetime\n\nx = datetime.now()\n",
    "the clock, by module": "import datetime\n\nx = datetime.datetime.utcnow()\n",
    "a file": "x = open('a')\n",
    "stdout": "print('x')\n",
    "waiting": "async def f():\n    return 1\n",
}


@pytest.mark.parametrize("text", IMPURE.values(), ids=IMPURE.keys())
def test_core_may_not_reach_outside(text: str) -> None:
    assert len(list(purity.check([SourceFile(CORE, text)]))) == 1


def test_a_time_given_to_core_and_a_clock_elsewhere_pass() -> None:
    given = SourceFile(
        CORE, "from datetime import datetime\n\ndef f(now: datetime) -> str:\n    return now.isoformat()\n"
    )
    adapter = SourceFile(
        "src/moorage/store/clock.py", "from datetime import datetime\n\nx = datetime.now()\n"
    )
    assert list(purity.check([given, adapter])) == []


OLD_READS = {
    "parameter": "params = {'resourceVersion': '0'}\n",
    "number": "params = {'resourceVersion': 0}\n",
    "pair": "params = [('resourceVersion', '0')]\n",
    "argument": "client.list(resource_version='0')\n",
    "slot": "params['resourceVersion'] = '0'\n",
    "address": "url = f'{base}/pods?resourceVersion=0&limit=5'\n",
}


@pytest.mark.parametrize("text", OLD_READS.values(), ids=OLD_READS.keys())
def test_an_arbitrarily_old_read_is_never_asked_for(text: str) -> None:
    (finding,) = resource_version.check([SourceFile("src/moorage/kube/client.py", text)])
    assert finding.line == 1


def test_a_version_that_was_seen_and_a_sentence_about_zero_pass() -> None:
    text = '"""Never resourceVersion=0."""\nparams = {"resourceVersion": version, "limit": 0}\n'
    assert list(resource_version.check([SourceFile("src/moorage/kube/client.py", text)])) == []


def test_a_file_over_the_limit_is_refused_unless_listed_with_a_reason() -> None:
    long = SourceFile("src/moorage/big.py", "x = 1\n" * 401)
    reason = SourceFile(lengths.LISTED, "# paths\nsrc/moorage/big.py one table, and a table is not split\n")
    silent = SourceFile(lengths.LISTED, "src/moorage/big.py\n")
    assert [finding.path for finding in lengths.check([long])] == ["src/moorage/big.py"]
    assert list(lengths.check([long, reason])) == []
    assert [finding.message for finding in lengths.check([long, silent])] == [
        "no reason given after the path"
    ]


def test_an_entry_for_a_file_that_became_short_is_refused() -> None:
    short = SourceFile("src/moorage/big.py", "x = 1\n" * 400)
    entry = SourceFile(lengths.LISTED, "src/moorage/big.py one table\n")
    (finding,) = lengths.check([short, entry])
    assert finding == Finding(lengths.LISTED, 1, "src/moorage/big.py is not over 400 lines; remove the entry")


def test_the_summary_names_the_median_and_leaves_empty_files_out() -> None:
    files = [SourceFile(f"src/{count}.py", "x\n" * count) for count in (0, 10, 20, 90)]
    assert lengths.summary(files) == "3 files of code, median 20 lines, longest 90"


MACHINE = ["/srv/builds/moorage", "/srv/builds/notes"]
UNWANTED = {
    "a note to self": f"x = 1  # {MARK}: later",
    "a conflict mark": "<" * 7 + " HEAD",
    "a home": "see /ho" + "me/maria/notes.txt",
    "this checkout": "cd /srv/builds/moorage && ls",
    "its neighbour": "see /srv/builds/notes/design.md",
}


@pytest.mark.parametrize("line", UNWANTED.values(), ids=UNWANTED.keys())
def test_words_that_belong_to_one_person_or_machine_are_refused(line: str) -> None:
    assert len(list(words.faults(line, MACHINE))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "mktemp /tmp/new." + "X" * 6,
        "HOME=/home/agent/work",
        "https://example.org/home/maria/x",
        "/srv/builds/moorage-2",
    ],
)
def test_ordinary_words_pass(line: str) -> None:
    assert list(words.faults(line, MACHINE)) == []


def test_the_neighbours_of_a_checkout_count_unless_every_machine_has_their_folder(tmp_path: Path) -> None:
    (tmp_path / "moorage").mkdir()
    (tmp_path / "notes").mkdir()
    assert words.machine_folders(tmp_path / "moorage") == [str(tmp_path / "moorage"), str(tmp_path / "notes")]
    assert words.machine_folders(Path("/opt/moorage")) == ["/opt/moorage"]


SKIPPED = SourceFile(TEST, "class TestIt:\n    def test_here(self):\n        assert self\n")


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (f"{TEST}::TestIt::test_here | 3 | needs two nodes", ""),
        (f"{TEST}::TestIt::test_here | 3", "must read: test | tier (1 to 5, 2-plain) | reason"),
        (f"{TEST}::TestIt::test_here | 9 | reason", "must read: test | tier (1 to 5, 2-plain) | reason"),
        (f"{TEST}::test_gone | 3 | reason", f"{TEST} has no test_gone; remove the entry"),
        ("tests/test_gone.py::test_x | 3 | reason", "tests/test_gone.py does not exist; remove the entry"),
    ],
)
def test_the_table_of_skips_names_tests_that_exist(entry: str, fault: str) -> None:
    findings = skips.check([SourceFile(skips.TABLE, f"# heading\n{entry}\n"), SKIPPED])
    assert [finding.message for finding in findings] == ([fault] if fault else [])


INDEX = SourceFile(links.INDEX, "[cli](cli.md), [site](https://example.org/x), [here](#part)\n")
PAGE = SourceFile("docs/cli.md", "see [the index](README.md#top) and ![a picture](picture.svg)\n")
PICTURE = SourceFile("docs/picture.svg", "<svg/>\n")


def test_a_link_that_leads_nowhere_is_refused() -> None:
    (finding,) = links.check([INDEX, PAGE])
    assert (finding.path, finding.message) == ("docs/cli.md", "docs/picture.svg does not exist")
    assert list(links.check([INDEX, PAGE, PICTURE])) == []


def test_a_page_that_the_index_does_not_list_is_refused() -> None:
    (finding,) = links.check([INDEX, PAGE, PICTURE, SourceFile("docs/secret.md", "text\n")])
    assert (finding.path, finding.message) == ("docs/secret.md", "is not listed in docs/README.md")
