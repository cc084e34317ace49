"""Random scripts: a few calls about one or two kinds and two names, so that they meet. Pure.

``scripts()`` is the strategy of the test beside it. Every call may be good or bad: that is for the API server
to say, and what is compared.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from .changes import METADATA, NOTHING
from .kinds import KINDS, Tried
from .sides import OLD_VERSION, PAGE, UID, VERSION, Step

NAMES = ("a", "b")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
BARE = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
BARE_LIST = BARE.replace("Metadata", "MetadataList")
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
Steps = st.SearchStrategy[Step]
Query = tuple[tuple[str, str], ...]


def _queries(**choices: tuple[str, ...]) -> st.SearchStrategy[Query]:
    """Mostly no parameter, at most two of ``choices``."""
    pairs = [(name, value) for name, values in choices.items() for value in values]
    one = st.sampled_from(pairs)
    return st.one_of(
        st.just(()),
        st.just(()),
        one.map(lambda pair: (pair,)),
        st.tuples(one, one).map(lambda two: tuple(dict(two).items())),
    )


_WRITES = {"dryRun": ("All", "All", "Some"), "fieldValidation": ("Strict", "Ignore", "Warn", "Nonsense")}
_LABELS = (
    "app=x",
    "app",
    "!app",
    "app!=x",
    "app in (x,y)",
    "app notin (y)",
    "app==x,tier",
    "app=x,!tier",
    "app in (",
    "=x",
    "bad key=x",
    "app=bad value!",
    "tier>1",
    "",
)
_FIELDS = (
    "metadata.name=a",
    "metadata.name!=a",
    "metadata.namespace=none",
    "nonsense=x",
    "metadata.name",
    "status.phase=Pending",
    "type=Opaque",
)


def _changes(tried: Tried, most: int = 2) -> st.SearchStrategy[Any]:
    table = [(path, value) for path, values in (*tried.changes, *METADATA) for value in values]
    own = [(path, value) for path, values in tried.changes for value in values] or table
    common = [(("metadata", "labels"), {"app": "x"}), (("metadata", "labels"), {"app": "y", "tier": "z"})]
    one = st.one_of(st.sampled_from(own), st.sampled_from(table), st.sampled_from(common))
    return st.lists(one, max_size=most).map(tuple)


def _created(tried: Tried) -> Steps:
    query = _queries(**_WRITES, fieldManager=("one", "x" * 129))
    if not tried.stored:
        query = st.just((("dryRun", "All"),))
    return st.builds(
        Step,
        method=st.just("POST"),
        plural=st.just(tried.plural),
        name=st.sampled_from(NAMES),
        collection=st.just(True),
        query=query,
        basis=st.sampled_from(("good", "good", "good", "unnamed")),
        changes=_changes(tried),
    )


def _read(tried: Tried) -> Steps:
    one = st.builds(
        Step,
        method=st.just("GET"),
        plural=st.just(tried.plural),
        name=st.sampled_from((*NAMES, "none")),
        sub=st.sampled_from(("", "", "", "status", "nonsense")),
        query=_queries(resourceVersion=("0", VERSION, "nonsense"), pretty=("false",)),
        accept=st.sampled_from(("application/json", "application/json", TABLE, BARE)),
    )
    many = st.builds(
        Step,
        method=st.just("GET"),
        plural=st.just(tried.plural),
        query=_queries(
            labelSelector=_LABELS,
            fieldSelector=_FIELDS,
            resourceVersion=("0", VERSION, "nonsense"),
            resourceVersionMatch=("NotOlderThan", "Exact", "Nonsense"),
            **({"limit": ("1", "2", "x"), "continue": (PAGE, "nonsense")} if tried.namespaced else {}),
        ),
        accept=st.sampled_from(("application/json", "application/json", TABLE, BARE_LIST)),
    )
    return st.one_of(one, many)


def _subresource(tried: Tried) -> st.SearchStrategy[str]:
    if tried.plural == "services":  # an update of the status of none makes one: nobody needs that
        return st.just("")
    return st.sampled_from(("", "", "", "status") if tried.status else ("", "", "", "", "status"))


def _updated(tried: Tried) -> Steps:
    version = st.sampled_from(
        (
            (),
            (),
            ((("metadata", "resourceVersion"), OLD_VERSION),),
            ((("metadata", "resourceVersion"), NOTHING),),
            ((("metadata", "uid"), "11111111-1111-1111-1111-111111111111"),),
        )
    )
    return st.builds(
        Step,
        method=st.just("PUT"),
        plural=st.just(tried.plural),
        name=st.sampled_from(NAMES),
        sub=_subresource(tried),
        query=_queries(**_WRITES),
        basis=st.sampled_from(("last", "last", "last", "good")),
        changes=st.tuples(_changes(tried), version).map(lambda both: (*both[0], *both[1])),
    )


def _nested(path: tuple[str | int, ...], value: Any) -> Any:
    """A merge patch that sets one field; lists are patched as a whole."""
    if any(isinstance(part, int) for part in path):
        at = next(at for at, part in enumerate(path) if isinstance(part, int))
        inner = _nested(path[at + 1 :], value)
        item = {"name": "main", **inner} if isinstance(inner, dict) and "containers" in path else inner
        return _nested(path[:at], [item])
    for part in reversed(path):
        value = {part: None if value == NOTHING else value}
    return value


def _patched(tried: Tried) -> Steps:
    table = [(path, value) for path, values in (*tried.changes, *METADATA) for value in values if path]
    change = st.sampled_from(table)
    merges = change.map(lambda one: _nested(*one))
    operations = st.tuples(change, st.sampled_from(("add", "replace", "remove", "test"))).map(_operation)
    other = st.sampled_from(
        (
            [],
            {},
            [{"op": "test", "path": "/kind", "value": "x"}],
            [{"op": "nonsense", "path": "/a"}],
            "x",
            [{"op": "copy", "from": "/metadata/name", "path": "/metadata/labels/name"}],
            [{"op": "move", "from": "/none", "path": "/a"}],
        )
    )
    version = st.sampled_from(
        (
            {"metadata": {"resourceVersion": VERSION}},
            {"metadata": {"resourceVersion": OLD_VERSION}},
            {"metadata": {"uid": UID}},
            {"metadata": {"finalizers": None}},
        )
    )

    def steps(content_type: str, raw: st.SearchStrategy[Any]) -> Steps:
        return st.builds(
            Step,
            method=st.just("PATCH"),
            plural=st.just(tried.plural),
            name=st.sampled_from(NAMES),
            sub=_subresource(tried),
            query=_queries(**_WRITES, fieldManager=("one",), force=("true",)),
            content_type=st.just(content_type),
            raw=raw,
        )

    return st.one_of(
        steps(MERGE, st.one_of(merges, version)),
        steps(STRATEGIC, st.one_of(merges, version)),
        steps(JSON_PATCH, st.one_of(operations.map(lambda one: [one]), other)),
    )


def _operation(drawn: Any) -> Any:
    (path, value), op = drawn
    pointer = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)
    return {"op": op, "path": pointer, **({} if op == "remove" or value == NOTHING else {"value": value})}


def _applied(tried: Tried) -> Steps:
    managers = st.sampled_from(("one", "one", "two", ""))
    force = st.sampled_from(("", "", "true", "false"))
    query = st.tuples(managers, force, _queries(**_WRITES)).map(
        lambda drawn: tuple(
            {
                **({"fieldManager": drawn[0]} if drawn[0] else {}),
                **({"force": drawn[1]} if drawn[1] else {}),
                **dict(drawn[2]),
            }.items()
        )
    )
    return st.builds(
        Step,
        method=st.just("PATCH"),
        plural=st.just(tried.plural),
        name=st.sampled_from(NAMES),
        sub=st.sampled_from(
            ("", "", "", "", "status") if tried.status and tried.plural != "services" else ("",)
        ),
        query=query if tried.stored else query.map(lambda pairs: (*pairs, ("dryRun", "All"))),
        content_type=st.just(APPLY),
        basis=st.just("good"),
        changes=_changes(tried, 1),
    )


def _deleted(tried: Tried) -> Steps:
    options = st.sampled_from(
        (
            None,
            None,
            {},
            {"gracePeriodSeconds": 0},
            {"gracePeriodSeconds": 3},
            {"gracePeriodSeconds": "x"},
            {"propagationPolicy": "Background"},
            {"propagationPolicy": "Foreground"},
            {"propagationPolicy": "Orphan"},
            {"propagationPolicy": "Nonsense"},
            {"preconditions": {"uid": UID}},
            {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}},
            {"preconditions": {"resourceVersion": OLD_VERSION}},
            {"preconditions": {"resourceVersion": "1"}},
            {"dryRun": ["All"]},
            {"dryRun": ["Some"]},
            {"kind": "DeleteOptions", "apiVersion": "v1"},
            {"kind": "Nonsense", "apiVersion": "v1"},
            {"nonsense": 1},
        )
    )
    stored = _queries(
        dryRun=("All", "Some"), gracePeriodSeconds=("0", "x"), propagationPolicy=("Background", "Nonsense")
    )
    query = stored if tried.stored else st.just((("dryRun", "All"),))
    one = st.builds(
        Step,
        method=st.just("DELETE"),
        plural=st.just(tried.plural),
        name=st.sampled_from(NAMES),
        query=query,
        raw=options,
    )
    many = st.builds(
        Step,
        method=st.just("DELETE"),
        plural=st.just(tried.plural),
        query=st.sampled_from(
            (
                (("labelSelector", "app=x"),),
                (("fieldSelector", "metadata.name=a"),),
                (("labelSelector", "app in ("),),
            )
        ),
        raw=options,
    )
    return st.one_of(one, one, one, many) if tried.namespaced else one


_GARBAGE = (
    b"",
    b"{",
    b"[]",
    b"null",
    b"1",
    b'"x"',
    b"{}",
    b"\xff\xfe",
    b'{"a": 1, "a": 2}',
    b"a: b\n",
    b'{"metadata": {"name": "a"}} x',
    b"{" * 500,
)


def _told_apart(step: Step) -> bool:
    """No deletion of a whole collection; and what follows a document in YAML is not looked at alike."""
    if step.method == "DELETE" and not step.name:
        return False
    return "yaml" not in step.content_type or not str(step.raw).endswith(" x'")


def _odd(tried: Tried) -> Steps:
    return st.builds(
        Step,
        method=st.sampled_from(("POST", "PUT", "PATCH", "DELETE", "OPTIONS")),
        plural=st.just(tried.plural),
        name=st.sampled_from((*NAMES, *NAMES, "")),
        collection=st.just(False),
        sub=st.sampled_from(("", "", "", "nonsense", "scale")),
        content_type=st.sampled_from(
            (
                "application/json",
                "application/yaml",
                "text/plain",
                "application/xml",
                MERGE,
                JSON_PATCH,
                STRATEGIC,
                APPLY,
            )
        ),
        query=st.just((("fieldManager", "one"), ("dryRun", "All"))),
        raw=st.sampled_from(_GARBAGE),
    ).filter(_told_apart)


def steps(tried: Tried) -> Steps:
    """Any call about a kind, creates most of all."""
    calls = (
        _created(tried),
        _created(tried),
        _read(tried),
        _updated(tried),
        _patched(tried),
        _applied(tried),
        _deleted(tried),
        _odd(tried),
    )
    return st.one_of(*calls)


def scripts() -> st.SearchStrategy[list[Step]]:
    """Scripts about one kind or two that leave each other alone."""
    alone = [(tried,) for tried in KINDS]
    shared = [tried for tried in KINDS if not tried.alone]
    two = st.tuples(st.sampled_from(shared), st.sampled_from(shared))
    chosen = st.one_of(st.sampled_from(alone), st.sampled_from(alone), two)
    return chosen.flatmap(lambda kinds: st.lists(st.one_of(*map(steps, kinds)), min_size=2, max_size=12))
