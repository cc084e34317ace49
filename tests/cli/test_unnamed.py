"""Where no cluster is named: new sessions go to the embedded one, KUBECONFIG alone chooses none; and what is
named but missing fails, it is never replaced.

Real composition, a data folder of its own. What would start the embedded cluster is made to fail.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.cli.app import run_cli
from moorage.core.errors import StoreError
from moorage.main import Composition
from moorage.own_cluster import OwnCluster

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
EMBEDDED = "running on the embedded cluster of this machine, namespace default\n"


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    async def broken(own: OwnCluster) -> None:
        raise StoreError("it was to start", hint="look at its log")

    monkeypatch.setattr(OwnCluster, "use", broken)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: PodTemplate\ntemplate: {spec: {containers: [{name: agent, image: a}]}}\n"
    )
    (tmp_path / "config").write_text(KUBECONFIG)
    folders = {"MOORAGE_DATA_DIR": str(tmp_path / "data"), "MOORAGE_CONFIG_DIR": str(tmp_path / "user")}
    return {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "config"), **folders}


def test_run_goes_to_the_embedded_cluster_and_says_so(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["run", "--", "true"], Composition(environ)) == 125
    assert capfd.readouterr().err == f"{EMBEDDED}error: it was to start\n  hint: look at its log\n"


CHOICES: dict[str, tuple[list[str], dict[str, str], str, str, str]] = {
    "nothing": ([], {}, "", "", EMBEDDED),
    "KUBECONFIG never chooses": ([], {"KUBECONFIG": "/nowhere"}, "", "", EMBEDDED),
    "user file": ([], {}, "", 'context = "a-prod"', "context a-prod, namespace default"),
    "project file over user file": (
        [],
        {},
        'context = "kind-dev"',
        'context = "a-prod"',
        "context kind-dev, namespace default",
    ),
    "variable over project file": (
        [],
        {"MOORAGE_CONTEXT": "a-prod"},
        'context = "kind-dev"',
        "",
        "context a-prod, namespace default",
    ),
    "flag over variable": (
        ["--context", "kind-dev"],
        {"MOORAGE_CONTEXT": "a-prod"},
        "",
        "",
        "context kind-dev, namespace default",
    ),
    "a namespace alone, on the current context": (["-n", "ai"], {}, "", "", "context kind-dev, namespace ai"),
}


@pytest.mark.parametrize(("flags", "variables", "project", "user", "where"), CHOICES.values(), ids=CHOICES)
def test_the_first_that_names_a_cluster_counts_and_the_embedded_one_comes_last(
    flags: list[str],
    variables: dict[str, str],
    project: str,
    user: str,
    where: str,
    environ: dict[str, str],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "user").mkdir()
    for path, text in ((tmp_path / ".moorage.toml", project), (tmp_path / "user/config.toml", user)):
        if text:
            path.write_text(text)
            path.chmod(0o600)
    code = run_cli(["run", *flags, "--template", "pod.yaml", "--", "true"], Composition(environ | variables))
    assert code == 125
    assert where in capfd.readouterr().err.splitlines(keepends=True)[0]


MISSING: dict[str, tuple[list[str], dict[str, str], str]] = {
    "no such context": (["--context", "gone"], {}, "gone"),
    "no such kubeconfig": (["--kubeconfig", "/nowhere/config"], {}, "/nowhere/config"),
    "no such kubeconfig, by variable": ([], {"MOORAGE_KUBECONFIG": "/nowhere/config"}, "/nowhere/config"),
    "a namespace and no kubeconfig": (["-n", "ai"], {"KUBECONFIG": "/nowhere/config"}, "/nowhere/config"),
    "a server that is away": (["--context", "kind-dev"], {}, "127.0.0.1"),
}


@pytest.mark.parametrize(("flags", "variables", "why"), MISSING.values(), ids=MISSING)
def test_a_cluster_that_is_named_and_missing_is_never_replaced_by_the_embedded_one(
    flags: list[str],
    variables: dict[str, str],
    why: str,
    environ: dict[str, str],
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ["run", *flags, "--request-timeout", "1s", "--template", "pod.yaml", "--", "true"]
    assert run_cli(words, Composition(environ | variables)) != 0
    err = capfd.readouterr().err
    assert why in err
    assert "embedded" not in err
    assert "it was to start" not in err


def test_a_named_cluster_needs_a_template_and_the_embedded_one_does_not(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["run", "--context", "kind-dev", "--", "true"], Composition(environ)) == 2
    assert "error: no Pod template given\n  hint: add --template FILE" in capfd.readouterr().err


def test_doctor_fails_when_the_embedded_cluster_does_not_start(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["doctor"], Composition(environ)) == 1
    err = capfd.readouterr().err
    assert "failed: connection: it was to start\n" in err
    assert "look at its log" in err


def test_version_starts_nothing_and_says_so(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["version"], Composition(environ)) == 0
    said = capfd.readouterr()
    assert "server  unknown (the embedded cluster does not run now)" in said.out
    assert "the next command that needs it starts it" in said.err


def test_a_list_needs_no_cluster_and_starts_none(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["ls"], Composition(environ)) == 0
    assert capfd.readouterr().err == "no sessions\n"


def test_down_ends_nothing_where_nothing_runs(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_cli(["down"], Composition(environ)) == 0
    assert capfd.readouterr().err == "neither a server nor the embedded cluster runs\n"
    assert not (tmp_path / "data/embedded").exists()


def test_a_namespace_alone_needs_no_kubeconfig_to_list_what_is_on_record(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    environ["KUBECONFIG"] = "/nowhere/config"
    assert run_cli(["ls", "-n", "ai"], Composition(environ)) == 0
    assert capfd.readouterr().err == "no sessions in namespace ai\n"


def test_the_embedded_cluster_is_not_asked_as_somebody_else(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["run", "--as", "jane", "--", "true"], Composition(environ)) == 2
    assert "is for one person and knows no jane" in capfd.readouterr().err


def test_whoami_starts_no_embedded_cluster(
    environ: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["whoami"], Composition(environ)) == 3
    assert "the embedded cluster does not run now" in capfd.readouterr().err
