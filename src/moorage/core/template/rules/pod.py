"""A template's Pod as the rules see it: its containers with kind and path. Built once by template.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from moorage.core.document.nodes import Mapping, item

SPEC = "template.spec"
INIT, ORDINARY, EPHEMERAL = "initContainers", "containers", "ephemeralContainers"


@dataclass(frozen=True)
class TemplateOptions:
    """What a profile says beside its template.

    ``workspace_mode``: managed_pvc, existing_claim or empty_dir; ``transport``: auto, portforward or exec;
    ``helper_source``: exec or image; ``refuse_policy``: what a policy may refuse is an error.
    """

    main_container: str = "agent"
    platform: str = "linux/amd64"
    workspace_mode: str = "managed_pvc"
    transport: str = "auto"
    helper_source: str = "exec"
    refuse_policy: bool = False


@dataclass(frozen=True)
class Container:
    """One container of the template: ``kind`` is the list it stands in."""

    kind: str
    path: str
    node: Mapping
    name: str | None
    main: bool


@dataclass(frozen=True)
class Pod:
    """``metadata`` and ``spec`` of the template; empty mappings where the document lacks them."""

    document: Mapping
    metadata: Mapping
    spec: Mapping
    options: TemplateOptions
    containers: tuple[Container, ...] = field(default=())

    @property
    def main(self) -> Container | None:
        return next((container for container in self.containers if container.main), None)

    @property
    def volumes(self) -> Iterator[tuple[str, Mapping]]:
        """Path and value of each volume."""
        return ((item(f"{SPEC}.volumes", index), node) for index, node in self.spec.mappings("volumes"))


def read_pod(document: Mapping, options: TemplateOptions) -> Pod:
    """The Pod of a document of any shape; what has the wrong type is left out (and reported elsewhere)."""
    template = document.mapping("template") or Mapping(document.line, document.column)
    nothing = Mapping(template.line, template.column)
    spec = template.mapping("spec") or nothing
    return Pod(
        document, template.mapping("metadata") or nothing, spec, options, tuple(_containers(spec, options))
    )


def _containers(spec: Mapping, options: TemplateOptions) -> Iterator[Container]:
    for kind in (INIT, ORDINARY, EPHEMERAL):
        for index, node in spec.mappings(kind):
            name = node.text("name")
            main = kind == ORDINARY and name == options.main_container
            yield Container(kind, item(f"{SPEC}.{kind}", index), node, name, main)
