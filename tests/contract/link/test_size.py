"""What is sent into every Pod stays small; docs/adr tells what had to stay outside for that."""

from __future__ import annotations

from pathlib import Path


def test_the_program_that_is_sent_into_pods_stays_within_4_mb(helpers: dict[str, Path]) -> None:
    sizes = {arch: path.stat().st_size for arch, path in helpers.items()}
    assert sorted(sizes) == ["amd64", "arm64"]
    assert all(size <= 4_000_000 for size in sizes.values()), sizes
