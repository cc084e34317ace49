"""Certificates and kubeconfigs, made with openssl.

Called by the control plane, by nodes, and for users of tests. Everything stays in the cluster's
folder (pki/ is 0700). It never prints key material.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

from .cluster import Cluster
from .shell import run

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650")
_ONE_AT_A_TIME = threading.Lock()


def authority(cluster: Cluster) -> None:
    """The cluster's own CA, and the key pair that signs ServiceAccount tokens."""
    pki = cluster.dir / "pki"
    if not (pki / "ca.crt").exists():
        subject = ("-subj", "/CN=testcluster-ca")
        run("openssl", "req", "-x509", *NEW_KEY, *subject, "-keyout", pki / "ca.key", "-out", pki / "ca.crt")
    if not (pki / "sa.pub").exists():
        curve = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        run("openssl", "genpkey", *curve, "-out", pki / "sa.key")
        run("openssl", "pkey", "-pubout", "-in", pki / "sa.key", "-out", pki / "sa.pub")


def certificate(cluster: Cluster, name: str, subject: str, names: str = "") -> tuple[Path, Path]:
    """Certificate and key for client and server use; `names` is an openssl subjectAltName list."""
    crt, key, csr = (cluster.dir / f"pki/{name}.{end}" for end in ("crt", "key", "csr"))
    with _ONE_AT_A_TIME:
        if not crt.exists():
            run("openssl", "req", *NEW_KEY, "-subj", subject, "-keyout", key, "-out", csr)
            extensions = f"extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName={names or 'DNS:' + name}\n"
            ca = ("-CA", cluster.dir / "pki/ca.crt", "-CAkey", cluster.dir / "pki/ca.key", "-CAcreateserial")
            part = crt.with_suffix(".part")
            sign = ("openssl", "x509", "-req", "-days", "3650", *ca, "-extfile", "/dev/stdin")
            run(*sign, "-in", csr, "-out", part, stdin=extensions)
            part.rename(crt)
            csr.unlink()
    return crt, key


def kubeconfig(cluster: Cluster, name: str, user: str, group: str, server: int = 1) -> Path:
    """NAME.kubeconfig for a user in a group, with a certificate of the cluster's CA.

    `server` picks API server 1 or 2 of the same cluster.
    """
    path = cluster.dir / (f"{name}.kubeconfig" if server == 1 else f"{name}-server{server}.kubeconfig")
    if not path.exists():
        crt, key = certificate(cluster, name, f"/O={group}/CN={user}")
        where = {"server": cluster.url(server), "certificate-authority": f"{cluster.dir}/pki/ca.crt"}
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": where}],
            "users": [{"name": user, "user": {"client-certificate": str(crt), "client-key": str(key)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        }
        part = path.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_text(json.dumps(content, indent=1))
        part.rename(path)
    return path
