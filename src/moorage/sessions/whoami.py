"""Who we are to the API server that new sessions go to, and what we may do there. Called by ``verbs``.

Asks reviews only; nothing is stored.
"""

from __future__ import annotations

import asyncio

from moorage.core.errors import ApiError
from moorage.core.kinds import SUBJECT_REVIEWS, Json
from moorage.ports.cluster import Cluster
from moorage.ports.sessions import Caller, Rights
from moorage.sessions.checks.rights import allowed
from moorage.sessions.executors import ExecutorConfig
from moorage.sessions.grant import RIGHTS, right_name


async def whoami(cluster: Cluster, config: ExecutorConfig) -> Caller:
    """Raises as ``Cluster.create`` does, where our identity is refused or nobody answers."""
    user = await _user(cluster)
    server = await cluster.identity()
    rights = await asyncio.gather(
        *(_rights(cluster, config.namespace, resource, sub, verbs) for resource, sub, verbs, _ in RIGHTS)
    )
    return Caller(
        user=str(user.get("username") or ""),
        groups=tuple(user.get("groups") or ()),
        context="" if config.embedded else config.context,
        namespace=config.namespace,
        server=server.address,
        rights=tuple(rights),
    )


async def _user(cluster: Cluster) -> Json:
    """{} from a server that does not tell (older, or reviews are denied)."""
    review: Json = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        found = await cluster.create(SUBJECT_REVIEWS, review)
    except ApiError as error:
        if error.problem.http_status not in (403, 404):
            raise
        return {}
    info: Json = (found.get("status") or {}).get("userInfo") or {}
    return info


async def _rights(
    cluster: Cluster, namespace: str, resource: str, subresource: str, verbs: tuple[str, ...]
) -> Rights:
    answers = await asyncio.gather(
        *(allowed(cluster, namespace, resource, subresource, verb) for verb in verbs)
    )
    named = list(zip(verbs, answers, strict=True))
    return Rights(
        right_name(resource, subresource),
        tuple(verb for verb, may in named if may),
        tuple(verb for verb, may in named if not may),
    )
