"""Write the problems of every refused template here anew: ``python tests/core/golden/renew.py``.

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

HERE = Path(__file__).parent
HOW = """\
# A test reads this; renew.py writes the problems. Add a case by its name and document, run renew.py, read
# what it wrote.
"""
HEADERS = {
    "bad_templates.yaml": """\
# Bad templates, and exactly what is said of each. `problems` are all errors, in order.
""",
    "catalogue_refused.yaml": """\
# Shapes seen in the wild that are no template of ours, and exactly what is said of each: docs/cases.md names
# them by the first word of `name`. `problems` are all errors, in order.
""",
}


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
    for name, header in HEADERS.items():
        path = HERE / name
        blocks = [
            yaml.dump([renewed(case)], Dumper=Dumper, sort_keys=False, allow_unicode=True, width=1000)
            for case in yaml.safe_load(path.read_text())
        ]
        path.write_text(header + HOW + "\n" + "\n".join(blocks))
