"""``config`` and ``context`` on real files: what is shown, what is written, what is left as it was."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.cli.app import run_cli
from moorage.main import Composition
from tests.cli.harness import Result

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: kind-dev
contexts:
- {name: kind-dev, context: {cluster: c, namespace: agents}}
- {name: prod, context: {cluster: p}}
- {name: torn, context: {cluster: nowhere}}
clusters:
- {name: c, cluster: {server: "https://127.0.0.1:6443"}}
- {name: p, cluster: {server: "https://prod.example"}}
"""
FILE = """\
# mine, all mine
namespace = "old"   # for now

template = "pod.yaml"
quiet = false
"""

Moorage = Callable[..., Result]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text(KUBECONFIG)
    return {"HOME": str(tmp_path), "MOORAGE_CONFIG_DIR": str(tmp_path / "config")}


@pytest.fixture
def file(environ: dict[str, str]) -> Path:
    return Path(environ["MOORAGE_CONFIG_DIR"]) / "config.toml"


@pytest.fixture
def moorage(
    environ: dict[str, str],
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Moorage:
    monkeypatch.chdir(tmp_path)

    def run(*argv: str) -> Result:
        capfdbinary.readouterr()
        code = run_cli(list(argv), Composition(environ))
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    return run


def write(file: Path, text: str, mode: int = 0o600) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(mode)


def test_a_value_that_is_set_holds_and_says_where_it_comes_from(moorage: Moorage, file: Path) -> None:
    assert moorage("config", "get", "namespace").code == 3
    result = moorage("config", "set", "namespace", "agents")
    assert (result.code, result.out, result.err) == (0, b"", f"namespace is set in {file}\n")
    assert moorage("config", "get", "namespace").text == "agents\n"
    shown = moorage("config", "get", "namespace", "-o", "json").json
    assert (shown["value"], shown["source"]) == ("agents", str(file))


def test_a_new_file_is_for_its_owner_only(moorage: Moorage, file: Path) -> None:
    moorage("config", "set", "no-color", "yes")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == "no_color = true\n"
    assert [path.name for path in file.parent.iterdir()] == ["config.toml"]


def test_comments_and_order_are_kept(moorage: Moorage, file: Path) -> None:
    write(file, FILE)
    assert moorage("config", "set", "namespace", "new").code == 0
    assert moorage("config", "set", "context", "prod").code == 0
    assert file.read_text() == FILE.replace('"old"', '"new"') + 'context = "prod"\n'
    assert moorage("config", "unset", "context").code == 0
    assert file.read_text() == FILE.replace('"old"', '"new"')


def test_a_link_to_the_file_stays_a_link(moorage: Moorage, file: Path, tmp_path: Path) -> None:
    write(file, "")
    kept = tmp_path / "dotfiles.toml"
    file.rename(kept)
    file.symlink_to(kept)
    moorage("config", "set", "namespace", "a")
    assert file.is_symlink()
    assert kept.read_text() == 'namespace = "a"\n'


def test_a_path_is_written_so_that_it_means_the_same_from_everywhere(
    moorage: Moorage, file: Path, tmp_path: Path
) -> None:
    moorage("config", "set", "template", "pods/a.yaml")
    assert file.read_text() == f'template = "{tmp_path}/pods/a.yaml"\n'


REFUSED = [
    ("namespce", "a", "did you mean namespace?"),
    ("output", "xml", "one of table"),
    ("no_color", "perhaps", "true or false"),
    ("request_timeout", "never", "a number and a unit"),
    ("request_timeout", "10h", "a number and a unit"),
    ("secret_key", "0" * 64, "MOORAGE_SECRET_KEY"),
    ("config_dir", "/x", "MOORAGE_CONFIG_DIR"),
    ("namespace", "", "config unset namespace"),
    ("namespace", "a\0b", "a text"),
]


@pytest.mark.parametrize(("name", "value", "hint"), REFUSED, ids=[name for name, *_ in REFUSED])
def test_what_is_no_value_is_refused_and_nothing_is_written(
    moorage: Moorage, file: Path, name: str, value: str, hint: str
) -> None:
    write(file, FILE)
    result = moorage("config", "set", name, value)
    assert (result.code, file.read_text()) == (2, FILE)
    assert hint in result.err
    assert "0" * 64 not in result.err


@pytest.mark.parametrize(
    ("text", "mode"), [("namespace = ", 0o600), ("bogus = 1\n", 0o600), (FILE, 0o666)], ids=str
)
def test_a_file_with_a_fault_is_not_changed(moorage: Moorage, file: Path, text: str, mode: int) -> None:
    write(file, text, mode)
    result = moorage("config", "set", "namespace", "new")
    assert (result.code, file.read_text()) == (1, text)
    assert str(file) in result.err


def test_a_folder_that_cannot_be_written_is_told(moorage: Moorage, file: Path) -> None:
    file.parent.write_text("no folder")
    result = moorage("config", "set", "namespace", "new")
    assert result.code == 1
    assert f"cannot write {file}" in result.err


def test_what_goes_before_the_file_is_said(moorage: Moorage, environ: dict[str, str]) -> None:
    environ["MOORAGE_NAMESPACE"] = "from-environment"
    assert "MOORAGE_NAMESPACE goes before it" in moorage("config", "set", "namespace", "a").err
    assert "MOORAGE_NAMESPACE still sets it" in moorage("config", "unset", "namespace").err


def test_what_does_not_stand_there_is_no_fault_to_unset(moorage: Moorage, file: Path) -> None:
    result = moorage("config", "unset", "context")
    assert (result.code, result.err) == (0, f"context does not stand in {file}\n")
    assert not file.exists()


def test_the_list_shows_every_setting_its_source_and_no_secret(
    moorage: Moorage, environ: dict[str, str], file: Path, tmp_path: Path
) -> None:
    environ |= {"MOORAGE_SECRET_KEY": "ab" * 32, "MOORAGE_QUIET": "1"}
    write(file, 'namespace = "mine"\n')
    (tmp_path / "moorage.toml").write_text('helper = "image"\n')
    result = moorage("config", "list", "-o", "json", "--context", "prod")
    sources = {item["name"]: (item["value"], item["source"]) for item in result.json["items"]}
    assert sources["context"] == ("prod", "--context")
    assert sources["quiet"] == ("true", "MOORAGE_QUIET")
    assert sources["helper"] == ("image", str(tmp_path / "moorage.toml"))
    assert sources["namespace"] == ("mine", str(file))
    assert sources["platform"] == ("linux/amd64", "default")
    assert sources["storage_class"] == (None, None)
    assert sources["secret_key"] == ("set, and not shown", "MOORAGE_SECRET_KEY")
    for form in ("table", "wide", "yaml", "json"):
        assert "abab" not in moorage("config", "list", "-o", form).text


def test_the_path_is_where_the_file_would_be(moorage: Moorage, file: Path) -> None:
    assert moorage("config", "path").text == f"{file}\n"
    assert not file.exists()


def test_contexts_are_listed_and_kubectls_current_one_chooses_nothing(moorage: Moorage) -> None:
    items = moorage("context", "ls", "-o", "json").json["items"]
    assert [(item["name"], item["chosen"], item["namespace"], item["server"]) for item in items] == [
        ("kind-dev", False, "agents", "https://127.0.0.1:6443"),
        ("prod", False, "default", "https://prod.example"),
        ("torn", False, None, None),
    ]
    assert "no cluster is named 'nowhere'" in items[2]["problem"]
    assert moorage("context", "show").code == 3


def test_a_context_that_is_used_is_chosen(moorage: Moorage, file: Path) -> None:
    result = moorage("context", "use", "prod", "-n", "agents")
    assert (result.code, result.err) == (0, f"context prod is set in {file}\n")
    assert file.read_text() == 'context = "prod"\nnamespace = "agents"\n'
    assert moorage("context", "show").text == "prod\n"
    assert moorage("context", "show").err == f"chosen by {file}, namespace agents\n"
    chosen = moorage("context", "ls", "-o", "jsonpath={.items[?(@.chosen==true)].name}")
    assert chosen.text == "prod", chosen.err


def test_a_kubeconfig_that_is_named_is_written_with_its_context(
    moorage: Moorage, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.yaml").write_text(KUBECONFIG.replace("prod", "stage"))
    assert moorage("context", "use", "stage", "--kubeconfig", "other.yaml").code == 0
    assert f'kubeconfig = "{tmp_path}/other.yaml"' in file.read_text()


@pytest.mark.parametrize(("name", "said"), [("prd", "did you mean prod?"), ("torn", "cannot be used")])
def test_a_context_that_is_none_is_refused(moorage: Moorage, file: Path, name: str, said: str) -> None:
    result = moorage("context", "use", name)
    assert (result.code, file.exists()) == (3, False)
    assert said in result.err


def test_without_a_kubeconfig_it_is_said(moorage: Moorage, tmp_path: Path) -> None:
    (tmp_path / ".kube/config").unlink()
    assert moorage("context", "ls").code == 3
    assert "no kubeconfig was found" in moorage("context", "ls").err


def test_a_variable_that_goes_before_the_choice_is_said(moorage: Moorage, environ: dict[str, str]) -> None:
    environ["MOORAGE_CONTEXT"] = "kind-dev"
    assert "MOORAGE_CONTEXT goes before it: the context is kind-dev" in moorage("context", "use", "prod").err


def test_kubeconfig_in_the_environment_only_completes(moorage: Moorage, environ: dict[str, str]) -> None:
    environ["KUBECONFIG"] = f"{environ['HOME']}/.kube/config"
    assert moorage("context", "show").code == 3
    assert json.loads(moorage("config", "list", "-o", "json").out)["items"][0]["value"] is None
