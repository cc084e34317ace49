"""The flags that every verb takes, before or after its name.

Used by ``cli.command`` (which adds them to each verb) and by ``cli.app`` (which adds them to the root).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

import click

from moorage.cli.values import OUTPUT, REQUEST_TIMEOUT
from moorage.cli.wiring import GlobalOptions

NAMES: Final = tuple(field.name for field in fields(GlobalOptions))
"""Parameter names of the global flags, as click hands them over."""


class GlobalFlag(click.Option):
    """A flag shown under *Global flags* in every help."""


def global_flags() -> list[click.Option]:
    """Fresh options, to be added to one command."""
    return [
        GlobalFlag(
            ["--context"],
            metavar="NAME",
            default="",
            help="Cluster, as a context of the kubeconfig (default: see -n).",
        ),
        GlobalFlag(
            ["--kubeconfig"],
            metavar="FILE",
            default="",
            help="Kubeconfig (default: $KUBECONFIG, or ~/.kube/config).",
        ),
        GlobalFlag(
            ["-n", "--namespace"],
            metavar="NAME",
            default="",
            help="Namespace (default: the context's own); alone, of the current context.",
        ),
        GlobalFlag(
            ["--as", "act_as"],
            metavar="USER",
            default="",
            help="Act as this user of the cluster (default: as ourselves).",
        ),
        GlobalFlag(
            ["--request-timeout"],
            metavar="TIME",
            type=REQUEST_TIMEOUT,
            help="Limit of one API call, e.g. 90s or 2m (default: 30s).",
        ),
        GlobalFlag(
            ["--data-dir"],
            metavar="DIR",
            default="",
            help="Where records are kept (default: your data folder).",
        ),
        GlobalFlag(
            ["-o", "--output"],
            metavar="FORMAT",
            type=OUTPUT,
            help="table (default), wide, json, yaml, name, jsonpath=…, custom-columns=….",
        ),
        GlobalFlag(["--no-color"], is_flag=True, help="Never colour."),
        GlobalFlag(["--no-input"], is_flag=True, help="Never ask; fail with the command to run."),
        GlobalFlag(["-q", "--quiet"], is_flag=True, help="Print less: no progress, only names."),
        GlobalFlag(
            ["-v", "--verbose", "verbosity"], count=True, help="Say more of errors; twice: tracebacks."
        ),
    ]


def merge(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Flags before the verb, overruled by those after it."""
    merged = {name: outer.get(name) for name in NAMES}
    merged.update({name: inner[name] for name in NAMES if inner.get(name)})
    return {name: value for name, value in merged.items() if value is not None}
