"""Which proxy the environment asks for: Go's rules, so that we go where kubectl goes. Pure.

Called by ``kube.access`` when the kubeconfig names no ``proxy-url``.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from moorage.kube.target import Environment


def from_environment(server: str, environ: Environment) -> str:
    """The proxy URL for ``server``, or "". Loopback addresses never go through a proxy."""
    parts = urlsplit(server)
    host, scheme = parts.hostname or "", parts.scheme
    proxy = _either(environ, f"{scheme}_proxy")
    port = parts.port or (443 if scheme == "https" else 80)
    if not proxy or is_loopback(host) or _excepted(host, port, _either(environ, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _either(environ: Environment, name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def is_loopback(host: str) -> bool:
    """A host, without brackets, that never leaves this machine."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _excepted(host: str, port: int, no_proxy: str) -> bool:
    address = _address(host)
    for rule in (part.strip().lower() for part in no_proxy.split(",")):
        if rule == "*":
            return True
        name, _, wanted = rule.rpartition(":") if rule.count(":") == 1 else (rule, "", "")
        if not name or (wanted and wanted != str(port)):
            continue
        if "/" in name:
            if address is not None and _within(address, name):
                return True
            continue
        suffix = name.removeprefix("*").lstrip(".")
        # ``example.org`` covers itself and its subdomains; ``.example.org`` only those.
        if host.endswith("." + suffix) or (host == suffix and not name.startswith((".", "*"))):
            return True
    return False


def _within(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
