"""``EmbeddedCluster``: the API, the controllers and the nodes in one event loop, over one folder.

Used by ``main`` (one detached process per data folder) and by tests (in their own process). It is for one
person on one machine: it listens on loopback only, and the one credential is in a private kubeconfig.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from moorage.core.errors import ApiError, StoreError
from moorage.core.kinds import NAMESPACES, STORAGE_CLASSES, Json, Resource
from moorage.embedded.admission.mutate import DEFAULT_CLASS
from moorage.embedded.admission.webhooks import Hook, Webhooks
from moorage.embedded.api.calls import Call
from moorage.embedded.api.server import ApiServer
from moorage.embedded.api.users import Authorizer, Tokens
from moorage.embedded.controllers.claims import PROVISIONER, Claims
from moorage.embedded.controllers.collector import Collector
from moorage.embedded.controllers.definitions import Definitions, serve
from moorage.embedded.controllers.loop import run_all
from moorage.embedded.controllers.namespaces import Namespaces
from moorage.embedded.controllers.quotas import Quotas
from moorage.embedded.controllers.scheduler import Scheduler
from moorage.embedded.faults import Faults
from moorage.embedded.identity import Identity, write_private
from moorage.embedded.objects import LocalObjects
from moorage.embedded.private import private_database, private_folder
from moorage.embedded.registry.kinds import CLUSTER_ROLES, DEFINITIONS, PRIORITY_CLASSES, Kinds, key
from moorage.embedded.registry.registry import Registry
from moorage.embedded.seam import Node
from moorage.embedded.storage.store import Store

_HOST = "127.0.0.1"
_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class EmbeddedCluster:
    """One cluster in ``folder`` with ``nodes``.

    ``now``: seconds since the epoch. ``start`` raises StoreError when the folder is another process's, its
    files cannot be read, or its port is taken.
    """

    def __init__(
        self, folder: Path, nodes: Sequence[Node] = (), *, now: Callable[[], float] = time.time
    ) -> None:
        self.folder, self.nodes = folder, nodes
        self._now = now
        self._stack = contextlib.AsyncExitStack()
        self.address = ""

    @property
    def kubeconfig(self) -> Path:
        """The administrator's, mode 0600."""
        return self.folder / "kubeconfig"

    @property
    def volumes(self) -> Path:
        """Where the directories of volumes are."""
        return self.folder / "volumes"

    async def start(self) -> None:
        """Load or begin the cluster, and listen."""
        async with contextlib.AsyncExitStack() as stack:
            self._lock(stack)
            self._build(stack)
            self._first_objects()
            await self._listen(stack)
            await self._run_controllers(stack)
            for node in self.nodes:
                await node.start(LocalObjects(self.registry, "kubelet", node.name))
                stack.push_async_callback(node.stop)
            self._stack = stack.pop_all()

    async def stop(self) -> None:
        """Stop listening and looking after Pods. Containers go on; the next start takes them over."""
        await self._stack.aclose()

    def objects(self, component: str = "tests") -> LocalObjects:
        """The cluster from inside."""
        return LocalObjects(self.registry, component)

    def set_faults(self, faults: Faults) -> None:
        """Test only: what goes wrong from now on."""
        self.server.faults = faults

    def set_audit(self, audit: Callable[[Json], None] | None) -> None:
        """Where each answered request is told, as an audit.k8s.io/v1 event."""
        self.server.audit = audit

    def deny(self, rule: Callable[[Call], bool]) -> Callable[[], None]:
        """Test only: refuse (403) the calls that ``rule`` picks; access reviews know. Returns the undo."""
        self.authorizer.denied.append(rule)
        return lambda: self.authorizer.denied.remove(rule)

    def add_webhook(self, hook: Hook) -> Callable[[], None]:
        """Test only: change or refuse drafts of creates. Returns the undo."""
        self.webhooks.own.append(hook)
        return lambda: self.webhooks.own.remove(hook)

    def _lock(self, stack: contextlib.AsyncExitStack) -> None:
        private_folder(self.folder)
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        stack.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            hint = "use the one that runs, or give another folder with --data"
            raise StoreError(f"an embedded cluster already runs on {self.folder}", hint=hint) from None

    def _build(self, stack: contextlib.AsyncExitStack) -> None:
        self.identity = Identity(self.folder / "identity")
        for name in ("objects.db", "tokens.db"):
            private_database(self.folder / name)
        self.store = Store(self.folder / "objects.db")
        stack.callback(self.store.close)
        self.registry = Registry(self.store, Kinds(), self._now)
        for definition in self.store.items(key(DEFINITIONS)):
            serve(self.registry, definition, new=False)
        self.authorizer = Authorizer(self.store)
        tokens = Tokens(self.store, self.identity.token, self.folder / "tokens.db", self._now)
        stack.callback(tokens.close)
        self.webhooks = Webhooks(self.store)
        self.server = ApiServer(
            self.registry, tokens, self.authorizer, self.webhooks.mutate, self.nodes, self._now
        )

    def _first_objects(self) -> None:
        objects = LocalObjects(self.registry, "moorage-embedded")
        everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
        critical = {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}
        wanted: list[tuple[Resource, Json]] = [
            (NAMESPACES, {"metadata": {"name": name}}) for name in _NAMESPACES
        ]
        wanted += [(CLUSTER_ROLES, {"metadata": {"name": "cluster-admin"}, "rules": [everything]})]
        wanted += [(PRIORITY_CLASSES, {"metadata": {"name": n}, "value": v}) for n, v in critical.items()]
        if self.store.version == 0:  # a person may delete it for good
            metadata = {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}}
            late = {"provisioner": PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"}
            wanted += [(STORAGE_CLASSES, {"metadata": metadata, **late})]
        for resource, obj in wanted:
            try:
                objects.create(resource, obj)
            except ApiError as error:
                if error.problem.reason != "AlreadyExists":
                    raise
        namespaces = Namespaces(self.registry, objects, self.identity.authority)
        for name in _NAMESPACES:
            namespaces.furnish(name)

    async def _listen(self, stack: contextlib.AsyncExitStack) -> None:
        server = web.Server(self.server.handle, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        port_file = self.folder / "port"
        # Sessions know the cluster by its address, so it keeps the one it had.
        port = int(port_file.read_text()) if port_file.exists() else 0
        site = web.TCPSite(runner, _HOST, port, ssl_context=self.identity.context(), backlog=512)
        try:
            await site.start()
        except OSError as error:
            why = f"port {port}, which the embedded cluster in {self.folder} has, is taken: {error.strerror}"
            raise StoreError(
                why, hint="end the program that listens there, or give another --data"
            ) from error
        host, bound = runner.addresses[0][:2]
        self.address = f"https://{host}:{bound}"
        write_private(port_file, str(bound).encode())
        write_private(self.kubeconfig, self.identity.kubeconfig(self.address))

    async def _run_controllers(self, stack: contextlib.AsyncExitStack) -> None:
        def objects(component: str, process: str = "kube-controller-manager") -> LocalObjects:
            return LocalObjects(self.registry, component, manager=process)

        self.volumes.mkdir(exist_ok=True, mode=0o700)
        manager = objects("kube-controller-manager")
        task = asyncio.create_task(
            run_all(
                self.store,
                [
                    Namespaces(self.registry, manager, self.identity.authority),
                    Collector(self.store, self.registry.kinds, manager),
                    Definitions(self.registry, manager),
                    Quotas(self.store, manager),
                    Claims(objects("persistentvolume-controller"), self.volumes),
                    Scheduler(self.registry, objects("default-scheduler", "kube-scheduler")),
                ],
            ),
            name="controllers",
        )

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        stack.push_async_callback(end)
