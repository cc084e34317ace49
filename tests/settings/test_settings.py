"""Settings: who wins, what is refused and where, what the reference says."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from moorage import settings
from moorage.core.errors import DocumentError, UsageError
from moorage.settings import SETTINGS, Settings, load

KEY = bytes(range(32))


class Place:
    """A project folder, a folder below it where the person stands, and a configuration folder."""

    def __init__(self, root: Path):
        self.project = root / "project"
        self.below = self.project / "src"
        self.config = root / "config"
        for folder in (self.below, self.config):
            folder.mkdir(parents=True)

    def write_project(self, text: str, name: str = ".moorage.toml") -> None:
        (self.project / name).write_text(text)

    def write_user(self, text: str, mode: int = 0o600) -> None:
        (self.config / "config.toml").write_text(text)
        (self.config / "config.toml").chmod(mode)

    def load(self, flags: dict[str, object] | None = None, **environ: str) -> Settings:
        environ = {"MOORAGE_CONFIG_DIR": str(self.config)} | environ
        return load(flags or {}, environ, self.below)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_flag_before_variable_before_project_before_user_before_default(place: Place) -> None:
    seen = [place.load().chosen("transport")]
    place.write_user('transport = "exec"')
    seen.append(place.load().chosen("transport"))
    place.write_project('transport = "auto"')
    seen.append(place.load().chosen("transport"))
    seen.append(place.load(MOORAGE_TRANSPORT="portforward").chosen("transport"))
    last = place.load({"transport": "exec"}, MOORAGE_TRANSPORT="portforward")
    seen.append(last.chosen("transport"))
    assert seen == ["auto", "exec", "auto", "portforward", "exec"]
    assert last.origins["transport"] == "--transport"
    assert place.load().origins["transport"] == str(place.project / ".moorage.toml")


@pytest.mark.parametrize("nothing", ["", None, False])
def test_an_empty_flag_or_variable_is_not_given(place: Place, nothing: object) -> None:
    place.write_user('namespace = "agents"\nno_color = true')
    loaded = place.load({"namespace": nothing, "no_color": nothing}, MOORAGE_NAMESPACE="")
    assert (loaded.text("namespace"), loaded.text("no_color")) == ("agents", "true")


def test_what_nobody_set_is_empty_and_has_a_default(place: Place) -> None:
    loaded = place.load()
    assert (loaded.text("main_container"), loaded.chosen("main_container")) == ("", "agent")
    assert loaded.request_timeout == 30.0
    assert loaded.secret_key is None
    assert loaded.data_dir.name == "moorage"
    assert loaded.text("no_such_setting") == ""


def test_paths_are_relative_to_where_they_are_written(place: Place) -> None:
    place.write_project('template = "k8s/pod.yaml"')
    assert place.load().text("template") == str(place.project / "k8s/pod.yaml")
    assert place.load({"template": "../pod.yaml"}).text("template") == str(place.project / "pod.yaml")
    assert place.load(MOORAGE_DATA_DIR="data").data_dir == place.below / "data"


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30.0), ("1500ms", 1.5), ("1.5m", 90.0), ("1s", 1.0), ("5m", 300.0)]
)
def test_lengths_of_time_have_units(place: Place, text: str, seconds: float) -> None:
    assert place.load(MOORAGE_REQUEST_TIMEOUT=text).request_timeout == seconds


def test_a_number_in_a_file_or_flag_is_seconds(place: Place) -> None:
    place.write_user("request_timeout = 12")
    assert place.load().request_timeout == 12.0
    assert place.load({"request_timeout": 7.5}).request_timeout == 7.5


@pytest.mark.parametrize("text", [KEY.hex(), KEY.hex().upper(), base64.b64encode(KEY).decode()])
def test_the_secret_key_comes_from_the_environment_and_is_shown_nowhere(place: Place, text: str) -> None:
    loaded = place.load(MOORAGE_SECRET_KEY=text)
    assert loaded.secret_key == KEY
    assert loaded.text("secret_key") == ""
    assert text not in repr(loaded)


def test_the_database_s_address_may_hold_a_password_and_is_shown_nowhere(place: Place) -> None:
    address = "postgresql://moorage:hunter2@db/moorage"
    loaded = place.load(MOORAGE_DATABASE_URL=address)
    assert loaded.database_url == address
    assert loaded.text("database_url") == ""
    assert "hunter2" not in repr(loaded)
    assert place.load().database_url == ""


VALUES = {
    "MOORAGE_DATABASE_URL": "mysql://moorage:not-a-key-but-secret-all-the-same@db",
    "MOORAGE_TRANSPORT": "pigeon",
    "MOORAGE_REQUEST_TIMEOUT": "soon",
    "MOORAGE_NO_COLOR": "perhaps",
    "MOORAGE_SECRET_KEY": "not-a-key-but-secret-all-the-same",
}


@pytest.mark.parametrize("variable", VALUES)
def test_a_variable_that_cannot_be_used_is_named_with_what_would_do(place: Place, variable: str) -> None:
    with pytest.raises(UsageError, match=variable) as caught:
        place.load(None, **{variable: VALUES[variable]})
    assert caught.value.hint
    assert "secret-all-the-same" not in f"{caught.value!r}{caught.value.hint}"


# case: (file, text, line, words of the message)
REFUSED = {
    "syntax": ("project", 'context = "a"\nnamespace = \n', 2, "Invalid value"),
    "cut short": ("user", 'context = "a', 1, ""),
    "twice": ("user", 'context = "a"\ncontext = "b"\n', 2, "overwrite"),
    "unknown": ("user", '\n\nnamspace = "a"\n', 3, "no setting 'namspace'"),
    "a table": ("user", '[server]\nurl = "x"\n', 1, "no setting 'server'"),
    "wrong type": ("user", 'context = "a"\nnamespace = 5\n', 2, "quotes"),
    "wrong choice": ("project", 'helper = "usb"\n', 1, "'usb' is none of"),
    "wrong switch": ("project", "quiet = 3\n", 1, "neither true nor false"),
    "no time at all": ("user", "request_timeout = 0.5\n", 1, "between 1s and 300s"),
    "time without end": ("user", 'request_timeout = "1h"\n', 1, "between 1s and 300s"),
    "time as a switch": ("user", "request_timeout = true\n", 1, "length of time"),
    "secret key in a file": ("user", 'secret_key = "x"\n', 1, "may not stand in a file"),
    "kubeconfig from a clone": ("project", '#\nkubeconfig = "./x"\n', 2, "comes with a clone"),
    "data folder from a clone": ("project", 'data_dir = "./x"\n', 1, "comes with a clone"),
    "no text at all": ("project", '# \n"\udcff"', 2, "UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_malformed_file_is_refused_with_file_and_line(place: Place, case: str) -> None:
    kind, text, line, words = REFUSED[case]
    path = place.config / "config.toml" if kind == "user" else place.project / ".moorage.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    path.chmod(0o600)
    with pytest.raises(DocumentError) as caught:
        place.load()
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)
    assert [problem.line for problem in caught.value.problems] == [line]


def test_all_faults_of_a_file_are_told_at_once_in_order(place: Place) -> None:
    place.write_user('colour = "red"\nnamespace = "fine"\nhelper = "usb"\ntransprt = "exec"\n')
    with pytest.raises(DocumentError) as caught:
        place.load()
    assert [(p.field, p.line) for p in caught.value.problems] == [
        ("colour", 1),
        ("helper", 3),
        ("transprt", 4),
    ]
    assert caught.value.problems[2].hint == "did you mean transport?"


def test_the_nearest_project_file_counts_and_two_in_one_folder_are_refused(place: Place) -> None:
    place.write_project('namespace = "outer"')
    (place.below / "moorage.toml").write_text('namespace = "inner"')
    assert place.load().text("namespace") == "inner"
    (place.below / ".moorage.toml").write_text("")
    with pytest.raises(UsageError, match=r"both .* exist"):
        place.load()


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_user_file_that_others_can_write_is_refused(place: Place, mode: int) -> None:
    place.write_user('kubeconfig = "/x"', mode)
    with pytest.raises(DocumentError, match=f"{mode:04o}") as caught:
        place.load()
    assert caught.value.hint.startswith("chmod 600 ")


def test_a_user_file_that_others_can_read_is_used_with_a_warning(place: Place) -> None:
    place.write_user('namespace = "agents"', 0o644)
    loaded = place.load()
    assert loaded.text("namespace") == "agents"
    assert "chmod 600" in loaded.warnings[0]
    place.write_user('namespace = "agents"', 0o600)
    assert place.load().warnings == ()


def test_the_reference_is_what_the_code_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert page.read_text() == settings.reference(), "run: python -m moorage.settings > docs/settings.md"


def test_every_setting_has_its_own_name_and_a_default_that_it_accepts() -> None:
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    assert [s.name for s in SETTINGS if s.choices and s.default not in s.choices] == []


@pytest.mark.parametrize("text", ["0.1", "0.9s", "301", "6m", "1h"])
def test_a_length_of_time_out_of_bounds_is_refused(place: Place, text: str) -> None:
    with pytest.raises(UsageError, match="does not lie between 1s and 300s"):
        place.load(MOORAGE_REQUEST_TIMEOUT=text)
