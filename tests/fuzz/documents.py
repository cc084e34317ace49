"""Targets for what people write: templates and kubeconfig files.

A template check answers with problems that have a place and never with an exception; a kubeconfig is a
connection's target or one error of our tree.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import yaml

from moorage.core.errors import DocumentError, NotFound, UsageError
from moorage.core.template import CheckedTemplate, check_template, template_hash
from moorage.kube import kubeconfig
from moorage.kube.target import Target
from tests.fuzz.target import Target as FuzzTarget

GOLDEN = Path(__file__).parents[1] / "core" / "golden"
LONGEST_WORDS = 4096
"""Characters of one message: what is wrong is told, not repeated."""


def template(data: bytes) -> None:
    checked = check_template(data)
    assert checked == check_template(data)
    assert checked.valid == (not checked.errors) == (checked.template is not None)
    assert_problems_have_places(data, checked)
    if checked.template is None:
        return
    # What came out, written as JSON, is a template that comes out the same.
    document = {"apiVersion": "v1", "kind": "PodTemplate", "template": checked.template}
    again = check_template(json.dumps(document))
    assert again.template == checked.template, again.errors
    assert template_hash(checked.template) == template_hash(again.template)


def assert_problems_have_places(data: bytes, checked: CheckedTemplate) -> None:
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    lines = [len(line) for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    # U+0085, U+2028 and U+2029 end lines of YAML 1.1 only: lines may be more than those counted here.
    others = sum(text.count(mark) for mark in "\x85\u2028\u2029")
    for problem in (*checked.errors, *checked.warnings):
        assert 1 <= problem.line <= len(lines) + others, problem
        assert problem.column >= 1, problem
        assert others or problem.column <= lines[problem.line - 1] + 1, problem
        assert problem.code
        assert problem.hint, problem
        words = problem.field + problem.message + problem.hint
        assert "\n" not in words, problem
        assert len(problem.message) <= LONGEST_WORDS, problem
        words.encode()  # a surrogate could not be printed


def of_kubeconfig(data: bytes) -> None:
    first, second = loaded(data), loaded(data)
    assert repr(first) == repr(second)


def loaded(data: bytes) -> Target | str:
    """The target, or the words of the error."""
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        path = Path(folder) / "config"
        path.write_bytes(data)
        try:
            target = kubeconfig.load(str(path), None, None, {})
        except DocumentError as error:
            assert_has_a_place(error, data, str(path))
            return words(error).replace(folder, "")
        except (NotFound, UsageError) as error:
            return words(error).replace(folder, "")
        assert target.server
        assert target.namespace
        return repr(target).replace(folder, "")


def assert_has_a_place(error: DocumentError, data: bytes, path: str) -> None:
    (problem,) = error.problems
    lines = 1 + data.count(b"\n") + data.replace(b"\r\n", b"").count(b"\r") + _other_ends(data)
    assert problem.line <= lines, problem
    assert problem.code
    assert error.message.startswith(path), error.message


def words(error: DocumentError | NotFound | UsageError) -> str:
    """All of an error that is shown; it can be printed, whatever stood in the file."""
    said = f"{error.message}\n{error.hint}\n{error.field}"
    said.encode()
    return said


def _other_ends(data: bytes) -> int:
    return sum(data.count(mark.encode()) for mark in "\x85\u2028\u2029")


def _memory() -> str | None:
    """A folder that is memory, where the system has one: a file an input."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def golden_templates() -> list[bytes]:
    """The documents of the golden files, those that are not plain text left out."""
    cases = [case for path in sorted(GOLDEN.glob("*.yaml")) for case in yaml.safe_load(path.read_text())]
    return [case["document"].encode() for case in cases if isinstance(case.get("document"), str)]


TEMPLATE = FuzzTarget("template", template, longest=8192, others=golden_templates)
KUBECONFIG = FuzzTarget("kubeconfig", of_kubeconfig, longest=4096)
