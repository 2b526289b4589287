"""What a reader sees of every supported template."""

from typing import Any

import pytest

from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import compile_template
from drumbeat.engine.core.template.rendering import (
    RenderedButton,
    RenderedMedia,
    RenderedMessage,
    render_message,
    text_lines,
)

BODY = {"type": "BODY", "text": "Hi {{1}}, {{2}}. Bye, {{ 1 }}!"}
HEADER = {"type": "HEADER", "format": "TEXT", "text": "For {{1}}"}
PICTURE = {"type": "header", "format": "image"}
FOOTER = {"type": "FOOTER", "text": "{{1}} is no placeholder here"}
BUTTONS = {
    "type": "BUTTONS",
    "buttons": [
        {"type": "QUICK_REPLY", "text": "No"},
        {"type": "URL", "text": "Home", "url": "https://x.example"},
        {"type": "URL", "text": "Order", "url": "https://x.example/{{1}}"},
        {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+4930123456"},
        {"type": "URL", "text": "Bill", "url": "https://x.example/bill/{{1}}"},
    ],
}

SEEN: list[tuple[str, list[dict[str, Any]], list[str], RenderedMessage]] = [
    (
        "a value stands in each place of its placeholder",
        [BODY],
        ["Ana", "two"],
        RenderedMessage(body="Hi Ana, two. Bye, Ana!"),
    ),
    (
        "a value that looks like a placeholder or a group stays text",
        [BODY],
        ["{{2}}", r"\1"],
        RenderedMessage(body=r"Hi {{2}}, \1. Bye, {{2}}!"),
    ),
    (
        "header and body have values of their own; the footer has none",
        [FOOTER, BODY, HEADER],
        ["H", "a", "b"],
        RenderedMessage(header="For H", body="Hi a, b. Bye, a!", footer="{{1}} is no placeholder here"),
    ),
    (
        "each button with a placeholder has a value of its own",
        [BUTTONS],
        ["A-1", "B-2"],
        RenderedMessage(
            buttons=(
                RenderedButton("QUICK_REPLY", "No"),
                RenderedButton("URL", "Home", "https://x.example"),
                RenderedButton("URL", "Order", "https://x.example/A-1"),
                RenderedButton("PHONE_NUMBER", "Call", "+4930123456"),
                RenderedButton("URL", "Bill", "https://x.example/bill/B-2"),
            )
        ),
    ),
    (
        "media are named by their source",
        [PICTURE],
        [],
        RenderedMessage(media=RenderedMedia("image", "https://x.example/a.jpg")),
    ),
]


@pytest.mark.parametrize(("about", "components", "values", "seen"), SEEN, ids=[row[0] for row in SEEN])
def test_what_is_seen(
    about: str, components: list[dict[str, Any]], values: list[str], seen: RenderedMessage
) -> None:
    media = Media(link="https://x.example/a.jpg") if PICTURE in components else None
    compiled = compile_template({"components": components}, "", header_media=media)
    assert render_message(components, compiled.placeholders, values, media) == seen


def test_named_placeholders_are_filled_by_name() -> None:
    components = [{"type": "BODY", "text": "{{order}} of {{name}}"}]
    compiled = compile_template({"components": components, "parameter_format": "NAMED"}, "")
    values = [{"order": "A-1", "name": "Ana"}[placeholder.name] for placeholder in compiled.placeholders]
    assert render_message(components, compiled.placeholders, values).body == "A-1 of Ana"


def test_a_missing_value_is_an_error() -> None:
    compiled = compile_template({"components": [BODY]}, "")
    with pytest.raises(ValueError, match="shorter"):
        render_message([BODY], compiled.placeholders, ["Ana"])


def test_the_lines_of_plain_text() -> None:
    message = RenderedMessage(
        media=RenderedMedia("document", "123", "bill.pdf"),
        body="one\n\ntwo",
        footer="end",
        buttons=(RenderedButton("URL", "See", "https://x.example"), RenderedButton("QUICK_REPLY", "No")),
    )
    assert list(text_lines(message)) == [
        "[document: 123, bill.pdf]", "one", "", "two", "end", "[See] https://x.example", "[No]",
    ]  # fmt: skip
