"""How agentctl comes into a container, judged without one: frames, answers, machines."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from moorage.core.bootstrap import (
    bootstrap_frame,
    check_node,
    check_platform,
    check_pod,
    elf_machine,
    entrypoint,
    entrypoint_script,
    install_command,
    read_install_answer,
    read_introduction,
    read_receipt,
)
from moorage.core.errors import IntegrityError, LinkError, MoorageError

VECTOR = json.loads(
    (Path(__file__).resolve().parents[3] / "agentctl" / "testdata" / "bootstrap.json").read_text()
)


def elf(machine: int, wide: int = 2, order: int = 1) -> bytes:
    return b"\x7fELF" + bytes((wide, order)) + bytes(12) + struct.pack("<H", machine) + bytes(40)


MACHINES: dict[str, tuple[bytes, str]] = {
    "amd64": (elf(62), "amd64"),
    "arm64": (elf(183), "arm64"),
    "386": (elf(3, wide=1), ""),
    "32-bit numbers of another machine": (elf(62, wide=1), ""),
    "big endian": (elf(62, order=2), ""),
    "riscv": (elf(243), ""),
    "a script": (b"#!/bin/sh\n" + bytes(100), ""),
    "nothing": (b"", ""),
    "a header cut off": (elf(62)[:19], ""),
}


@pytest.mark.parametrize("name", MACHINES)
def test_the_machine_of_a_program(name: str) -> None:
    data, machine = MACHINES[name]
    assert elf_machine(data) == machine


def test_a_helper_of_another_platform_is_refused() -> None:
    check_platform(elf(183), "linux/arm64")
    with pytest.raises(IntegrityError) as refusal:
        check_platform(elf(183), "linux/amd64")
    assert refusal.value.details["category"] == "platform"


@pytest.mark.parametrize(
    ("status", "fits"),
    [
        ({"nodeInfo": {"architecture": "arm64"}}, True),
        ({"nodeInfo": {"architecture": "amd64"}}, False),
        ({"nodeInfo": {"architecture": ""}}, True),
        ({"nodeInfo": {}}, True),
        ({}, True),
        (None, True),
    ],
)
def test_a_node_that_reports_another_machine_is_refused(status: object, fits: bool) -> None:
    node = {"metadata": {"name": "n1"}, "status": status}
    if fits:
        check_node(node, "linux/arm64")
        return
    with pytest.raises(MoorageError, match="node n1 is amd64") as refused:
        check_node(node, "linux/arm64")
    assert refused.value.details["category"] == "platform"


def test_the_frame_is_the_one_that_agentctl_reads() -> None:
    frame = bootstrap_frame(VECTOR["config"], bytes.fromhex(VECTOR["nonce"]))
    assert frame.hex() == VECTOR["frame"]
    read_receipt(json.dumps({"sha256": VECTOR["sha256"]}).encode(), frame)
    with pytest.raises(IntegrityError):
        read_receipt(json.dumps({"sha256": VECTOR["sha256"]}).encode(), frame + b"x")
    with pytest.raises(LinkError):
        read_receipt(b"no JSON", frame)


def test_a_short_nonce_is_refused() -> None:
    with pytest.raises(LinkError):
        bootstrap_frame({}, b"short")


def test_a_pods_command_gives_sh_the_script_as_it_was_written() -> None:
    shell, option, literal = entrypoint()
    assert (shell, option) == ("/bin/sh", "-c")
    assert literal.replace("$$", "$") == entrypoint_script()
    assert "$" not in literal.replace("$$", "")


def test_no_credential_is_in_a_command() -> None:
    assert install_command(5, "ab")[-2:] == ["5", "ab"]
    assert "nonce" not in " ".join([*entrypoint(), *install_command(5, "ab")])


ANSWERS = {
    "installed\n": "",
    "a banner of the shell\ninstalled\n": "",
    "noexec\n": "noexec",
    "cannot_run\n": "platform",
    "write_failed\n": "storage",
    "wrong_sum\n": "integrity",
    "": "crash",
    "sh: head: not found\n": "crash",
}


@pytest.mark.parametrize("output", ANSWERS)
def test_each_way_an_upload_fails_has_a_category_and_a_hint(output: str) -> None:
    category, hint = "", "none is needed"
    try:
        read_install_answer(output, "what stderr said", 1, "NonZeroExitCode")
    except MoorageError as error:
        category, hint = error.details["category"], error.hint
    assert category == ANSWERS[output]
    assert hint


@pytest.mark.parametrize("output", [*ANSWERS, "a banner\n"])
def test_an_upload_that_was_cut_short_is_tried_again_unless_it_had_said_why_it_fails(output: str) -> None:
    category = ANSWERS.get(output, "crash")
    if category != "crash":
        test_each_way_an_upload_fails_has_a_category_and_a_hint(output)
        return
    with pytest.raises(LinkError, match="cut short"):
        read_install_answer(output, "", None, "Broken")


def test_only_our_own_pod_gets_the_secret() -> None:
    said = read_introduction(b'{"pod_uid":"u1","helper":"1","platform":"linux/amd64"}')
    check_pod(said, "u1")
    with pytest.raises(IntegrityError) as refusal:
        check_pod(said, "u2")
    assert refusal.value.details["category"] == "integrity"


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"bash: no such file\n"])
def test_what_does_not_introduce_itself_is_not_agentctl(line: bytes) -> None:
    with pytest.raises(LinkError):
        read_introduction(line)
