"""Certificates: whom we trust, who we are, and how both change while we run."""

from __future__ import annotations

import asyncio
import base64
import datetime
import functools
import os
import ssl
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from moorage import kube
from moorage.core.errors import ApiError
from moorage.core.kinds import NAMESPACES
from moorage.kube import tls

PEM = serialization.Encoding.PEM


class Authority:
    """A certificate authority as old clusters have it: without the extensions Python's strict mode wants."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        extension = x509.BasicConstraints(ca=True, path_length=None)
        self.pem = self._signed(self._name, self._key.public_key(), [(extension, False)]).public_bytes(PEM)

    def issue(self, name: str, *hosts: x509.GeneralName) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        extensions: list[tuple[x509.ExtensionType, bool]] = []
        if hosts:
            extensions.append((x509.SubjectAlternativeName(hosts), False))
        made = self._signed(subject, key.public_key(), extensions)
        private = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return made.public_bytes(PEM), private

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        extensions: list[tuple[x509.ExtensionType, bool]],
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        return builder.sign(self._key, hashes.SHA256())


class SecureApi:
    """An HTTPS server that asks for a client certificate and answers with its common name."""

    def __init__(self, folder: Path, authority: Authority) -> None:
        self.authority = authority
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.verify_mode = ssl.CERT_OPTIONAL
        self._context.load_verify_locations(cadata=authority.pem.decode())
        certificate, key = authority.issue("server", x509.DNSName("api.internal"))
        (folder / "server.crt").write_bytes(certificate)
        (folder / "server.key").write_bytes(key)
        self._context.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.served = 0
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        self.server = TestServer(app)

    async def start(self) -> None:
        await self.server.start_server(ssl=self._context)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.served += 1
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert") or {}
        names = [value for part in peer.get("subject", ()) for key, value in part if key == "commonName"]
        who = names[0] if names else ""
        return web.json_response({"metadata": {"name": "n", "uid": "u", "annotations": {"client": who}}})


@pytest.fixture
async def secure(tmp_path: Path) -> AsyncIterator[SecureApi]:
    made = SecureApi(tmp_path, Authority("old"))
    await made.start()
    yield made
    await made.server.close()


@pytest.fixture
async def connect(secure: SecureApi, tmp_path: Path) -> AsyncIterator[Callable[..., kube.KubeCluster]]:
    made: list[kube.KubeCluster] = []

    def make(cluster: str = "", user: str = "") -> kube.KubeCluster:
        (tmp_path / "ca.crt").write_bytes(secure.authority.pem)
        (tmp_path / "config").write_text(
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            f"clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{secure.server.port}'{cluster}}}}}]\n"
            f"users: [{{name: u, user: {{{user}}}}}]\n"
        )
        made.append(kube.connect(str(tmp_path / "config"), None, None, 5, environ={}))
        return made[-1]

    yield make
    for cluster in made:
        await cluster.close()


TRUSTED = ", certificate-authority: ca.crt, tls-server-name: api.internal"
PAIR = "client-certificate: client.crt, client-key: client.key"


def write_pair(folder: Path, pair: tuple[bytes, bytes]) -> None:
    (folder / "client.crt").write_bytes(pair[0])
    (folder / "client.key").write_bytes(pair[1])


async def name(cluster: kube.KubeCluster) -> Any:
    return (await cluster.get(NAMESPACES, "n"))["metadata"]["annotations"]["client"]


async def test_an_old_authority_and_another_server_name_are_accepted(connect: Any) -> None:
    cluster = connect(TRUSTED)
    assert await name(cluster) == ""
    assert len((await cluster.identity()).ca_sha256) == 64


async def test_case_131_an_authority_without_key_identifiers_is_verified_and_not_waved_through(
    secure: SecureApi,
) -> None:
    """Python's strict profile, which 3.13 makes the default of its own contexts, refuses this authority."""
    made = tls.context(secure.authority.pem, None, None, insecure=False)
    assert (made.verify_mode, made.check_hostname) == (ssl.CERT_REQUIRED, True)
    strict = tls.context(secure.authority.pem, None, None, insecure=False)
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    reach = functools.partial(
        asyncio.open_connection, "127.0.0.1", secure.server.port, server_hostname="api.internal"
    )
    with pytest.raises(ssl.SSLCertVerificationError):
        await reach(ssl=strict)
    _, writer = await reach(ssl=made)
    writer.close()


@pytest.mark.parametrize(
    "fields",
    ["", ", certificate-authority: ca.crt", ", certificate-authority: ca.crt, tls-server-name: other"],
    ids=["system authorities", "the address as name", "another name"],
)
async def test_a_server_that_does_not_prove_itself_gets_nothing(
    connect: Any, secure: SecureApi, fields: str
) -> None:
    with pytest.raises(ApiError) as caught:
        await name(connect(fields))
    assert (caught.value.problem.reason, caught.value.problem.sent) == ("Certificate", "no")
    assert "certificate-authority" in caught.value.hint
    assert secure.served == 0


