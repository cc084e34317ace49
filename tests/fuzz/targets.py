"""All fuzz targets of the Python side, by name; agentctl's are in its own tests (``func Fuzz…``)."""

from __future__ import annotations

from tests.fuzz.documents import KUBECONFIG, TEMPLATE
from tests.fuzz.framings import EXEC_V4, EXEC_V5, PORTFORWARD
from tests.fuzz.links import FRAMES, HELLO, LINK

TARGETS = {
    target.name: target
    for target in (TEMPLATE, KUBECONFIG, EXEC_V5, EXEC_V4, PORTFORWARD, FRAMES, HELLO, LINK)
}
