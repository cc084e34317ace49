"""The two ways to a cluster: a kubeconfig, or the service account of our own Pod.

Called by the composition root. Reads configuration at once, so that faults in it are reported before
anything else happens; connects only when the first call is made.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from dataclasses import replace

from moorage.core.errors import UsageError
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
    act_as: str = "",
    environ: Environment | None = None,
) -> KubeCluster:
    """A cluster by kubeconfig.

    ``kubeconfig`` None: the ``KUBECONFIG`` list, else ``~/.kube/config``. ``context`` None: the
    current context. ``namespace`` None: the context's, else ``default``. ``terminal``: a credential
    plugin may talk to the person at our terminal. ``act_as``: a user to impersonate, in place of what the
    kubeconfig says of that, as kubectl's ``--as``. Raises NotFound, UsageError or DocumentError.
    """
    env = os.environ if environ is None else environ
    _check_user(act_as)
    target = _acting(kubeconfigs.load(kubeconfig, context, namespace, env), act_as)

    def reload() -> Target:
        # By the name it had: switching the current context must not move a running process.
        return _acting(kubeconfigs.load(kubeconfig, target.context, namespace, env), act_as)

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


def _check_user(act_as: str) -> None:
    if act_as and not (act_as.isascii() and act_as.isprintable()):
        raise UsageError("the name of a user holds visible ASCII characters only", field="--as")


def _acting(target: Target, act_as: str) -> Target:
    if not act_as:
        return target
    return replace(target, login=replace(target.login, impersonate=(("Impersonate-User", act_as),)))


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
