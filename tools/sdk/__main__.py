"""``python -m tools.sdk [--check]``: renew the sync face of the SDK, or say what of it is not current."""

from __future__ import annotations

import argparse
import sys

from tools.sdk.generate import BLOCKING, ROOT, renewed


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.sdk", description="Renew src/moorage/sdk/blocking."
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail where a file is not current"
    )
    check = parser.parse_args().check
    BLOCKING.mkdir(exist_ok=True)
    stale = {path: text for path, text in renewed().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        if not check:
            path.write_text(text)
        said = "is not current; run: python -m tools.sdk" if check else "was renewed"
        print(f"{path.relative_to(ROOT)} {said}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
