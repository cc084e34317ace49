"""What the routes share: the store, the places sessions run at, clock and random values, and how this server
is reached. Made by ``server.run`` or a test; holds no logic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.requests import HTTPConnection

from moorage.ports.clock import Clock, Ids
from moorage.ports.service import ServiceStore
from moorage.ports.serving import Driving, Places, PresetShelf
from moorage.ports.store import Store
from moorage.server.status import Looks


@dataclass(frozen=True)
class OidcSettings:
    """A provider of OpenID Connect. ``administrators``: subjects that become administrators at their first
    sign-in; others become members."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    administrators: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reached:
    """``base_url``: as browsers name this server, without a slash at the end. ``hosts``: names that requests
    may be for, empty for any. ``loopback``: nobody but this machine reaches it."""

    base_url: str
    hosts: tuple[str, ...] = ()
    loopback: bool = True

    @property
    def secure(self) -> bool:
        return self.base_url.startswith("https:")


@dataclass(frozen=True)
class ServerParts:
    """``store`` and ``service`` are of one database. ``looks`` are shared among its
    requests, ``drivers`` act on what they wish."""

    store: Store
    service: ServiceStore
    places: Places
    presets: PresetShelf
    clock: Clock
    ids: Ids
    reached: Reached
    looks: Looks
    drivers: Driving
    oidc: OidcSettings | None = None


def server_parts(
    store: Store,
    service: ServiceStore,
    places: Places,
    presets: PresetShelf,
    clock: Clock,
    ids: Ids,
    reached: Reached,
    *,
    drivers: Driving,
    oidc: OidcSettings | None = None,
) -> ServerParts:
    """With what belongs to this server alone."""
    return ServerParts(store, service, places, presets, clock, ids, reached, Looks(places), drivers, oidc)


def parts_of(request: HTTPConnection) -> ServerParts:
    """Of the application that a request came to."""
    parts: ServerParts = request.app.state.parts
    return parts
