"""`templates show` lists what to write for each placeholder, and says what cannot be sent."""

from datetime import UTC, datetime
from typing import Any

from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.cli.template_text import template_lines

BODY = {"type": "BODY", "text": "Hi {{1}}, order {{2}}"}
TRACK = {"type": "URL", "text": "Track", "url": "https://shop.example/{{1}}"}
CALL = {"type": "QUICK_REPLY", "text": "Call me"}


def lines(*components: dict[str, Any], parameter_format: str = "POSITIONAL") -> list[str]:
    definition = {"components": list(components), "parameter_format": parameter_format}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return list(template_lines(StoredTemplate("offer", "de", "APPROVED", None, "MARKETING", now, definition)))


def test_every_placeholder_has_a_word_and_two_links_differ() -> None:
    buttons = [TRACK, CALL, {"type": "COPY_CODE", "text": "Copy"}, {**TRACK, "text": "Rate"}]
    assert lines({"type": "BUTTONS", "buttons": buttons}, BODY) == [
        "offer  de  APPROVED  MARKETING",
        "  button 0: Track (https://shop.example/{{1}})",
        "  button 1: Call me (QUICK_REPLY)",
        "  button 2: Copy (COPY_CODE)",
        "  button 3: Rate (https://shop.example/{{1}})",
        "  body: Hi {{1}}, order {{2}}",
        "  --param 1:COLUMN  body {{1}}",
        "  --param 2:COLUMN  body {{2}}",
        "  --param button-0:COLUMN  button 0 {{1}}",
        "  --param button-2:COLUMN  button 2 code",
        "  --param button-3:COLUMN  button 3 {{1}}",
        "  --param button-1:COLUMN  button 1 payload, optional: what your webhook gets when the button is pressed",
    ]


def test_named_placeholders_are_listed_by_name_and_header_text_comes_first() -> None:
    header = {"type": "HEADER", "format": "TEXT", "text": "For {{city}}"}
    body = {"type": "BODY", "text": "Hi {{first_name}}"}
    assert lines(body, header, parameter_format="NAMED")[3:] == [
        "  --param city:COLUMN  header {{city}}",
        "  --param first_name:COLUMN  body {{first_name}}",
    ]


def test_a_header_with_media_names_its_options() -> None:
    assert lines({"type": "HEADER", "format": "IMAGE"})[1:] == [
        "  header: IMAGE",
        "  --header-column, --header-file, --header-link or --header-media-id: image of the header",
    ]


def test_a_template_that_cannot_be_sent_says_why() -> None:
    button = {"type": "MPM", "text": "Our picks"}
    assert lines({"type": "BUTTONS", "buttons": [button]})[-1] == (
        "  not usable: button 0 of type MPM cannot be sent: it needs a list of products for each message"
    )
