"""Image references: is the text one, and may what it names change under us.

Called by the format check and the policy rules. Grammar: ``[host[:port]/]path[:tag][@algorithm:digest]``
as container runtimes read it. Never asks a registry.
"""

from __future__ import annotations

import re

from moorage.core.document.nodes import shown

_HOST_PART = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_DOMAIN = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[0-9a-fA-F:]+\])"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE = re.compile(
    rf"(?:{_DOMAIN}(?::\d+)?/)?{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_LONGEST = 512
_SHA256_LENGTH = len("sha256:") + 64
FLOATING_TAGS = frozenset(
    ("latest", "stable", "edge", "nightly", "main", "master", "dev", "develop", "rolling", "lts", "current")
)
"""Tags meant to move. A version tag can be moved too, but by convention is not."""


def image_fault(text: str) -> tuple[str, str] | None:
    """(message, hint) when ``text`` is no image reference, else None."""
    if not text:
        return "the image is empty", "name an image: registry.example/name:tag"
    if text != text.strip() or re.search(r"\s", text):
        return f"{shown(text)} has white space in it", "remove the spaces"
    if len(text) > _LONGEST:
        return f"{shown(text)} is {len(text)} characters long", f"an image has at most {_LONGEST}"
    found = _IMAGE.fullmatch(text)
    if found is None:
        name = text.split("@")[0].rsplit(":", 1)[0].split("/")[-1]
        hint = "write [host[:port]/]name[:tag][@sha256:digest]"
        if "::" in text:
            hint = "write one ':' before the tag"
        elif name != name.lower():
            hint = f"names are lower case: {name.lower()}"
        return f"{shown(text)} is no image reference", hint
    digest = found["digest"] or ""
    if digest.startswith("sha256:") and len(digest) != _SHA256_LENGTH:
        return f"{shown(text)} has a digest of the wrong length", "a sha256 digest has 64 hexadecimal digits"
    return None


def is_pinned(text: str) -> bool:
    """Names its content by a sha256 digest: every pull brings the same."""
    found = _IMAGE.fullmatch(text[: _LONGEST + 1])
    digest = (found["digest"] or "") if found is not None else ""
    return digest.startswith("sha256:") and len(digest) == _SHA256_LENGTH


def is_mutable(text: str) -> bool:
    """No digest, and no tag or one of FLOATING_TAGS: the next pull may bring something else."""
    found = _IMAGE.fullmatch(text[: _LONGEST + 1])
    return found is not None and not found["digest"] and (found["tag"] or "latest") in FLOATING_TAGS
