"""``./dev docs [--check]``: renew the generated parts of the documentation, or say which are not current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from moorage import settings
from tools.docs import presets, rest
from tools.docs.reference import renewed

DOCS = Path(__file__).resolve().parents[2] / "docs"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev docs", description="Renew what pages have from the code.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where a page is not current"
    )
    check = parser.parse_args().check
    wanted = {
        "cli.md": renewed((DOCS / "cli.md").read_text()),
        "presets.md": presets.renewed((DOCS / "presets.md").read_text()),
        "rest.md": rest.renewed((DOCS / "rest.md").read_text()),
        "settings.md": settings.reference(),
    }
    stale = [name for name, text in wanted.items() if (DOCS / name).read_text() != text]
    for name in stale:
        if not check:
            (DOCS / name).write_text(wanted[name])
        print(f"docs/{name} {'is not current; run: ./dev docs' if check else 'was renewed'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
