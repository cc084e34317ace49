"""kubectl's JSONPath dialect: ``-o jsonpath=…`` and the paths of ``-o custom-columns=…``. Pure.

``parse`` reads a template, ``fill_in`` makes its text of an object. The dialect is the one described at
https://kubernetes.io/docs/reference/kubectl/jsonpath/; where that page is silent, kubectl's behaviour stands,
and a test compares both on the same objects.
"""

from __future__ import annotations

from moorage.cli.jsonpath.evaluate import PathFailed, fill_in, find
from moorage.cli.jsonpath.parse import BadTemplate, parse

__all__ = ["BadTemplate", "PathFailed", "fill_in", "find", "parse"]
