"""TLS contexts from credential bytes, with Go's leniency about old authorities and nothing more.

Called by ``kube.access`` whenever credentials changed. Private keys touch the disk only as 0600 files in
a 0700 directory, for the moment OpenSSL needs to read them.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import ssl
import tempfile
from pathlib import Path

_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)


class TlsFault(Exception):
    """Certificates or a key that cannot be used; ``part`` names which."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


def context(
    authority: bytes | None, certificate: bytes | None, key: bytes | None, *, insecure: bool
) -> ssl.SSLContext:
    """A client context. ``authority`` None: the system's own. Raises TlsFault."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])  # upgrades to WebSocket do not exist in HTTP/2
    # Python 3.13's strict profile refuses the authorities of EKS and of old kubeadm clusters. Chain and
    # host name are still checked. Trusting an intermediate alone is what Go's verifier does as well.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    made.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    elif authority is None:
        made.load_default_certs()
    else:
        try:
            made.load_verify_locations(cadata=b"".join(_pems(authority)).decode("ascii"))
        except (ssl.SSLError, ValueError) as error:
            raise TlsFault("certificate-authority", "holds no usable PEM certificate") from error
    if certificate is not None and key is not None:
        _load_pair(made, certificate, key)
    return made


def _pems(bundle: bytes) -> list[bytes]:
    """The certificates alone: comments around them may be in any encoding."""
    return [match.group(0) + b"\n" for match in _PEM.finditer(bundle)]


def fingerprint(authority: bytes | None) -> str:
    """SHA-256 over the authority's certificates, whatever their order and wrapping; "" for the system's."""
    if authority is None:
        return ""
    ders = sorted(base64.b64decode(b"".join(match.split())) for match in _PEM.findall(authority))
    return hashlib.sha256(b"".join(ders)).hexdigest()


def _load_pair(made: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="moorage-") as folder:  # 0700, removed at once
        paths = []
        for name, data in (("c", certificate), ("k", key)):
            path = Path(folder, name)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            paths.append(path)
        try:
            # Without a password callback OpenSSL would ask on the terminal.
            made.load_cert_chain(paths[0], paths[1], password="")
        except (ssl.SSLError, ValueError) as error:
            reason = getattr(error, "reason", None) or "unreadable or encrypted"
            raise TlsFault("client-certificate", f"certificate and key cannot be used ({reason})") from error
