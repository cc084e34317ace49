"""Where no cluster was named: KUBECONFIG alone chooses none, and each verb says what to type.

Real composition, a data folder of its own, no cluster: nothing is asked of any.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.cli.app import run_cli
from moorage.main import Composition

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: kind-dev
contexts:
- {name: a-prod, context: {cluster: c}}
- {name: kind-dev, context: {cluster: c}}
clusters:
- {name: c, cluster: {server: "https://127.0.0.1:1"}}
"""


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: PodTemplate\ntemplate: {spec: {containers: [{name: agent, image: a@b}]}}\n"
    )
    (tmp_path / "config").write_text(KUBECONFIG)
    folders = {"MOORAGE_DATA_DIR": str(tmp_path / "data"), "MOORAGE_CONFIG_DIR": str(tmp_path)}
    return {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "config"), **folders}


HINT = "add --context kind-dev and -n NAMESPACE (also there: a-prod)"


def test_doctor_fails_and_says_what_to_type(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["doctor"], Composition(environ)) == 1
    err = capfd.readouterr().err
    assert "failed: cluster: no cluster was named\n" in err
    assert HINT in err
    assert "KUBECONFIG alone chooses no cluster" in err


def test_version_says_it_too_and_does_not_fail(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["version"], Composition(environ)) == 0
    said = capfd.readouterr()
    assert "server  unknown (no cluster was named)" in said.out
    assert HINT in said.err


def test_run_is_refused_and_never_says_that_it_runs(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["run", "--template", "pod.yaml", "--", "true"], Composition(environ)) == 2
    err = capfd.readouterr().err
    assert err.startswith("error: no cluster was named\n")
    assert HINT in err
    assert "running on" not in err


def test_without_any_kubeconfig_the_hint_says_so(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    environ["KUBECONFIG"] = "/nowhere/config"
    assert run_cli(["doctor"], Composition(environ)) == 1
    assert "no kubeconfig with a context was found" in capfd.readouterr().err


def test_a_list_needs_no_cluster_and_names_none(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["ls"], Composition(environ)) == 0
    assert capfd.readouterr().err == "no sessions\n"


def test_a_namespace_alone_chooses_where_new_sessions_go(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["run", "-n", "ai", "--template", "pod.yaml", "--", "true"], Composition(environ)) == 125
    assert capfd.readouterr().err.startswith("running on context kind-dev, namespace ai\n")


def test_a_namespace_alone_needs_no_kubeconfig_to_list_what_is_on_record(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    environ["KUBECONFIG"] = "/nowhere/config"
    assert run_cli(["ls", "-n", "ai"], Composition(environ)) == 0
    assert capfd.readouterr().err == "no sessions in namespace ai\n"
    assert run_cli(["run", "-n", "ai", "--template", "pod.yaml", "--", "true"], Composition(environ)) == 125
    assert "no kubeconfig was found at /nowhere/config" in capfd.readouterr().err
