"""A copy of the checkout in which one file at a time is broken. The checkout itself is never written to."""

from __future__ import annotations

import compileall
import contextlib
import py_compile
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.mutants.mutant import Mutant, Unusable

# Built, so git does not know it; sessions need it to start.
BUILT = ("src/moorage/_helper",)


def copy_checkout(root: Path, target: Path) -> None:
    """Everything git knows or would add, and the built helper."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name, follow_symlinks=False)
    for name in BUILT:
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name)
    # Compiled once for all mutants; by hash, for a broken file can have the time and size of the whole one.
    by_hash = py_compile.PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(target, maxlevels=20, quiet=2, invalidation_mode=by_hash)


@contextlib.contextmanager
def broken(copy: Path, mutant: Mutant) -> Iterator[None]:
    """The copy with ``mutant`` in it, until the block ends. Raises ``Unusable`` as the mutant does."""
    path = copy / mutant.file
    if not path.is_file():
        raise Unusable(f"{mutant.name}: {mutant.file} does not exist")
    whole = path.read_text()
    path.write_text(mutant.applied_to(whole))
    try:
        yield
    finally:
        path.write_text(whole)
