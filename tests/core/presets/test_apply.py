"""A preset and a wish in, words and first input out; and what cannot be delivered is refused."""

from __future__ import annotations

import pytest

from moorage.core.errors import UsageError
from moorage.core.presets import Delivery, Preset, Way, applied, missing_secrets

CALLED = Way(Delivery.ARGUMENT, argv=("bot", "{args}", "{prompt}"), resume=("bot", "again", "{args}"))
TYPED = Way(Delivery.TYPED, argv=("bot", "{args}"), resume=("bot", "{args}"))
BOT = Preset("bot", "Bot", ("BOT_KEY", "BOT_TOKEN"), CALLED, TYPED, {"BOT_HOME": "{state}/home"})


def test_without_a_prompt_its_word_is_left_out() -> None:
    bot = Preset("bot", "Bot", (), CALLED, CALLED, {})
    assert applied(bot, tty=True).argv == ("bot",)


def test_words_of_a_person_are_taken_as_they_stand() -> None:
    made = applied(BOT, args=["{prompt}", "{args}", "{state}"], prompt="p")
    assert made.argv == ("bot", "{prompt}", "{args}", "{state}", "p")
    assert made.resume_argv == ("bot", "again", "{prompt}", "{args}", "{state}")


def test_a_prompt_is_one_word_whatever_it_holds() -> None:
    assert applied(BOT, prompt="two words\nand $more {args}").argv[-1] == "two words\nand $more {args}"


def test_a_preset_that_keeps_nothing_makes_no_folder() -> None:
    assert applied(Preset("bot", "Bot", (), CALLED, TYPED, {}), prompt="p").state_dirs == ()


@pytest.mark.parametrize(
    ("prompt", "tty", "why"),
    [
        ("", False, "without a terminal needs a prompt"),
        ("--do-it", False, "would be read as a flag"),
        ("a\0b", False, "NUL"),
        ("one\ntwo", True, "one line of text only"),
        ("one\x03", True, "one line of text only"),
    ],
)
def test_a_prompt_that_cannot_be_delivered_is_refused(prompt: str, tty: bool, why: str) -> None:
    with pytest.raises(UsageError, match=why) as told:
        applied(BOT, prompt=prompt, tty=tty)
    assert told.value.field == "--prompt"
    assert told.value.hint


def test_a_flag_with_the_prompt_in_it_takes_any_prompt() -> None:
    way = Way(Delivery.ARGUMENT, argv=("bot", "--say={prompt}", "{args}"), resume=("bot", "{args}"))
    assert applied(Preset("bot", "Bot", (), way, TYPED, {}), prompt="-x").argv == ("bot", "--say=-x")


def test_a_preset_that_is_only_a_command_needs_one() -> None:
    way = Way(Delivery.STDIN, argv=("{args}",), resume=("{args}",))
    bare = Preset("bare", "Bare", (), way, TYPED, {}, prompt_required=False)
    assert applied(bare, args=["x"]).argv == ("x",)
    with pytest.raises(UsageError, match="needs a command"):
        applied(bare)


@pytest.mark.parametrize(
    ("given", "template", "missing"),
    [
        ([], b"", ("BOT_KEY", "BOT_TOKEN")),
        (["OTHER"], b"", ("BOT_KEY", "BOT_TOKEN")),
        (["BOT_TOKEN"], b"", ()),
        ([], b"env: [{name: BOT_KEY, valueFrom: {}}]", ()),
        ([], b"envFrom: [{secretRef: {name: keys}}]", ()),
    ],
)
def test_one_secret_is_enough_and_the_template_may_bring_it(
    given: list[str], template: bytes, missing: tuple[str, ...]
) -> None:
    assert missing_secrets(BOT, given, template) == missing
