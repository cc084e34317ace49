"""Which proxy the environment asks for: server and environment in, proxy out."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from moorage.core.kinds import NAMESPACES
from moorage.kube.proxy import from_environment

PROXY = "http://proxy:3128"
CASES: dict[str, tuple[str, dict[str, str], str]] = {
    "none": ("https://h", {}, ""),
    "https": ("https://h", {"HTTPS_PROXY": PROXY}, PROXY),
    "lower case": ("https://h", {"https_proxy": PROXY}, PROXY),
    "without a scheme": ("https://h", {"HTTPS_PROXY": "proxy:3128"}, PROXY),
    "for http only": ("https://h", {"HTTP_PROXY": PROXY}, ""),
    "loopback": ("https://127.0.0.1:6443", {"HTTPS_PROXY": PROXY}, ""),
    "localhost": ("https://localhost", {"HTTPS_PROXY": PROXY}, ""),
    "excepted host": ("https://a.b", {"HTTPS_PROXY": PROXY, "NO_PROXY": "x, a.b"}, ""),
    "excepted domain": ("https://c.a.b", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.b"}, ""),
    "a dot covers subdomains only": ("https://a.b", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".a.b"}, PROXY),
    "another end of a word": ("https://xa.b", {"HTTPS_PROXY": PROXY, "NO_PROXY": "a.b"}, PROXY),
    "excepted network": ("https://10.96.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
    "another network": ("https://11.0.0.1", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8,x/y"}, PROXY),
    "excepted port": ("https://h:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "h:6443"}, ""),
    "another port": ("https://h:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "h:443"}, PROXY),
    "all": ("https://h", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, ""),
}


@pytest.mark.parametrize(("server", "environ", "proxy"), CASES.values(), ids=CASES.keys())
def test_the_environments_proxy_is_chosen_as_kubectl_does(
    server: str, environ: dict[str, str], proxy: str
) -> None:
    assert from_environment(server, environ) == proxy


async def test_requests_go_through_the_proxy_the_kubeconfig_names(api: Any) -> None:
    asked: list[str] = []

    async def forward(request: web.Request) -> web.StreamResponse:
        asked.append(request.raw_path)
        via = request.headers.get("Proxy-Authorization", "")
        return web.json_response({"metadata": {"name": "n", "uid": "u"}, "via": via})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", forward)
    proxy = TestServer(app)
    await proxy.start_server()
    cluster = api.cluster(**{"proxy-url": f"http://user:pw@127.0.0.1:{proxy.port}"})
    answer = await cluster.get(NAMESPACES, "n")
    await proxy.close()
    assert answer["via"].startswith("Basic ")
    assert asked == [f"{api.url}/api/v1/namespaces/n"]
    assert api.requests == []
