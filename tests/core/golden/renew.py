"""Write the problems of every case of bad_templates.yaml anew: ``python tests/core/golden/renew.py``.

For a change of rules or words; read the diff before you commit it. Documents and options are kept; one
that is no text stands as ``!!binary``.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from moorage.core.errors import Problem
from moorage.core.template import TemplateOptions, check_template

GOLDEN = Path(__file__).parent / "bad_templates.yaml"
HEADER = """\
# Bad templates, and exactly what is said of each. `problems` are all errors, in order. A test reads this;
# renew.py writes the problems. Add a case by its name and document, run renew.py, read what it wrote.
"""


class Dumper(yaml.SafeDumper):
    """Documents stand as blocks, so that line numbers can be counted."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    block = "\n" in text and text.isprintable() is False and not set(text) & {"\0", "\t"}
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if block else None)


Dumper.add_representer(str, _text)


def as_row(problem: Problem) -> dict[str, Any]:
    """The six facts of a problem, in the order people read them."""
    row = asdict(problem)
    return {name: row[name] for name in ("line", "column", "field", "code", "message", "hint")}


def renewed(case: dict[str, Any]) -> dict[str, Any]:
    """The case with the problems the checker finds today."""
    checked = check_template(case["document"], TemplateOptions(**case.get("options", {})))
    return {**case, "problems": [as_row(problem) for problem in checked.errors]}


if __name__ == "__main__":
    cases = [renewed(case) for case in yaml.safe_load(GOLDEN.read_text())]
    blocks = [
        yaml.dump([case], Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000) for case in cases
    ]
    GOLDEN.write_text(HEADER + "\n" + "\n".join(blocks))
