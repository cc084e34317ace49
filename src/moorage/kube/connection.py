"""The two ways to a cluster: a kubeconfig, or the service account of our own Pod.

Called by the composition root. Reads configuration at once, so that faults in it are reported before
anything else happens; connects only when the first call is made.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable

from moorage.kube import in_cluster
from moorage.kube import kubeconfig as kubeconfigs
from moorage.kube.access import Access
from moorage.kube.client import KubeCluster
from moorage.kube.target import Environment, Target
from moorage.kube.transport import Transport

REQUEST_TIMEOUT = 30.0


def connect(
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    request_timeout: float = REQUEST_TIMEOUT,
    *,
    terminal: bool = False,
    environ: Environment | None = None,
) -> KubeCluster:
    """A cluster by kubeconfig.

    ``kubeconfig`` None: the ``KUBECONFIG`` list, else ``~/.kube/config``. ``context`` None: the
    current context. ``namespace`` None: the context's, else ``default``. ``terminal``: a credential
    plugin may talk to the person at our terminal. Raises NotFound, UsageError or DocumentError.
    """
    env = os.environ if environ is None else environ
    target = kubeconfigs.load(kubeconfig, context, namespace, env)

    def reload() -> Target:
        # By the name it had: switching the current context must not move a running process.
        return kubeconfigs.load(kubeconfig, target.context, namespace, env)

    return _cluster(target, reload, env, request_timeout, terminal)


def connect_in_cluster(
    namespace: str | None,
    request_timeout: float = REQUEST_TIMEOUT,
    *,
    environ: Environment | None = None,
) -> KubeCluster:
    """A cluster by our own Pod's service account. Raises UsageError outside a Pod."""
    env = os.environ if environ is None else environ
    target = in_cluster.load(namespace, env)
    return _cluster(target, lambda: in_cluster.load(namespace, env), env, request_timeout, False)


def _cluster(
    target: Target,
    reload: Callable[[], Target],
    environ: Environment,
    request_timeout: float,
    terminal: bool,
) -> KubeCluster:
    access = Access(target, reload, environ, f"moorage/{_version()}", terminal=terminal)
    return KubeCluster(Transport(access, request_timeout), target.namespace, target.context)


def _version() -> str:
    try:
        return importlib.metadata.version("moorage")
    except importlib.metadata.PackageNotFoundError:
        return "unpackaged"
