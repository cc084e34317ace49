"""``moorage up``: where it serves, the link that signs in once, and what may not stand in a command line."""

from __future__ import annotations

import pytest

from moorage.cli.app import run_cli
from moorage.cli.wiring import ServeRequest
from tests.cli.scripted import Scripted
from tests.cli.wired import ScriptedServer, ScriptedWiring


def up(*words: str, at: str = "") -> tuple[int, ScriptedServer]:
    wiring = ScriptedWiring(Scripted(), server=ScriptedServer(at))
    return run_cli(["up", *words], wiring), wiring.server


ASKED = {
    "by itself": ([], ServeRequest("127.0.0.1", 7410)),
    "elsewhere": (["--listen", "0.0.0.0:80"], ServeRequest("0.0.0.0", 80)),
    "any port of IPv6": (["--listen", "[::1]:0"], ServeRequest("::1", 0)),
    "behind a proxy": (
        ["--base-url", "https://m.example"],
        ServeRequest("127.0.0.1", 7410, "https://m.example"),
    ),
    "another database": (
        ["--database-url", "postgresql://db/m"],
        ServeRequest("127.0.0.1", 7410, database_url="postgresql://db/m"),
    ),
    "without the embedded cluster": (["--no-embedded"], ServeRequest("127.0.0.1", 7410, embedded=False)),
}


@pytest.mark.parametrize(("words", "request_"), ASKED.values(), ids=ASKED)
def test_it_serves_what_was_asked_for(words: list[str], request_: ServeRequest) -> None:
    code, server = up(*words)
    assert (code, server.served, server.detached) == (0, [request_], [])
    code, server = up("-d", *words)
    assert (code, server.served, server.detached) == (0, [], [request_])


def test_the_link_is_alone_on_stdout_and_all_else_is_said_beside_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert up()[0] == 0
    out, err = capfd.readouterr()
    assert out == "http://link/once\n"
    assert "serving http://127.0.0.1:7410" in err
    assert "the embedded cluster is off: it was asked to" in err
    assert "agents run on" in err


@pytest.mark.parametrize("words", [[], ["-d"]], ids=["in the foreground", "detached"])
def test_a_second_up_says_where_the_first_is_and_offers_one_more_link(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    code, server = up(*words, at="http://127.0.0.1:7410")
    assert (code, server.served, server.detached, server.links) == (0, [], [], 1)
    out, err = capfd.readouterr()
    assert "runs already: http://127.0.0.1:7410 (process 4242)" in err
    assert out == "http://127.0.0.1:7410/again\n"


REFUSED = {
    "no port": (["--listen", "localhost"], "--listen"),
    "a port that is none": (["--listen", "localhost:70000"], "--listen"),
    "a URL": (["--listen", "http://localhost:1"], "--listen"),
    "a password": (["--database-url", "postgresql://u:planted-pw@db/m"], "MOORAGE_DATABASE_URL"),
    "a password in the query": (["--database-url", "postgresql://db/m?password=planted-pw"], "PGPASSFILE"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_or_may_not_stand_in_a_command_line_is_refused(
    words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, server = up(*words)
    assert (code, server.served) == (2, [])
    err = capfd.readouterr().err
    assert said in err
    assert "planted-pw" not in err
