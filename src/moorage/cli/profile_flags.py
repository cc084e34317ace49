"""The flags that say what a session's Pod and workspace are made of, for ``run`` and ``doctor`` alike.

Read into ``launching.Asked`` by their names. Knows nothing of what they mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

POD: Final = ("template", "main_container", "platform", "helper", "helper_image", "transport")
WORKSPACE: Final = ("workspace", "workspace_size", "storage_class", "access_mode", "claim")
"""Names of the parameters, in the order of their help."""


def profile_flags(template_help: str) -> Callable[[F], F]:
    """A decorator that adds them all."""
    options = (
        click.option("--template", metavar="FILE", help=template_help),
        click.option(
            "--main-container", metavar="NAME", help="Container the agent runs in (default: agent)."
        ),
        click.option("--platform", metavar="OS/ARCH", help="linux/amd64 (default) or linux/arm64."),
        click.option("--helper", metavar="HOW", help="How agentctl gets in: exec (default) or image."),
        click.option(
            "--helper-image", metavar="REF", help="Image of agentctl, by digest; means --helper image."
        ),
        click.option(
            "--transport", metavar="HOW", help="Way to the Pod: auto (default), portforward or exec."
        ),
        click.option(
            "--workspace", metavar="MODE", help="managed_pvc (default), existing_claim or empty_dir."
        ),
        click.option(
            "--workspace-size", metavar="SIZE", help="Of a managed claim, e.g. 500Mi (default: 10Gi)."
        ),
        click.option("--storage-class", metavar="NAME", help="Of a managed claim (default: the cluster's)."),
        click.option(
            "--access-mode",
            metavar="MODE",
            multiple=True,
            help="Of a managed claim (default: ReadWriteOnce).",
        ),
        click.option(
            "--claim", metavar="NAME", default="", help="Claim that is there; means existing_claim."
        ),
    )

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add
