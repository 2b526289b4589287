"""Which incoming messages opt out: the whole text, without case, accents and punctuation."""

from typing import Any

import pytest

from drumbeat.engine.core.limits.opt_out import BUTTON, WORD, normalised, read_word

WORDS = frozenset(
    map(normalised, ("stop", "opt out", "não quero mais", "إلغاء الاشتراك", "रोकें", "หยุด", "退订", "iptal"))
)


def text(body: Any) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


@pytest.mark.parametrize(
    "body",
    ["stop", "STOP", " Stop! ", "¡STOP!", "s̈top", "Opt-Out.", "opt_out", "OPT  OUT", "Nao quero mais", "NÃO QUERO MAIS!!",
     "إلغاء الاشتراك", "رِإلغاء الاشتراك"[2:], "रोकें।", "หยุด", "退订。", "İPTAL", "ｓｔｏｐ"],
)  # fmt: skip
def test_a_word_in_any_spelling(body: str) -> None:
    opt_out = read_word(text(body), WORDS)
    assert opt_out is not None
    assert opt_out == (WORD, body.strip())


@pytest.mark.parametrize(
    "body",
    [
        "please do not stop",
        "stop it",
        "stopp",
        "st op",
        "",
        "?",
        "रोको",
        "หยด",
        "stop" + "!" * 100,
        None,
        7,
        ["stop"],
    ],
)
def test_anything_else_is_no_opt_out(body: Any) -> None:
    assert read_word(text(body), WORDS) is None


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ({"button": {"payload": "STOP", "text": "No more of this"}}, "STOP"),
        ({"button": {"payload": "button-2", "text": "Stop"}}, "Stop"),
        (
            {"interactive": {"type": "button_reply", "button_reply": {"id": "opt_out", "title": "Leave"}}},
            "opt_out",
        ),
        ({"interactive": {"type": "list_reply", "list_reply": {"id": "3", "title": "Stop"}}}, "Stop"),
    ],
)
def test_a_button_by_its_payload_or_its_title(message: dict[str, Any], word: str) -> None:
    assert read_word(message, WORDS) == (BUTTON, word)


@pytest.mark.parametrize(
    "message",
    [
        *({kind: {"id": "9", "caption": " Stop! "}} for kind in ("image", "video", "document")),
        {"type": "edit", "edit": {"original_message_id": "w", "message": {"text": {"body": "STOP"}}}},
        {"edit": {"message": {"image": {"caption": "stop"}}}},
    ],
)
def test_a_caption_and_an_edited_text_count_too(message: dict[str, Any]) -> None:
    found = read_word(message, WORDS)
    assert found is not None and found.source == WORD


def test_an_edit_of_an_edit_is_read_once() -> None:
    message: dict[str, Any] = {"text": {"body": "stop"}}
    for _ in range(2_000):
        message = {"edit": {"message": message}}
    assert read_word(message, WORDS) is None


@pytest.mark.parametrize(
    "message",
    [{}, {"text": "stop"}, {"text": None}, {"button": ["STOP"]}, {"interactive": {"button_reply": "stop"}}],
)
def test_a_message_of_another_shape_is_no_opt_out(message: dict[str, Any]) -> None:
    assert read_word(message, WORDS) is None


def test_the_reason_says_what_the_person_did() -> None:
    wrote, pressed = read_word(text("Stop"), WORDS), read_word({"button": {"payload": "STOP"}}, WORDS)
    assert wrote is not None and wrote.opt_out_reason == 'opted out (wrote "Stop")'
    assert pressed is not None and pressed.opt_out_reason == 'opted out (pressed "STOP")'
