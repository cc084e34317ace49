"""Names: what a session may be called, and what its objects are called in the cluster.

Called by ``sessions`` (launch), ``engine`` and the CLI's hints. Deterministic: the same session id gives
the same Pod name for ever, because that name is the API server's own lock against a second Pod. Never
looks a name up and never draws randomness: callers pass it in.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable

from moorage.core.errors import Problem

SESSION_NAME_LIMIT = 63
"""A session's name may become a label value, which holds 63 characters."""

LABEL_LIMIT = 63
OBJECT_LIMIT = 253

_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_PLAIN_ID = re.compile(r"[a-z0-9]{1,40}")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_SLUG_LENGTH = 26
_HASH_LENGTH = 12

_ADJECTIVES = (
    "amber", "brisk", "calm", "clear", "deep", "early", "fair", "fleet", "gentle", "green", "keen", "late",
    "lofty", "mild", "north", "quiet", "rapid", "salty", "sheer", "silver", "south", "steady", "still",
    "stout", "swift", "tidal", "trim", "warm", "western", "white", "wide", "windy",
)  # fmt: skip
_NOUNS = (
    "anchor", "barge", "bay", "beacon", "berth", "bollard", "bosun", "buoy", "canal", "cove", "current",
    "cutter", "delta", "dock", "ferry", "fjord", "harbor", "haven", "inlet", "jetty", "keel", "ketch",
    "lagoon", "mast", "pier", "quay", "reef", "rudder", "sail", "sound", "strait", "tide",
)  # fmt: skip


def is_dns_label(name: str) -> bool:
    """RFC 1123 label: Pod containers, volumes, namespaces."""
    return len(name) <= LABEL_LIMIT and _DNS_LABEL.fullmatch(name) is not None


def is_object_name(name: str) -> bool:
    """RFC 1123 subdomain of at most 253 characters: Pods, claims, storage classes."""
    return 0 < len(name) <= OBJECT_LIMIT and all(
        _DNS_LABEL.fullmatch(part) is not None for part in name.split(".")
    )


def is_label_value(value: str) -> bool:
    """A legal label value; the empty one is legal too."""
    return len(value) <= LABEL_LIMIT and _LABEL_VALUE.fullmatch(value) is not None


def valid_session_name(name: str) -> Problem | None:
    """None when ``name`` may name a session, else what is wrong with it and a name that would do."""
    if is_dns_label(name):
        return None
    if not name:
        return Problem("name", "name_empty", "a session name cannot be empty", "leave --name out to get one")
    if len(name) > SESSION_NAME_LIMIT:
        said = f"a session name has at most {SESSION_NAME_LIMIT} characters, this one {len(name)}"
        code = "name_too_long"
    else:
        said = "a session name is made of a-z, 0-9 and '-', and starts and ends with a letter or digit"
        code = "name_invalid"
    suggestion = _slug(name, SESSION_NAME_LIMIT)
    hint = f"try --name {suggestion}" if suggestion else "leave --name out to get one"
    return Problem("name", code, said, hint)


def generated_name(entropy: str) -> str:
    """A name easy to say and type, e.g. ``calm-ferry-3f9a``, from at least 8 hexadecimal digits."""
    number = int(entropy[:8], 16)
    number, adjective = divmod(number, len(_ADJECTIVES))
    number, noun = divmod(number, len(_NOUNS))
    return f"{_ADJECTIVES[adjective]}-{_NOUNS[noun]}-{number % 0x10000:04x}"


def pod_name(session_id: str) -> str:
    """The session's Pod: a DNS-1123 label of at most 48 characters, no two session ids alike."""
    return f"moorage-{_stem(session_id)}"


def claim_name(session_id: str) -> str:
    """The session's own claim (mode managed_pvc), at most 58 characters."""
    return f"{pod_name(session_id)}-workspace"


def bootstrap_ref(session_id: str) -> str:
    """Under which the secret store keeps the session's bootstrap nonce."""
    return f"session:{session_id}:bootstrap"


def env_ref(session_id: str) -> str:
    """Under which the secret store keeps the values of ``-e``."""
    return f"session:{session_id}:env"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate a person probably meant, for a hint; None when nothing is close."""
    found = difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.6)
    return found[0] if found else None


def _stem(identifier: str) -> str:
    # A plain id stands as it is. Any other gets a slug and a hash of the whole; it holds a '-', which no
    # plain id does, so the two kinds cannot meet.
    if _PLAIN_ID.fullmatch(identifier):
        return identifier
    digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{_slug(identifier, _SLUG_LENGTH) or 'x'}-{digest}"


def _slug(text: str, limit: int) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:limit].strip("-")
