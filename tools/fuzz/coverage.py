"""Runs libFuzzer, through atheris, over one target: ``python -m tools.fuzz.coverage NAME SECONDS FIGURES
SECONDS-AN-INPUT MEBIBYTES``. Started by ``tools.fuzz.python``.

Inputs that reach new code live in memory and a scratch folder; only what breaks a promise goes to the corpus.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from tools.fuzz.trial import Trial


def main() -> None:
    name, seconds, figures, an_input, mebibytes = sys.argv[1:]
    atheris: Any = importlib.import_module("atheris")  # without types, and not on every machine
    with atheris.instrument_imports(include=["moorage", "yaml"]):
        targets = importlib.import_module("tests.fuzz.targets").TARGETS
    target = targets[name]
    trial = Trial(target, Path(figures))
    starts = Path(figures).parent / "starts"  # libFuzzer ends this process: its starter cleans up
    starts.mkdir()
    for number, data in enumerate(target.starts()):
        (starts / str(number)).write_bytes(data)
    words = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-timeout={an_input}",
        f"-rss_limit_mb={mebibytes}",
        f"-max_len={target.longest}",
        f"-artifact_prefix={target.folder}/found-",
        "-verbosity=0",
        str(starts),
    ]
    atheris.Setup(words, trial.run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
