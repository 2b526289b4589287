"""`templates show` lists each placeholder in the order of `--param`, and says what cannot be sent."""

from datetime import UTC, datetime
from typing import Any

from campaigns.account.templates import StoredTemplate
from campaigns.cli.template_text import template_lines

BODY = {"type": "BODY", "text": "Hi {{1}}, order {{2}}"}
TRACK = {"type": "URL", "text": "Track", "url": "https://shop.example/{{1}}"}
CALL = {"type": "QUICK_REPLY", "text": "Call me"}


def lines(*components: dict[str, Any], parameter_format: str = "POSITIONAL") -> list[str]:
    definition = {"components": list(components), "parameter_format": parameter_format}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return list(template_lines(StoredTemplate("offer", "de", "APPROVED", "MARKETING", now, definition)))


def test_the_placeholders_of_a_url_follow_those_of_the_body() -> None:
    assert lines({"type": "BUTTONS", "buttons": [TRACK, CALL]}, BODY) == [
        "offer  de  APPROVED  MARKETING",
        "  buttons: Track (https://shop.example/{{1}}), Call me",
        "  body: Hi {{1}}, order {{2}}",
        "  --param 1: body {{1}}",
        "  --param 2: body {{2}}",
        "  --param 3: button {{1}}",
    ]


def test_named_placeholders_are_listed_by_name_and_header_text_comes_first() -> None:
    header = {"type": "HEADER", "format": "TEXT", "text": "For {{city}}"}
    body = {"type": "BODY", "text": "Hi {{first_name}}"}
    assert lines(body, header, parameter_format="NAMED")[3:] == [
        "  --param 1: header {{city}}",
        "  --param 2: body {{first_name}}",
    ]


def test_a_header_with_media_names_its_options() -> None:
    assert lines({"type": "HEADER", "format": "IMAGE"})[1:] == [
        "  header: IMAGE",
        "  --header-link or --header-media-id: image of the header",
    ]


def test_a_template_that_cannot_be_sent_says_why() -> None:
    button = {"type": "COPY_CODE", "text": "Copy"}
    assert lines({"type": "BUTTONS", "buttons": [button]})[-1] == (
        "  not usable: a button of type COPY_CODE cannot be sent"
    )
