"""A small provider of OpenID Connect, whose tokens a test can spoil."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from tests.sessions.stage import NOW

CLIENT = "moorage"
Claims = dict[str, Any]


class FakeProvider:
    """``spoil`` changes the claims of the next token; ``forge`` makes all of it."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.published = [self.key]
        self.issuer = ""
        self.spoil: Claims = {}
        self.forge: Callable[[Claims], str] | None = None
        self.asked: dict[str, str] = {}
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/keys", self._keys)
        app.router.add_post("/token", self._token)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.issuer = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _discovery(self, request: web.Request) -> web.Response:
        at = self.issuer
        return web.json_response(
            {
                "issuer": at,
                "authorization_endpoint": f"{at}/authorize",
                "token_endpoint": f"{at}/token",
                "jwks_uri": f"{at}/keys",
            }
        )

    async def _keys(self, request: web.Request) -> web.Response:
        return web.json_response(KeySet([*self.published]).as_dict(private=False))

    async def _token(self, request: web.Request) -> web.Response:
        form = await request.post()
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != self.asked["code_challenge"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "subject-1",
            "preferred_username": "Mia",
            "nonce": self.asked["nonce"],
            "iat": int(NOW),
            "exp": int(NOW) + 300,
            **self.spoil,
        }
        made = self.forge(claims) if self.forge else self.signed(claims, self.key)
        return web.json_response({"access_token": "x", "token_type": "Bearer", "id_token": made})

    def signed(self, claims: Claims, key: RSAKey) -> str:
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)
