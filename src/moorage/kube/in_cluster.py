"""The configuration a Pod finds inside the cluster: its service account.

Called by ``kube.connect``. Reads the mounted files' places, not their contents: ``kube.access`` reads
the token every minute.
"""

from __future__ import annotations

from pathlib import Path

from moorage.core.errors import UsageError
from moorage.kube.target import Environment, FromFile, Login, Target, Trust

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load(namespace: str | None, environ: Environment, folder: Path = SERVICE_ACCOUNT) -> Target:
    """Raises UsageError outside a Pod, or in one without a mounted token."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise UsageError(
            "this process does not run in a Pod (KUBERNETES_SERVICE_HOST is not set)",
            field="auth_mode",
            hint="use a kubeconfig instead",
        )
    token, authority = folder / "token", folder / "ca.crt"
    if not token.is_file():
        raise UsageError(
            f"this Pod has no service account token at {token}",
            field="auth_mode",
            hint="set automountServiceAccountToken: true, or use a kubeconfig",
        )
    own = folder / "namespace"
    found = own.read_text("utf-8").strip() if own.is_file() else ""
    shown = f"[{host}]" if ":" in host else host
    return Target(
        server=f"https://{shown}:{port}",
        namespace=namespace or found or "default",
        trust=Trust(FromFile(authority) if authority.is_file() else None),
        login=Login(token_file=token),
        context="in-cluster",
    )
