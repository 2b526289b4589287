"""Message values: what a request carries, and what is refused before anything is sent."""

from typing import Any

import pytest

from drumbeat.engine.core.media_limits import BYTES_MAX, check_file, kind_of
from drumbeat.engine.core.message_types import (
    Contacts,
    Document,
    FlowForm,
    Image,
    ListMenu,
    ListRow,
    ListSection,
    Location,
    Message,
    ReplyButton,
    ReplyButtons,
    Sticker,
    TemplateMessage,
    Text,
    UrlButton,
    UrlSuffix,
    read_request,
    send_request,
)
from drumbeat.engine.errors import UsageError

ROW = ListRow("1", "One")


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (Text("Hi"), {"preview_url": False, "body": "Hi"}),
        (Image(media_id="7", caption="A lamp"), {"id": "7", "caption": "A lamp"}),
        (Sticker(link="https://x.example/a"), {"link": "https://x.example/a"}),
        (
            Document(media_id="7", filename="a.pdf"),
            {"id": "7", "filename": "a.pdf"},
        ),
        (Location(1.5, 2), {"latitude": 1.5, "longitude": 2}),
        (
            ReplyButtons(body="Choose", buttons=[ReplyButton("y", "Yes")]),
            {
                "type": "button",
                "body": {"text": "Choose"},
                "action": {"buttons": [{"type": "reply", "reply": {"id": "y", "title": "Yes"}}]},
            },
        ),
        (
            FlowForm(body="Book", button="Open", token="t", flow_id="7"),
            {
                "type": "flow",
                "body": {"text": "Book"},
                "action": {
                    "name": "flow",
                    "parameters": {
                        "flow_message_version": "3",
                        "flow_cta": "Open",
                        "flow_token": "t",
                        "flow_id": "7",
                    },
                },
            },
        ),
        (TemplateMessage(name="a", language="en"), {"name": "a", "language": {"code": "en"}}),
        (
            TemplateMessage(
                name="a", language="en", header=["H"], body={"x": "1"}, buttons={1: UrlSuffix("u")}
            ),
            {
                "name": "a",
                "language": {"code": "en"},
                "components": [
                    {"type": "header", "parameters": [{"type": "text", "text": "H"}]},
                    {"type": "body", "parameters": [{"type": "text", "parameter_name": "x", "text": "1"}]},
                    {
                        "type": "button",
                        "sub_type": "url",
                        "index": "1",
                        "parameters": [{"type": "text", "text": "u"}],
                    },
                ],
            },
        ),
    ],
)
def test_the_content_of_a_message(message: Message, content: dict[str, Any]) -> None:
    assert message.content() == content


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Text(""), "1 to 4096"),
        (Text("x" * 4097), "1 to 4096"),
        (Image(), "either"),
        (Image(media_id="7", link="https://x.example/a"), "either"),
        (Image(link="http://x.example/a"), "HTTPS"),
        (Location(91, 0), "no place"),
        (Location(0, 181), "no place"),
        (Contacts([]), "1 to 257"),
        (ReplyButtons(body="b", buttons=[]), "1 to 3"),
        (ReplyButtons(body="b", buttons=[ReplyButton(str(n), "x") for n in range(4)]), "1 to 3"),
        (ReplyButtons(body="b", buttons=[ReplyButton("1", "x"), ReplyButton("1", "y")]), "only once"),
        (ReplyButtons(body="b", buttons=[ReplyButton("1", "x" * 21)]), "1 to 20"),
        (
            ReplyButtons(body="b", buttons=[ReplyButton("1", "x")], header=Sticker(media_id="7")),
            "not sticker",
        ),
        (ListMenu(body="b", button="B", sections=[]), "1 to 10"),
        (
            ListMenu(body="b", button="B", sections=[ListSection([ListRow(str(n), "x") for n in range(11)])]),
            "1 to 10",
        ),
        (ListMenu(body="b", button="B", sections=[ListSection([ROW]), ListSection([ROW])]), "only once"),
        (
            ListMenu(body="b", button="B", sections=[ListSection([ROW]), ListSection([ListRow("2", "x")])]),
            "title for each",
        ),
        (UrlButton(body="b", display_text="Open", url="ftp://x"), "not a URL"),
        (FlowForm(body="b", button="Open", token="t"), "by its id or by its name"),
        (
            FlowForm(body="b", button="Open", token="t", flow_id="1", flow_name="a"),
            "by its id or by its name",
        ),
        (TemplateMessage(name="a", language="en", body="Ana"), "not one text"),
    ],
)
def test_a_message_that_breaks_a_rule_is_refused(message: Message, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        message.content()


def test_a_request_has_its_recipient_context_and_tag() -> None:
    body = send_request("chat", "14155550101", Text("Hi"), reply_to="wamid.1", tag="mine")
    assert body == {
        "messaging_product": "chat",
        "recipient_type": "individual",
        "to": "14155550101",
        "type": "text",
        "text": {"preview_url": False, "body": "Hi"},
        "context": {"message_id": "wamid.1"},
        "biz_opaque_callback_data": "mine",
    }
    assert read_request("chat", "wamid.1") == {
        "messaging_product": "chat",
        "status": "read",
        "message_id": "wamid.1",
    }


@pytest.mark.parametrize("to", ["+14155550101", "0415", "", "1415555010123456", "١٤١٥٥٥٥٠١٠١"])
def test_a_recipient_is_digits(to: str) -> None:
    with pytest.raises(UsageError, match="digits"):
        send_request("chat", to, Text("Hi"))


def test_a_tag_has_a_limit() -> None:
    with pytest.raises(UsageError, match="512"):
        send_request("chat", "14155550101", Text("Hi"), tag="x" * 513)


@pytest.mark.parametrize(
    ("mime_type", "kind"),
    [
        ("image/jpeg", "image"),
        ("IMAGE/WEBP", "sticker"),
        ("video/mp4", "video"),
        ("audio/ogg; codecs=opus", "audio"),
        ("application/pdf", "document"),
        ("text/plain", "document"),
    ],
)
def test_a_file_is_of_a_kind_and_has_its_size(mime_type: str, kind: str) -> None:
    assert kind_of(mime_type) == kind
    check_file("a", mime_type, BYTES_MAX[kind])
    with pytest.raises(UsageError, match=f"{BYTES_MAX[kind]:,}"):
        check_file("a", mime_type, BYTES_MAX[kind] + 1)
    with pytest.raises(UsageError, match="empty"):
        check_file("a", mime_type, 0)
    with pytest.raises(UsageError, match="MIME"):
        check_file("a", "jpeg", 1)