async def test_verification_can_be_switched_off_by_name_only(connect: Any) -> None:
    assert await name(connect(", insecure-skip-tls-verify: true")) == ""


async def test_a_client_certificate_says_who_we_are(connect: Any, secure: SecureApi, tmp_path: Path) -> None:
    write_pair(tmp_path, secure.authority.issue("jane"))
    assert await name(connect(TRUSTED, PAIR)) == "jane"


async def test_certificate_data_is_used_as_well(connect: Any, secure: SecureApi) -> None:
    certificate, key = (base64.b64encode(part).decode() for part in secure.authority.issue("data"))
    assert (
        await name(connect(TRUSTED, f"client-certificate-data: {certificate}, client-key-data: {key}"))
        == "data"
    )


async def test_a_plugins_certificate_is_used(connect: Any, secure: SecureApi, tmp_path: Path) -> None:
    certificate, key = (part.decode().replace("\n", "\\n") for part in secure.authority.issue("plugin"))
    script = tmp_path / "plugin"
    version = "client.authentication.k8s.io/v1beta1"
    (tmp_path / "answer").write_text(
        f'{{"apiVersion": "{version}", "kind": "ExecCredential", "status": '
        f'{{"clientCertificateData": "{certificate}", "clientKeyData": "{key}"}}}}'
    )
    script.write_text(f"#!/bin/sh\ncat '{tmp_path}/answer'\n")
    script.chmod(0o755)
    assert await name(connect(TRUSTED, f"exec: {{apiVersion: {version}, command: ./plugin}}")) == "plugin"


async def test_a_rotated_certificate_is_used_without_a_restart(
    connect: Any, secure: SecureApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moorage.kube.access.FILE_CHECK", 0.0)
    write_pair(tmp_path, secure.authority.issue("before"))
    cluster = connect(TRUSTED, PAIR)
    assert await name(cluster) == "before"
    after = secure.authority.issue("after")
    (tmp_path / "client.crt").write_bytes(after[0])
    assert await name(cluster) == "before"  # the key is still the old one: keep what works
    (tmp_path / "client.key").write_bytes(after[1])
    assert await name(cluster) == "after"


async def test_a_rotated_authority_is_used_without_a_restart(
    connect: Any, secure: SecureApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moorage.kube.access.FILE_CHECK", 0.0)
    cluster = connect(TRUSTED)
    assert await name(cluster) == ""
    (tmp_path / "ca.crt").write_bytes(Authority("foreign").pem)
    with pytest.raises(ApiError, match="certificate"):
        await name(cluster)


async def test_unusable_files_are_named(connect: Any, secure: SecureApi, tmp_path: Path) -> None:
    write_pair(tmp_path, (secure.authority.issue("a")[0], secure.authority.issue("b")[1]))
    with pytest.raises(ApiError) as caught:
        await name(connect(TRUSTED, PAIR))
    assert caught.value.message.startswith("client-certificate:")
    assert caught.value.problem.sent == "no"


def test_an_encrypted_key_is_refused_without_asking_anybody() -> None:
    key = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"pw")
    )
    with pytest.raises(tls.TlsFault, match="certificate and key cannot be used"):
        tls.context(None, Authority("a").issue("x")[0], key, insecure=False)


@pytest.mark.parametrize("authority", [b"", b"not a certificate"], ids=["empty", "text"])
def test_an_authority_without_a_certificate_is_refused(authority: bytes) -> None:
    with pytest.raises(tls.TlsFault, match="no usable PEM certificate"):
        tls.context(authority, None, None, insecure=False)


def test_the_identity_of_an_authority_is_that_of_its_certificates() -> None:
    one, two = Authority("a").pem, Authority("b").pem
    assert tls.fingerprint(one + two) == tls.fingerprint(b"# kept by hand \xff\n" + two + b"\n\n" + one)
    assert tls.fingerprint(one) != tls.fingerprint(two)
    assert tls.fingerprint(None) == ""


def test_a_key_touches_the_disk_for_us_alone_and_only_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    load = ssl.SSLContext.load_cert_chain

    def spy(self: ssl.SSLContext, certificate: Path, key: Path, password: str) -> None:
        seen.extend(
            (stat.S_IMODE(key.parent.stat().st_mode), stat.S_IMODE(p.stat().st_mode))
            for p in (certificate, key)
        )
        load(self, certificate, key, password)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", spy)
    tls.context(None, *Authority("a").issue("x"), insecure=False)
    assert seen == [(0o700, 0o600), (0o700, 0o600)]
    assert os.listdir(tmp_path) == []
