"""The template check and a real API server read the same documents: where their verdicts differ, one table
says why (differences.yaml).

Each document goes to the server as it is written, as YAML, by a strict dry run of its PodTemplate; nothing is
created. Documents: the golden ones, the catalogue's, and the fuzz corpus of templates.
"""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from moorage.core.template import TemplateOptions, check_template
from tests.embedded.running import Threaded
from tests.fuzz.documents import GOLDEN, TEMPLATE

TABLE: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "differences.yaml").read_text())
NAMELESS = "metadata.name"
"""A template may leave it out: it is never made itself. The server wants one, and then says only that."""


@dataclass(frozen=True)
class Written:
    """A document with its options for the check."""

    name: str
    text: bytes
    options: TemplateOptions


@dataclass(frozen=True)
class Difference:
    """``codes``: why the check refuses; none where it accepts. ``said``: why the server refuses."""

    name: str
    codes: frozenset[str]
    said: str

    def explained_by(self, row: dict[str, Any]) -> bool:
        if self.name in row.get("documents", [self.name]):
            return row.get("said", "") in self.said if self.said else row.get("code") in self.codes
        return False


def documents() -> list[Written]:
    found = []
    for path in sorted(GOLDEN.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text()):
            if isinstance(case.get("document"), str):
                options = TemplateOptions(**case.get("options", {}))
                found.append(Written(f"{path.stem}: {case['name']}", case["document"].encode(), options))
    for path in TEMPLATE.corpus():
        found.append(Written(f"corpus: {path.name}", path.read_bytes(), TemplateOptions()))
    return found


class Server:
    """The API server's side: an administrator's strict dry runs."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        self._cluster = config["clusters"][0]["cluster"]
        self._user = config["users"][0]["user"]
        path = f"/api/v1/namespaces/{namespace}/podtemplates?dryRun=All&fieldValidation=Strict"
        self._url = self._cluster["server"] + path
        self._kubeconfig = kubeconfig

    def trust(self, folder: Path) -> ssl.SSLContext:
        context = ssl.create_default_context(
            cadata=self._material(self._cluster, "certificate-authority").decode()
        )
        files = {part: folder / part for part in ("client-certificate", "client-key")}
        for part, path in files.items():
            path.write_bytes(self._material(self._user, part))
        context.load_cert_chain(files["client-certificate"], files["client-key"])
        return context

    def _material(self, owner: dict[str, str], part: str) -> bytes:
        if encoded := owner.get(f"{part}-data"):
            return base64.b64decode(encoded)
        return (self._kubeconfig.parent / owner[part]).read_bytes()

    async def answers(self, texts: list[bytes], folder: Path) -> list[str]:
        """What it says against each; empty when it takes it."""
        connector = aiohttp.TCPConnector(ssl=self.trust(folder))
        async with aiohttp.ClientSession(connector=connector) as session:
            return [await self._answer(session, text) for text in texts]

    async def _answer(self, session: aiohttp.ClientSession, text: bytes) -> str:
        headers = {"Content-Type": "application/yaml", "Accept": "application/json"}
        async with session.post(self._url, data=text, headers=headers) as response:
            said = await response.json()
        if response.status < 300:
            return ""
        causes = (said.get("details") or {}).get("causes") or []
        only_nameless = bool(causes) and {cause.get("field") for cause in causes} == {NAMELESS}
        return "" if only_nameless else f"{response.status} {said['message']}"


def differences(written: list[Written], answers: list[str]) -> list[Difference]:
    found = []
    for document, said in zip(written, answers, strict=True):
        errors = check_template(document.text, document.options).errors
        if bool(errors) != bool(said):
            codes = frozenset(problem.code for problem in errors)
            found.append(Difference(document.name, codes, said))
    return found


def unexplained(difference: Difference) -> set[str]:
    """The codes without a row; or, where only the server refuses, what it said."""
    rows = [row for row in TABLE if difference.explained_by(row)]
    if difference.said:
        return set() if rows else {difference.said}
    return set(difference.codes) - {row["code"] for row in rows}


@pytest.mark.newest
@pytest.mark.cluster
async def test_where_check_and_server_differ_the_table_says_why(
    embedded: Threaded | None, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    if embedded is not None:
        pytest.skip("asks what a kube-apiserver reads in a text")
    written = documents()
    answers = await Server(kubeconfig, namespace).answers([document.text for document in written], tmp_path)
    found = differences(written, answers)
    missing = {one.name: sorted(unexplained(one)) for one in found if unexplained(one)}
    assert missing == {}
    idle = [row for row in TABLE if not any(one.explained_by(row) for one in found)]
    assert idle == []
    assert 0 < len(found) < len(written)


def test_each_row_of_the_table_has_one_side_and_a_reason() -> None:
    assert all(len({"code", "said"} & set(row)) == 1 and row["why"] for row in TABLE)
