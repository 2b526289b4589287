"""What messages fill besides the body: buttons of each type, and header media of each recipient."""

from typing import Any

import orjson
import pytest

from drumbeat.engine.core import message_types
from drumbeat.engine.core.template.buttons import fillable_buttons
from drumbeat.engine.core.template.campaign_template import make_payloads
from drumbeat.engine.core.template.compiled import CompiledTemplate, Media, media_source
from drumbeat.engine.core.template.compiler import compile_template
from drumbeat.engine.core.template.placeholder import Placeholder

BODY = {"type": "BODY", "text": "Hi {{1}}"}
LINK = {"type": "URL", "text": "Track", "url": "https://shop.example/{{1}}"}
OTHER_LINK = {"type": "URL", "text": "Rate", "url": "https://rate.example/{{1}}"}
FILLED = [
    (LINK, message_types.UrlSuffix("a")),
    ({"type": "copy_code", "example": "A"}, message_types.CouponCode("a")),
    ({"type": "OTP", "otp_type": "COPY_CODE"}, message_types.UrlSuffix("a")),
    ({"type": "QUICK_REPLY", "text": "No"}, message_types.QuickReply("a")),
    ({"type": "FLOW", "text": "Book"}, message_types.FlowToken("a")),
    ({"type": "CATALOG", "text": "See all"}, message_types.CatalogItem("a")),
]
NOT_FILLED = [{"type": "PHONE_NUMBER"}, {"type": "URL", "url": "https://shop.example"}, {"type": "NEW"}]


def compiled(*components: dict[str, Any], **options: Any) -> CompiledTemplate:
    return compile_template({"name": "t", "language": "en", "components": components}, "chat", **options)


def components(payload: bytes) -> Any:
    return orjson.loads(payload)["template"]["components"]


@pytest.mark.parametrize(("button", "same"), FILLED, ids=lambda each: str(getattr(each, "sub_type", "")))
def test_a_button_is_filled_as_in_a_single_message(
    button: dict[str, Any], same: message_types.UrlSuffix
) -> None:
    (found,) = fillable_buttons([button])
    alone = message_types.TemplateMessage(name="t", language="en", buttons={0: same}).content()
    assert found.component("a") == alone["components"][0]


def test_buttons_that_nothing_fills() -> None:
    assert list(fillable_buttons(NOT_FILLED)) == []


def test_two_links_are_two_placeholders_and_optional_buttons_are_filled_if_asked() -> None:
    buttons = {"type": "BUTTONS", "buttons": [LINK, {"type": "QUICK_REPLY", "text": "No"}, OTHER_LINK]}
    both = compiled(BODY, buttons)
    assert [each.word for each in both.placeholders] == ["1", "button-0", "button-2"]
    all_three = compiled(BODY, buttons, buttons=[1])
    assert [each.word for each in all_three.placeholders] == ["1", "button-0", "button-1", "button-2"]
    _, *sent = components(all_three.payload(55, ["Ana", "a", "no-1", "b"], None))
    assert [(each["index"], each["parameters"][0]) for each in sent] == [
        ("0", {"type": "text", "text": "a"}),
        ("1", {"type": "payload", "payload": "no-1"}),
        ("2", {"type": "text", "text": "b"}),
    ]


PICTURE = {"type": "HEADER", "format": "IMAGE"}
FILES = {"pictures/a.png": media_source(Media(media_id="77"))}


@pytest.mark.parametrize(
    ("value", "image"),
    [
        ("pictures/a.png", {"id": "77"}),
        ('https://x.example/"a".png', {"link": 'https://x.example/"a".png'}),
    ],
)
def test_the_first_variable_is_a_file_or_a_link(value: str, image: dict[str, str]) -> None:
    template = compiled(PICTURE, BODY, header_media=Media(is_variable=True))
    assert template.placeholders[0] == Placeholder("media", "image")
    header, body = components(template.payload_with_media(FILES, 55, [value, 'An"a'], "t"))
    assert header["parameters"] == [{"type": "image", "image": image}]
    assert body["parameters"] == [{"type": "text", "text": 'An"a'}]


def test_documents_of_each_recipient_have_a_name() -> None:
    media = Media(is_variable=True, filename="Invoice.pdf")
    template = compiled({"type": "HEADER", "format": "DOCUMENT"}, BODY, header_media=media)
    sources = {"a.pdf": media_source(Media(media_id="7", filename="a.pdf"))}

    def document(value: str) -> Any:
        header, _ = components(template.payload_with_media(sources, 55, [value, "Ana"], None))
        return header["parameters"][0]["document"]

    assert document("a.pdf") == {"id": "7", "filename": "a.pdf"}
    assert document("https://x.example/b") == {"link": "https://x.example/b", "filename": "Invoice.pdf"}


def test_files_and_the_order_of_each_language_go_together() -> None:
    def named(text: str) -> CompiledTemplate:
        definition = {"components": [PICTURE, {"type": "BODY", "text": text}], "parameter_format": "NAMED"}
        return compile_template(definition, "chat", header_media=Media(is_variable=True))

    templates = [named("{{name}} {{day}}"), named("{{day}} {{name}}")]
    for payload in make_payloads(templates, FILES):
        header, body = components(payload(55, ["pictures/a.png", "Ana", "Monday"], None))
        assert header["parameters"][0]["image"] == {"id": "77"}
        texts = {each["parameter_name"]: each["text"] for each in body["parameters"]}
        assert texts == {"name": "Ana", "day": "Monday"}


@pytest.mark.parametrize(
    ("placeholder", "word", "text"),
    [
        (Placeholder("body", "first_name"), "first_name", "body {{first_name}}"),
        (Placeholder("body", "2"), "2", "body {{2}}"),
        (Placeholder("header", "1"), "header-1", "header {{1}}"),
        (Placeholder("header", "city"), "city", "header {{city}}"),
        (Placeholder("media", "image"), "image", "header image"),
        (Placeholder("button", "1", 2), "button-2", "button 2 {{1}}"),
        (Placeholder("button", "payload", 0), "button-0", "button 0 payload"),
    ],
)
def test_words_of_placeholders(placeholder: Placeholder, word: str, text: str) -> None:
    assert (placeholder.word, str(placeholder)) == (word, text)
