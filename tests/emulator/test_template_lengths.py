"""A template whose text is too long with its values is refused with 132005, as the service does."""

from typing import Any

import pytest

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.templates.fill import fill
from drumbeat.emulator.templates.template import Template


class NoMedia:
    """A store of media that has none."""

    def kind_of(self, media_id: str) -> str | None:
        return None


def parameters(kind: str, *values: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more, "parameters": [{"type": "text", "text": value} for value in values]}


def template(*components: dict[str, Any], named: bool = False) -> Template:
    form = "NAMED" if named else "POSITIONAL"
    return Template("1", "t", "en", "MARKETING", components, "APPROVED", parameter_format=form)


BODY = {"type": "BODY", "text": "x" * 1000 + "{{1}} {{2}}"}
TWICE = {"type": "BODY", "text": "{{1}}, {{ 1 }}"}
HEADER = {"type": "HEADER", "format": "TEXT", "text": "Sale for {{1}}"}
PLAIN = {"type": "BODY", "text": "Hello"}
URL = {
    "type": "BUTTONS",
    "buttons": [{"type": "URL", "text": "Open", "url": f"https://{'a' * 992}/{{{{1}}}}"}],
}
CODE = {"type": "BUTTONS", "buttons": [{"type": "COPY_CODE", "example": "A"}]}
OTP = {"type": "BUTTONS", "buttons": [{"type": "OTP", "otp_type": "COPY_CODE"}]}


def code(value: str) -> dict[str, Any]:
    coupon = {"type": "coupon_code", "coupon_code": value}
    return {"type": "button", "sub_type": "copy_code", "index": "0", "parameters": [coupon]}


def button(value: str) -> dict[str, Any]:
    return parameters("button", value, sub_type="url", index="0")


FITTING = [
    (template(BODY), parameters("body", "a" * 11, "b" * 12), parameters("body", "a" * 12, "b" * 12)),
    (template(BODY, CODE), parameters("body", "a" * 11, "b" * 12), parameters("body", "a" * 12, "b" * 12)),
    (template(TWICE), parameters("body", "a" * 511), parameters("body", "a" * 512)),
    (template(HEADER, PLAIN), parameters("header", "a" * 51), parameters("header", "a" * 52)),
    (template(PLAIN, URL), button("a" * 999), button("a" * 1000)),
    (template(PLAIN, CODE), code("A" * 15), code("A" * 16)),
    (template(PLAIN, OTP), button("1" * 15), button("1" * 16)),
]


@pytest.mark.parametrize(("made", "fits", "long"), FITTING)
def test_the_longest_text_is_taken_and_one_character_more_is_refused(
    made: Template, fits: dict[str, Any], long: dict[str, Any]
) -> None:
    beside = [code("A")] if len(made.components) == 2 and made.components[0] is BODY else []
    fill(made, [fits, *beside], NoMedia())
    with pytest.raises(Refused) as refused:
        fill(made, [long, *beside], NoMedia())
    assert refused.value.code == 132005


def test_a_named_placeholder_counts_as_often_as_it_is_shown() -> None:
    made = template({"type": "BODY", "text": "{{who}} {{what}} {{who}}"}, named=True)

    def named(who: str, what: str) -> list[dict[str, Any]]:
        values = {"what": what, "who": who}
        texts = [{"type": "text", "parameter_name": name, "text": text} for name, text in values.items()]
        return [{"type": "body", "parameters": texts}]

    fill(made, named("a" * 500, "b" * 22), NoMedia())
    with pytest.raises(Refused) as refused:
        fill(made, named("a" * 501, "b" * 21), NoMedia())
    assert refused.value.code == 132005
