"""The sandboxes of a place, a page at a time: what ``Sandbox.list`` gives out."""

from __future__ import annotations

from typing import Literal

from moorage.core.errors import UsageError
from moorage.ports.sessions import SessionView
from moorage.sdk.launching import is_sandbox
from moorage.sdk.observed import info_of, state_of
from moorage.sdk.opening import At, Connection
from moorage.sdk.values import SandboxInfo, SandboxQuery


class AsyncSandboxPaginator:
    """Each page is looked at when it is asked for. A sandbox made meanwhile is in a later page or in none;
    none is told twice."""

    def __init__(
        self, query: SandboxQuery, limit: int, next_token: str | None, order: Literal["asc", "desc"], at: At
    ) -> None:
        if limit < 1:
            raise UsageError(f"a page of {limit}", field="limit", hint="1 or more")
        self._query = query
        self._limit = limit
        self._token = next_token
        self._order = order
        self._at = at
        self._has_next = True

    @property
    def has_next(self) -> bool:
        """Is there another page? True before the first."""
        return self._has_next

    @property
    def next_token(self) -> str | None:
        """Where the next page begins, for another ``list``; None at the end."""
        return self._token

    async def next_items(self) -> list[SandboxInfo]:
        """The next page. UsageError after the last."""
        if not self._has_next:
            raise UsageError("there are no more pages", hint="ask has_next before next_items")
        connection = await Connection.to(self._at)
        try:
            views = await connection.sessions.list_views()
        finally:
            await connection.close()
        found = sorted(filter(self._is_wanted, views), key=_place, reverse=self._order == "desc")
        after = [view for view in found if self._is_later(view)]
        page = after[: self._limit]
        self._has_next = len(after) > len(page)
        self._token = _place(page[-1]) if self._has_next else None
        return [info_of(view) for view in page]

    def _is_later(self, view: SessionView) -> bool:
        if self._token is None:
            return True
        return _place(view) < self._token if self._order == "desc" else _place(view) > self._token

    def _is_wanted(self, view: SessionView) -> bool:
        query, session = self._query, view.session
        wanted = (query.metadata or {}).items()
        return (
            is_sandbox(session)
            and wanted <= session.metadata.items()
            and (query.state is None or state_of(view) in query.state)
            and (query.started_after is None or session.created_at > query.started_after.timestamp())
        )


def _place(view: SessionView) -> str:
    """By age; the id tells apart what was made at once."""
    return f"{view.session.created_at:017.6f}-{view.session.id}"
