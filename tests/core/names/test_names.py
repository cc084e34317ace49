"""Names are valid for Kubernetes, stable, and never two sessions' at once."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core import names
from moorage.core.quantities import parse_quantity, same_quantity
from moorage.core.session import HelperSpec, Identity, Inventory, LaunchSnapshot, WorkspaceMode, WorkspaceSpec
from moorage.core.workload import session_claim, session_pod
from moorage.system import SystemIds

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@pytest.mark.parametrize(
    "session_id",
    [
        "jupyter-Alex",
        "jupyter-üni",
        "endswith-",
        "a@b.c",
        "9z9",
        "-start",
        "user--server",
        "",
        "x" * 63,
        "x" * 65,
    ],
)
def test_every_session_id_gives_legal_object_names(session_id: str) -> None:
    pod, claim = names.pod_name(session_id), names.claim_name(session_id)
    assert len(pod) <= 63
    assert len(claim) <= 63
    assert DNS_LABEL.fullmatch(pod)
    assert DNS_LABEL.fullmatch(claim)


def test_case_159_names_of_ids_that_differ_by_case_or_one_letter_differ_and_carry_a_hash() -> None:
    ids = ["Alex", "alex", "ALEX", "user--server", "user-server", "üni", "uni", "x" * 63, "x" * 64, "x" * 65]
    made = [names.pod_name(session_id) for session_id in ids]
    assert len(set(made)) == len(ids)
    for session_id, name in zip(ids, made, strict=True):
        plain = name == f"moorage-{session_id}"
        assert plain or re.fullmatch(r"moorage-[a-z0-9-]+-[0-9a-f]{8,}", name), name


def test_case_159_a_hundred_thousand_ids_have_as_many_names() -> None:
    letters = "aA-_.@9üñ \n"
    drawn = random.Random(159)
    ids = {"".join(drawn.choices(letters, k=drawn.randint(1, 40))) for _ in range(100_000)}
    ids |= {names.pod_name(session_id).removeprefix("moorage-") for session_id in list(ids)[:1000]}
    assert len({names.pod_name(session_id) for session_id in ids}) == len(ids)


LENGTHS = {"Pod": 253, "PersistentVolumeClaim": 253, "container": 63, "volume": 63, "label": 63}


@pytest.mark.parametrize("source", ["exec", "image"])
def test_case_158_every_name_and_label_we_give_is_legal_where_it_stands(source: str) -> None:
    """Of ids and names as they are made: the ids of a session are ours, never a person's."""
    ids = SystemIds()
    session_id = ids.session_id()
    helper = HelperSpec(source, "helper@sha256:" + "0" * 64 if source == "image" else "")
    template = {"spec": {"containers": [{"name": "x" * 63, "image": "a:1"}]}}
    workspace = WorkspaceSpec(WorkspaceMode.MANAGED_PVC, size="1Gi")
    snapshot = LaunchSnapshot(template, "linux/amd64", "x" * 63, workspace, helper)
    pod, claim = names.pod_name(session_id), names.claim_name(session_id)
    inventory = Inventory("ns", "uid", "address", "ca", pod, claim, snapshot, "", "", "")
    install, executor, profile, task = (ids.session_id() for _ in range(4))
    identity = Identity(install, executor, profile, task, session_id)
    made = {
        "Pod": session_pod(identity, inventory, ids.nonce(), entrypoint=["sh"]),
        "PersistentVolumeClaim": session_claim(identity, inventory, ids.nonce()),
    }
    spec = made["Pod"]["spec"]
    said = [(kind, made[kind]["metadata"]["name"]) for kind in made]
    said += [("container", c["name"]) for c in spec["containers"] + spec.get("initContainers", [])]
    said += [("volume", volume["name"]) for volume in spec["volumes"]]
    assert len(said) >= 5
    for kind, name in said:
        assert len(name) <= LENGTHS[kind]
        assert DNS_LABEL.fullmatch(name), (kind, name)
    for value in [v for kind in made for v in made[kind]["metadata"]["labels"].values()]:
        assert len(value) <= LENGTHS["label"]
        assert names.is_label_value(value), value


@given(st.text(max_size=80), st.text(max_size=80))
def test_two_session_ids_never_share_a_pod_name(one: str, other: str) -> None:
    assert (names.pod_name(one) == names.pod_name(other)) == (one == other)


@given(st.text(max_size=80))
def test_an_id_that_looks_like_anothers_name_gets_its_own(session_id: str) -> None:
    imitation = names.pod_name(session_id).removeprefix("moorage-")
    assert imitation == session_id or names.pod_name(imitation) != names.pod_name(session_id)


def test_pod_name_is_the_same_for_ever() -> None:
    assert names.pod_name("01hzy3k9") == "moorage-01hzy3k9"
    assert names.claim_name("01hzy3k9") == "moorage-01hzy3k9-workspace"
    assert names.pod_name("Alex's run") == "moorage-alex-s-run-729a72bb15fc"


@pytest.mark.parametrize("name", ["a", "9z9", "fix-login", "x" * 63, "user--server"])
def test_good_session_names_pass(name: str) -> None:
    assert names.valid_session_name(name) is None


@pytest.mark.parametrize(
    ("name", "code", "hint"),
    [
        ("", "name_empty", "leave --name out"),
        ("Fix Login", "name_invalid", "--name fix-login"),
        ("-start", "name_invalid", "--name start"),
        ("ends-", "name_invalid", "--name ends"),
        ("a.b", "name_invalid", "--name a-b"),
        ("üñí", "name_invalid", "leave --name out"),
        ("x" * 64, "name_too_long", "--name " + "x" * 63),
        ("a\nb", "name_invalid", "--name a-b"),
    ],
)
def test_bad_session_names_say_why_and_what_would_do(name: str, code: str, hint: str) -> None:
    problem = names.valid_session_name(name)
    assert problem is not None
    assert (problem.field, problem.code) == ("name", code)
    assert hint in problem.hint


@given(st.integers(min_value=0, max_value=2**64 - 1))
def test_generated_names_are_valid_session_names(number: int) -> None:
    name = names.generated_name(f"{number:016x}")
    assert names.valid_session_name(name) is None
    assert name == names.generated_name(f"{number:016x}")


def test_nearest_finds_a_slip_and_nothing_else() -> None:
    assert names.nearest("fix-logn", ["fix-login", "calm-ferry"]) == "fix-login"
    assert names.nearest("zzz", ["fix-login", "calm-ferry"]) is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [("0.5", "1/2"), ("500m", "1/2"), ("1e3", "1000"), ("1E", str(10**18)), ("64Mi", str(64 * 2**20)),
     ("1G", str(10**9)), ("1.5Gi", str(3 * 2**29)), ("2", "2"), (".5", "1/2"), ("5.", "5"), ("1E3", "1000")],
)  # fmt: skip
def test_quantities_are_exact(text: str, amount: str) -> None:
    assert str(parse_quantity(text)) == amount


@pytest.mark.parametrize("text", ["", "1gb", "1 Gi", "Gi", "1KI", "0x10", "1e", "--1", "1Gi\n", "٣"])
def test_what_is_no_quantity_is_none(text: str) -> None:
    assert parse_quantity(text) is None


def test_same_quantity_looks_at_the_amount() -> None:
    assert same_quantity("1024Mi", "1Gi")
    assert not same_quantity("1G", "1Gi")
