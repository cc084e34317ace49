"""The program that holds a link's secret is named by its content, not by a tag that may move."""

from __future__ import annotations

import pytest

from moorage.core.helper_spec import check_helper
from moorage.core.session import HelperSpec

DIGEST = "sha256:" + "ab" * 32


@pytest.mark.parametrize(
    "spec",
    [
        HelperSpec(),
        HelperSpec("image", f"registry.example/helper@{DIGEST}"),
        HelperSpec("image", f"registry.example:5000/team/helper:1.0@{DIGEST}"),
    ],
)
def test_a_pinned_image_and_none_pass(spec: HelperSpec) -> None:
    assert check_helper(spec) == []


@pytest.mark.parametrize(
    ("image", "code", "hint"),
    [
        ("", "required", "--helper-image"),
        ("foo", "helper_image_not_pinned", "@sha256:DIGEST"),
        ("registry.example/helper:1.0", "helper_image_not_pinned", "@sha256:DIGEST"),
        ("helper@sha512:" + "ab" * 64, "helper_image_not_pinned", "@sha256:DIGEST"),
        ("helper@sha256:abcd", "helper_image", "[@sha256:digest]"),
        (f"helper@{DIGEST}00", "helper_image", "64"),
        ("Helper", "helper_image", "lower case"),
        ("helper latest", "helper_image", "spaces"),
    ],
)
def test_faults_of_an_image_have_field_code_and_hint(image: str, code: str, hint: str) -> None:
    (problem,) = check_helper(HelperSpec("image", image))
    assert (problem.field, problem.code) == ("helper.image", code)
    assert hint in problem.hint
