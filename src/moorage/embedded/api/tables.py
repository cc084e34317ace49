"""``Table`` answers: what kubectl prints without knowing the kind. Pure; called by the API's reads."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.core.kinds import Json
from moorage.embedded.api.bodies import metadata_only
from moorage.embedded.api.columns import COLUMNS, CUSTOM_AGE, NAME, OTHERS
from moorage.embedded.registry.kinds import Kind


def table(kind: Kind, objects: Iterable[Json], metadata: Json, now: float, include: str) -> Json:
    """Rows for ``objects``; ``include``: what each row carries (Metadata, Object or None)."""
    columns = (NAME, CUSTOM_AGE) if kind.custom else COLUMNS.get(kind.name, OTHERS)
    definitions = [
        {
            "name": column.name,
            "type": column.type,
            "format": "name" if column.name == "Name" else "",
            "description": "",
            "priority": column.priority,
        }
        for column in columns
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": [
            {"cells": [column.cell(obj, now) for column in columns], **_carried(obj, include)}
            for obj in objects
        ],
    }


def _carried(obj: Json, include: str) -> Json:
    if include == "None":
        return {}
    return {"object": obj if include == "Object" else metadata_only(obj)}
