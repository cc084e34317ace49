"""The base of wire types, pages, and the way from records to them and back."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

import msgspec
from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from moorage.core.service.records import Row
from moorage.ports.service import Rows

W = TypeVar("W", bound="Wire")
S = TypeVar("S", bound=msgspec.Struct)
MOST: int = 500


class Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Wire):
    """One entry of ``errors``. ``line`` and ``column``: in a document that was sent."""

    field: str
    code: str
    message: str
    hint: str
    line: int | None = None
    column: int | None = None


class ProblemDetails(BaseModel):
    """RFC 9457. Further members: ``reason``, ``version``, ``active_session_count``."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    hint: str
    errors: list[Problem]


class Page(Wire, Generic[W]):
    """``next``: what ``after`` is for the next page; None at the end."""

    items: list[W]
    next: str | None = None


Name = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
After = Annotated[str, Query(max_length=200, description="id after which the page begins")]
Limit = Annotated[int, Query(ge=1, le=MOST)]


def shown(kind: type[W], row: msgspec.Struct, **more: Any) -> W:
    """A record as its wire type: the fields that it names."""
    values = {**msgspec.to_builtins(row), **more}
    return kind.model_validate({name: values[name] for name in kind.model_fields if name in values})


def record(kind: type[S], body: Wire) -> S:
    """A body as its record. Its own checks stand in ``core.service.checks``."""
    return msgspec.convert(body.model_dump(mode="json"), kind)


async def page_of(kind: type[W], rows: Rows[Row], after: str, limit: int, parent: str = "") -> Page[W]:
    """One more than asked tells whether there is a next page."""
    found = await rows.list_all(parent=parent, after=after, limit=limit + 1)
    following = found[limit - 1].id if len(found) > limit else None
    return Page(items=[shown(kind, row) for row in found[:limit]], next=following)
