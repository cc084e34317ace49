"""Who may come in: once by a link, as long as it lasts by sign-in and token, and never when disabled."""

from __future__ import annotations

import asyncio

import pytest

from moorage.core.errors import Conflict, NotFound
from moorage.core.service.records import Role
from moorage.core.session import change
from moorage.ports.service import ServiceStore
from tests.store.homes import Home
from tests.store.service.samples import a_sign_in, a_token, a_user, peopled


@pytest.fixture
async def known(service: ServiceStore) -> ServiceStore:
    await peopled(service)
    return service


async def test_a_password_is_given_back_for_its_name_alone_and_ends_all_sign_ins(known: ServiceStore) -> None:
    await known.people.sign_in(a_sign_in(), b"cookie")
    await known.people.offer_link("u1", b"link", 60.0)
    assert await known.people.password_hash("ann") == (await known.users.get("u1"), "")
    await known.people.set_password("u1", "$argon2id$x")
    found = await known.people.password_hash("ann")
    assert found is not None
    assert found[1] == "$argon2id$x"
    assert await known.people.by_sign_in(b"cookie") is None
    assert await known.people.take_link(b"link") is None
    for name in ("bea", "u1", "a\0", "\udcff", ""):
        assert await known.people.password_hash(name) is None
    with pytest.raises(NotFound):
        await known.people.set_password("nobody", "x")


async def test_a_change_of_a_person_keeps_the_password(known: ServiceStore) -> None:
    await known.people.set_password("u1", "hash")
    await known.users.replace(change(await known.users.get("u1"), email="new@example.org"))
    found = await known.people.password_hash("ann")
    assert found is not None
    assert found[1] == "hash"


async def test_a_token_works_until_it_is_over_and_its_use_is_noted(known: ServiceStore) -> None:
    added = await known.people.add_token(a_token(), b"digest")
    assert added.last_used_at == 0
    found = await known.people.by_token(b"digest")
    assert found is not None
    assert (found[0].id, found[1].id) == ("u1", "k1")
    assert (await known.tokens.get("k1")).last_used_at > 0
    await known.people.add_token(a_token("k2", expires_at=1000.0), b"over")
    assert await known.people.by_token(b"over") is None
    assert await known.people.by_token(b"unknown") is None
    await known.tokens.delete("k1")
    assert await known.people.by_token(b"digest") is None


async def test_a_use_is_noted_no_more_than_once_a_minute(known: ServiceStore) -> None:
    await known.people.add_token(a_token(), b"digest")
    await known.people.by_token(b"digest")
    noted = (await known.tokens.get("k1")).last_used_at
    await known.people.by_token(b"digest")
    assert (await known.tokens.get("k1")).last_used_at == noted


async def test_one_value_is_one_token(known: ServiceStore) -> None:
    await known.people.add_token(a_token(), b"digest")
    with pytest.raises(Conflict):
        await known.people.add_token(a_token("k2"), b"digest")


async def test_a_sign_in_works_until_it_is_over_or_signed_out(known: ServiceStore) -> None:
    await known.people.sign_in(a_sign_in(), b"cookie")
    found = await known.people.by_sign_in(b"cookie")
    assert found is not None
    user, row = found
    assert (user.id, row.csrf, round(row.expires_at - row.created_at)) == ("u1", "csrf", 3600)
    await known.people.sign_in(a_sign_in("b2", seconds=-1.0), b"over")
    assert await known.people.by_sign_in(b"over") is None
    await known.people.sign_out(b"cookie")
    await known.people.sign_out(b"cookie")
    assert await known.people.by_sign_in(b"cookie") is None
    with pytest.raises(NotFound):
        await known.people.sign_in(a_sign_in("b3", "nobody"), b"x")


async def test_a_link_signs_one_browser_in(known: ServiceStore) -> None:
    await known.people.offer_link("u1", b"link", 60.0)
    taken = await asyncio.gather(*(known.people.take_link(b"link") for _ in range(5)))
    assert sorted(user.id for user in taken if user) == ["u1"]
    await known.people.offer_link("u1", b"late", -1.0)
    assert await known.people.take_link(b"late") is None


async def test_a_disabled_person_comes_in_by_no_way_and_is_signed_out_for_good(known: ServiceStore) -> None:
    ben = await known.users.get("ben")
    await known.people.set_password("u2", "hash")
    await known.people.add_token(a_token("k1", "u2"), b"digest")
    await known.people.sign_in(a_sign_in("b1", "u2"), b"cookie")
    await known.people.offer_link("u2", b"link", 60.0)
    ben = await known.users.replace(change(ben, disabled=True))
    people = known.people
    assert await people.password_hash("ben") is None
    assert await people.by_token(b"digest") is None
    assert await people.by_sign_in(b"cookie") is None
    assert await people.take_link(b"link") is None
    assert (await people.count(), await people.count(Role.MEMBER)) == (1, 0)
    await known.users.replace(change(ben, disabled=False))
    assert await people.by_sign_in(b"cookie") is None
    assert await people.by_token(b"digest") is not None


async def test_a_subject_of_a_provider_is_one_person(known: ServiceStore) -> None:
    ann = change(a_user("u7", "ida"), issuer="https://id.example.org", subject="42")
    await known.users.add(ann)
    found = await known.people.by_subject("https://id.example.org", "42")
    assert found is not None
    assert found.id == "u7"
    assert await known.people.by_subject("", "") is None
    with pytest.raises(Conflict):
        await known.users.add(change(ann, id="u8", name="oda"))


async def test_failures_are_counted_by_key_and_no_key_is_kept_in_clear(
    home: Home, service: ServiceStore
) -> None:
    people = service.people
    for _ in range(3):
        await people.note_failure("my-password-typed-as-name")
    assert await people.failures("my-password-typed-as-name", 60.0) == 3
    assert await people.failures("other", 60.0) == 0
    assert await people.failures("my-password-typed-as-name", -1.0) == 0
    assert b"my-password" not in await home.held()
