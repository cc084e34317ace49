"""A person's own words about a session: what fits into its record. Used by ``sessions.launch``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moorage.core.command import is_utf8
from moorage.core.errors import Problem

MOST_WORDS: Final = 64
LARGEST: Final = 16 << 10
"""Bytes of all keys and values together."""


def check_metadata(metadata: Mapping[str, str]) -> list[Problem]:
    """What is wrong with it, if anything."""
    for key, value in metadata.items():
        if not key or not (is_utf8(key) and is_utf8(value)):
            return [
                Problem("metadata", "metadata", f"{key!r} is no usable key or value", "use text in UTF-8")
            ]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items())
    if len(metadata) > MOST_WORDS or size > LARGEST:
        said = f"the metadata has {len(metadata)} keys and {size} bytes"
        hint = f"{MOST_WORDS} keys and {LARGEST} bytes fit; put more into a file of the workspace"
        return [Problem("metadata", "metadata", said, hint)]
    return []
