"""Who the embedded API is: its own certificate authority, its certificate for loopback, and the admin token.

Called by ``embedded.cluster`` at start. Made once per folder and kept, because sessions remember the
authority and address of the cluster they run on. Files are private to their owner.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import os
import secrets
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_YEARS = timedelta(days=3650)
_EARLIER = timedelta(hours=1)  # a clock that is set back a little does not lock anybody out


class Identity:
    """Certificate, key and token in ``folder``; made at the first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._authority, self._certificate = folder / "ca.crt", folder / "server.pem"
        token = folder / "token"
        if not self._authority.exists():
            self._make()
        if not token.exists():
            write_private(token, secrets.token_urlsafe(32).encode())
        self.token = token.read_text().strip()
        self.token_file = token

    @property
    def authority(self) -> str:
        """The CA certificate in PEM."""
        return self._authority.read_text()

    def context(self) -> ssl.SSLContext:
        """TLS for the server's side."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self._certificate)
        return context

    def kubeconfig(self, address: str, namespace: str = "default") -> bytes:
        """A kubeconfig with everything in it, in JSON (which is YAML)."""
        data = base64.b64encode(self.authority.encode()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "embedded", "cluster": {"server": address, "certificate-authority-data": data}}
            ],
            "users": [{"name": "embedded", "user": {"token": self.token}}],
            "contexts": [
                {
                    "name": "embedded",
                    "context": {"cluster": "embedded", "user": "embedded", "namespace": namespace},
                }
            ],
            "current-context": "embedded",
        }
        return json.dumps(document, indent=1).encode()

    def _make(self) -> None:
        ca_key = ec.generate_private_key(ec.SECP256R1())
        # A name of its own: a client that trusts two of these must not mix them up.
        ca_name = _name(f"moorage-embedded-{secrets.token_hex(4)}")
        ca = _builder(ca_name, ca_name, ca_key.public_key())
        ca = ca.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        ca = ca.add_extension(_usage(sign=True), critical=True)
        ca_certificate = _with_identifiers(ca, ca_key, ca_key).sign(ca_key, hashes.SHA256())

        key = ec.generate_private_key(ec.SECP256R1())
        own = _builder(_name("moorage-embedded"), ca_name, key.public_key())
        own = own.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        own = own.add_extension(_usage(sign=False), critical=True)
        own = own.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        hosts: list[x509.GeneralName] = [x509.DNSName("localhost")]
        hosts += [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
        own = own.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        certificate = _with_identifiers(own, key, ca_key).sign(ca_key, hashes.SHA256())

        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        write_private(self._certificate, certificate.public_bytes(serialization.Encoding.PEM) + private)
        # Last, because its presence says that the identity is complete. The authority's key is not kept.
        write_private(self._authority, ca_certificate.public_bytes(serialization.Encoding.PEM))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _YEARS)
    )


def _with_identifiers(
    builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, signer: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    """Key identifiers, which strict clients insist on."""
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return builder.add_extension(own, critical=False).add_extension(by, critical=False)


def _usage(*, sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign,
        crl_sign=sign,
        encipher_only=False,
        decipher_only=False,
    )


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
