"""The service over HTTP: REST, server-sent events, the terminal's WebSocket, sign-in and roles.

``main`` calls ``serve``; tests make the application by ``server.app.make_app``. Everything else here is
reached through those two. Knows sessions and the store by their ports only. Imported on use: FastAPI costs a
second, and no command of the command line needs it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moorage.server.run import serve

__all__ = ["serve"]


def __getattr__(name: str) -> Any:
    if name == "serve":
        from moorage.server.run import serve

        return serve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
