"""``moorage context``: the clusters of the kubeconfig, and which of them new sessions go to."""

from __future__ import annotations

from typing import Any

import click

from moorage.cli.command import Call, VerbGroup, verb
from moorage.cli.output import print_list, print_object
from moorage.cli.tables import table
from moorage.cli.text import nearest, plain
from moorage.cli.verbs import VERBS
from moorage.cli.verbs.config import find
from moorage.cli.wiring import ContextShown
from moorage.core.errors import NotFound


def _object(one: ContextShown, chosen: str) -> dict[str, Any]:
    return {
        "kind": "Context",
        "name": one.name,
        "chosen": one.name == chosen,
        "namespace": one.namespace or None,
        "server": one.server or None,
        "problem": one.problem,
    }


@verb(
    "ls",
    help="""List the contexts of the kubeconfig.

    CHOSEN is the one that settings name. The current context of kubectl chooses nothing here.""",
    examples=("moorage context ls", "moorage context ls --kubeconfig other.yaml -o json"),
)
async def ls(call: Call) -> int:
    found = call.wiring.contexts(call.options.kubeconfig)
    chosen = find(call, "context").value
    rows = [["*" if c.name == chosen else "", c.name, c.namespace, c.server or c.problem] for c in found]
    print_list(
        call,
        [_object(one, chosen) for one in found],
        lambda: table(call.terminal, ["CHOSEN", "NAME", "NAMESPACE", "SERVER"], rows, flexible=("SERVER",)),
    )
    return 0


@verb(
    "show",
    help="""Print the context that holds now, and what chose it.

    Ends with 3 when none is chosen.""",
    examples=("moorage context show",),
)
async def show(call: Call) -> int:
    one = find(call, "context")
    if not one.value:
        raise NotFound("no context is chosen", hint="choose one: moorage context use NAME")
    namespace = find(call, "namespace").value
    value = {"kind": "Context", "name": one.value, "namespace": namespace or None, "source": one.source}
    print_object(call, value, lambda: f"{plain(one.value)}\n")
    call.terminal.note(f"chosen by {one.source}" + (f", namespace {namespace}" if namespace else ""))
    return 0


@verb(
    "use",
    help="""Choose a context, in your own settings file.

    With -n the namespace too, with --kubeconfig that file too. `moorage config unset context` undoes it.
    Sessions that are there stay where they were made.""",
    examples=("moorage context use kind-dev", "moorage context use kind-dev -n agents"),
)
@click.argument("chosen", metavar="NAME")
async def use(call: Call, chosen: str) -> int:
    known = {one.name: one for one in call.wiring.contexts(call.options.kubeconfig)}
    if chosen not in known:
        near = nearest(chosen, known)
        hint = f"did you mean {near}?" if near else f"contexts here: {', '.join(known) or 'none'}"
        raise NotFound(f"the kubeconfig has no context {chosen!r}", field="NAME", hint=hint)
    if known[chosen].problem:
        raise NotFound(
            f"context {chosen} cannot be used: {known[chosen].problem}", hint="mend the kubeconfig"
        )
    options = call.options
    extra = {"namespace": options.namespace, "kubeconfig": options.kubeconfig}
    call.wiring.change_settings({"context": chosen} | {name: value for name, value in extra.items() if value})
    call.terminal.note(f"context {chosen} is set in {call.wiring.user_file()}")
    one = find(call, "context")
    if one.value != chosen:
        call.terminal.say(f"warning: {one.source} goes before it: the context is {one.value}")
    return 0


command = VerbGroup("context", help=VERBS["context"].summary, commands=[ls, show, use])
