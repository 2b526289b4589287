"""The parts of a message with a limit, and their lengths with values."""

import pytest

from drumbeat.engine.core.template.compiler import compile_template
from drumbeat.engine.core.template.message_limits import FilledPart, filled_parts, url_beginnings

COMPONENTS = [
    {"type": "HEADER", "format": "TEXT", "text": "Sale, {{1}}"},
    {"type": "BODY", "text": "Hi {{1}}, {{ 2 }} and {{1}}"},
    {
        "type": "BUTTONS",
        "buttons": [
            {"type": "QUICK_REPLY", "text": "Stop"},
            {"type": "URL", "text": "Open", "url": "https://a.example/p/{{1}}"},
            {"type": "URL", "text": "Home", "url": "https://a.example/"},
            {"type": "COPY_CODE", "example": "A"},
        ],
    },
]
PLACEHOLDERS = compile_template({"name": "t", "language": "en", "components": COMPONENTS}, "p").placeholders


def test_each_part_knows_its_room_and_the_values_that_it_shows() -> None:
    assert filled_parts(COMPONENTS, PLACEHOLDERS) == (
        FilledPart("body", 1024, len("Hi ,  and "), ((1, 2), (2, 1))),
        FilledPart("header", 60, len("Sale, "), ((0, 1),)),
        FilledPart("url", 2000, len("https://a.example/p/"), ((3, 1),)),
        FilledPart("code", 15, 0, ((4, 1),)),
    )


def test_a_value_counts_as_often_as_it_is_shown() -> None:
    body = filled_parts(COMPONENTS, PLACEHOLDERS)[0]
    assert body.length([100, 7, 5, 100, 100]) == len("Hi ,  and ") + 2 * 7 + 5


def test_a_template_without_values_has_no_part() -> None:
    assert filled_parts([{"type": "BODY", "text": "Hello"}, {"type": "FOOTER", "text": "x"}], ()) == ()


@pytest.mark.parametrize("kind", ["body", "BODY"])
def test_the_case_of_a_type_does_not_count(kind: str) -> None:
    components = [{"type": kind, "text": "Hi {{1}}"}]
    placeholders = compile_template({"components": components}, "p").placeholders
    assert [part.name for part in filled_parts(components, placeholders)] == ["body"]


def test_the_beginning_of_a_link_is_what_the_template_has_before_the_value() -> None:
    assert url_beginnings(COMPONENTS, PLACEHOLDERS) == {3: "https://a.example/p/"}
