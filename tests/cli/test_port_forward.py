"""``moorage port-forward``: listeners on loopback, each connection through the link, and what is said."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from moorage.cli.forwarding import LOOPBACK, Families, Forwarder, Listening
from moorage.core.errors import Conflict, LinkError, MoorageError, NotFound
from tests.cli.harness import Cli
from tests.cli.scripted import Scripted

REFUSED = NotFound("dial tcp 127.0.0.1:80: connect: connection refused", details={"code": "unreachable"})


async def talk(address: str, sent: bytes) -> bytes:
    """Connect, send, half-close, and read to the end."""
    host, port = address.rsplit(":", 1)
    reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    writer.write(sent)
    writer.write_eof()
    try:
        return await reader.read()
    except ConnectionResetError:
        return b"reset"
    finally:
        writer.close()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
async def forwarder(said: list[str]) -> AsyncIterator[Forwarder]:
    async with Forwarder(Scripted(), "brisk-otter", said.append) as made:
        yield made


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


async def test_a_free_port_is_the_same_on_every_loopback_of_this_machine(forwarder: Forwarder) -> None:
    one = await forwarder.listen(0, 80)
    assert one.local > 0
    assert one.addresses[0] == f"127.0.0.1:{one.local}"
    assert set(one.addresses[1:]) <= {f"[::1]:{one.local}"}
    for address in one.addresses:
        assert await talk(address, b"hello") == b"HELLO"


async def test_nothing_but_loopback_is_listened_on(forwarder: Forwarder) -> None:
    one = await forwarder.listen(0, 80)
    bound = {listener.getsockname()[0] for server in forwarder._servers for listener in server.sockets}
    assert bound == {address.rsplit(":", 1)[0].strip("[]") for address in one.addresses}
    assert bound <= {"127.0.0.1", "::1"}


async def test_without_ipv6_there_is_one_address(forwarder: Forwarder) -> None:
    nobodys = (socket.AF_INET, "203.0.113.1")  # as ::1 where there is no IPv6: not an address of this machine
    assert len((await forwarder.listen(0, 80, (LOOPBACK[0], nobodys))).addresses) == 1


async def test_many_connections_each_get_their_own_answer(forwarder: Forwarder) -> None:
    address = (await forwarder.listen(0, 80)).addresses[0]
    answers = await asyncio.gather(*(talk(address, f"n{number}".encode()) for number in range(20)))
    assert answers == [f"N{number}".encode() for number in range(20)]


async def test_large_data_arrives_whole(forwarder: Forwarder) -> None:
    address = (await forwarder.listen(0, 80)).addresses[0]
    assert await talk(address, b"a" * 3_000_000) == b"A" * 3_000_000


async def test_nobody_listening_in_the_pod_is_said_and_the_listener_stays(said: list[str]) -> None:
    script = Scripted(failures={"dial": REFUSED})
    async with Forwarder(script, "brisk-otter", said.append) as forwarder:
        address = (await forwarder.listen(0, 80)).addresses[0]
        assert await talk(address, b"x") in (b"", b"reset")
        assert said == [
            "error: nothing listens on port 80 in the Pod of brisk-otter: "
            "dial tcp 127.0.0.1:80: connect: connection refused",
            "  hint: look for it with: moorage exec brisk-otter -- ss -ltn",
        ]
        script.failures.clear()
        assert await talk(address, b"x") == b"X"


@pytest.mark.parametrize("error", [Conflict("no running Pod", hint="resume it"), LinkError("dead")], ids=repr)
async def test_what_may_come_back_is_waited_for(said: list[str], error: MoorageError) -> None:
    script = Scripted(failures={"dial": error})
    async with Forwarder(script, "brisk-otter", said.append) as forwarder:
        address = (await forwarder.listen(0, 80)).addresses[0]
        await talk(address, b"x")
        assert said[0] == f"error: {error.message}"
        script.failures.clear()
        assert await talk(address, b"x") == b"X"


async def test_a_session_that_is_gone_ends_it(said: list[str]) -> None:
    async with Forwarder(Scripted(views=[]), "brisk-otter", said.append) as forwarder:
        address = (await forwarder.listen(0, 80)).addresses[0]
        await talk(address, b"x")
        with pytest.raises(NotFound):
            await forwarder.wait()


async def test_a_connection_that_breaks_is_reset_and_told(forwarder: Forwarder, said: list[str]) -> None:
    address = (await forwarder.listen(0, 80)).addresses[0]
    assert await talk(address, b"break") in (b"", b"reset")
    assert said == ["a connection to port 80 broke: it broke"]


async def test_a_taken_port_is_a_conflict_and_nothing_is_left_open(forwarder: Forwarder, taken: int) -> None:
    with pytest.raises(Conflict, match=f"port {taken} of 127.0.0.1 is in use"):
        await forwarder.listen(taken, 80)
    assert forwarder._servers == []


Client = Callable[[list[Listening]], Awaitable[None]]


@pytest.fixture
def while_listening(monkeypatch: pytest.MonkeyPatch) -> Callable[[Client], None]:
    """Run a client once all ports listen, and then end the command as if it were done."""
    made: list[Listening] = []
    listen = Forwarder.listen

    async def noted(self: Forwarder, local: int, port: int, families: Families) -> Listening:
        made.append(await listen(self, local, port, families))
        return made[-1]

    def use(client: Client) -> None:
        monkeypatch.setattr(Forwarder, "listen", noted)
        monkeypatch.setattr(Forwarder, "wait", lambda self: client(made))

    return use


async def _nothing(made: list[Listening]) -> None:
    return None


def test_each_port_is_printed_with_where_it_leads(
    cli: Cli, while_listening: Callable[[Client], None]
) -> None:
    answers: list[bytes] = []

    async def client(made: list[Listening]) -> None:
        answers.extend([await talk(one.addresses[0], b"x") for one in made])

    while_listening(client)
    result = cli("port-forward", "brisk-otter", "0:80", ":5432")
    first, second = (line.split(" -> ") for line in result.text.splitlines())
    assert (first[1], second[1], answers) == ("80", "5432", [b"X", b"X"])
    assert [call for call in cli.verbs.calls if call[0] == "dial"] == [
        ("dial", "brisk-otter", 80),
        ("dial", "brisk-otter", 5432),
    ]


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_one_address_of_the_loopback_can_be_named(
    cli: Cli, while_listening: Callable[[Client], None], address: str
) -> None:
    while_listening(_nothing)
    result = cli("port-forward", "brisk-otter", ":80", "--address", address, "-o", "json")
    if result.code:  # a machine without IPv6
        assert "no loopback address" in result.err
        return
    shown = result.json["items"][0]["addresses"]
    assert [one.rsplit(":", 1)[0].strip("[]") for one in shown] == [address]


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "127.0.0.2", ""])
def test_no_address_that_others_reach_can_be_named(cli: Cli, address: str) -> None:
    result = cli("port-forward", "brisk-otter", ":80", "--address", address)
    assert result.code == 2
    assert "use one of: localhost, 127.0.0.1, ::1" in result.err
    assert not cli.verbs.calls


def test_json_says_every_address(cli: Cli, while_listening: Callable[[Client], None]) -> None:
    while_listening(_nothing)
    item = cli("port-forward", "brisk-otter", ":80", "-o", "json").json["items"][0]
    assert (item["kind"], item["session"], item["port"]) == ("Forward", "brisk-otter", 80)
    assert item["addresses"][0] == item["name"] == f"127.0.0.1:{item['local_port']}"
    assert item["url"] == f"http://{item['name']}"


def test_ctrl_c_ends_it_with_130(cli: Cli, while_listening: Callable[[Client], None]) -> None:
    async def interrupt(made: list[Listening]) -> None:
        signal.raise_signal(signal.SIGINT)
        await asyncio.Event().wait()

    while_listening(interrupt)
    assert cli("port-forward", "brisk-otter", ":80").code == 130


@pytest.mark.parametrize(
    "words",
    [("0",), ("80:0",), ("65536",), ("70000:80",), ("x",), ("80:x",), ("-1:80",), ("1:2:3",), ("5:1", "5:2")],
    ids=" ".join,
)
def test_ports_that_are_none_are_refused_before_anything_is_asked(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli("port-forward", "brisk-otter", "--", *words).code == 2
    assert cli.verbs.calls == []


def test_a_session_without_a_pod_is_refused_before_a_port_is_taken(cli: Cli, taken: int) -> None:
    cli.verbs.failures["reach"] = Conflict("session brisk-otter has no running Pod of its own")
    assert cli("port-forward", "brisk-otter", f"{taken}:80").code == 5
    assert "no running Pod" in cli("port-forward", "brisk-otter", f"{taken}:80").err
    cli.verbs.failures.clear()
    result = cli("port-forward", "brisk-oter", "0:80")
    assert (result.code, "did you mean brisk-otter?" in result.err) == (3, True)


def test_a_taken_port_of_ours_is_5_and_says_how_to_go_on(cli: Cli, taken: int) -> None:
    result = cli("port-forward", "brisk-otter", f"{taken}:80")
    assert (result.code, result.out) == (5, b"")
    assert "hint: write another LOCAL:PORT, or 0:PORT" in result.err
