"""Templates of every supported shape. The tests parse the bytes again."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import UnusableTemplate, compile_template
from drumbeat.engine.core.template.placeholder import Placeholder
from drumbeat.engine.core.template.variable import check_variable


def template(*components: dict[str, Any], form: str | None = None) -> dict[str, Any]:
    definition: dict[str, Any] = {"name": "spring_sale", "language": "pt_BR", "components": list(components)}
    return definition if form is None else {**definition, "parameter_format": form}


def body(text: str) -> dict[str, Any]:
    return {"type": "BODY", "text": text}


TWO = template(
    body("Oi {{1}}, são {{2}}. Até, {{1}}!"), {"type": "FOOTER", "text": "{{9}} is no placeholder here"}
)


def test_the_whole_body_of_a_message() -> None:
    payload = compile_template(TWO, "chat").payload(5511999990000, ["Zoë", 'R$ 10 "só"'], "abcd1234.1.2.1.1")
    assert orjson.loads(payload) == {
        "messaging_product": "chat",
        "recipient_type": "individual",
        "to": "5511999990000",
        "type": "template",
        "template": {
            "name": "spring_sale",
            "language": {"code": "pt_BR"},
            "components": [
                {
                    "type": "body",
                    "parameters": [{"type": "text", "text": "Zoë"}, {"type": "text", "text": 'R$ 10 "só"'}],
                }
            ],
        },
        "biz_opaque_callback_data": "abcd1234.1.2.1.1",
    }


def test_without_a_tag_the_field_is_absent() -> None:
    assert "biz_opaque_callback_data" not in orjson.loads(
        compile_template(TWO, "chat").payload("55", ["a", "b"], None)
    )


def test_a_template_without_placeholders_has_no_components() -> None:
    compiled = compile_template(template(body("Oi")), "word")
    sent = orjson.loads(compiled.payload(55, [], None))
    assert sent["template"] == {"name": "spring_sale", "language": {"code": "pt_BR"}}
    assert sent["messaging_product"] == "word"
    assert not compiled.placeholders


EVERYTHING = template(
    {
        "type": "BUTTONS",
        "buttons": [
            {"type": "QUICK_REPLY", "text": "Não"},
            {"type": "URL", "text": "Ver", "url": "https://x.example/{{1}}"},
        ],
    },
    body("{{2}} {{1}} {{10}} {{3}} {{4}} {{5}} {{6}} {{7}} {{8}} {{9}}"),
    {"type": "HEADER", "format": "TEXT", "text": "Oi {{1}}"},
)


def test_placeholders_are_ordered_by_header_body_button_and_by_number() -> None:
    compiled = compile_template(EVERYTHING, "chat")
    variables = ["H", *[str(n) for n in range(1, 11)], "path"]
    header, text, button = orjson.loads(compiled.payload(55, variables, "t"))["template"]["components"]
    assert header == {"type": "header", "parameters": [{"type": "text", "text": "H"}]}
    assert [parameter["text"] for parameter in text["parameters"]] == [str(n) for n in range(1, 11)]
    assert button == {
        "type": "button",
        "sub_type": "url",
        "index": "1",
        "parameters": [{"type": "text", "text": "path"}],
    }
    assert compiled.placeholders[0] == Placeholder("header", "1")
    assert compiled.placeholders[-1] == Placeholder("button", "1", 1)


def test_named_parameters_are_ordered_by_first_appearance() -> None:
    definition = template(body("{{ name }} owes {{amount}}, {{name}}"), form="NAMED")
    compiled = compile_template(definition, "chat")
    (component,) = orjson.loads(compiled.payload(55, ["Ana", "9"], None))["template"]["components"]
    assert component["parameters"] == [
        {"type": "text", "parameter_name": "name", "text": "Ana"},
        {"type": "text", "parameter_name": "amount", "text": "9"},
    ]


@pytest.mark.parametrize("form", ["IMAGE", "VIDEO", "DOCUMENT"])
def test_a_media_header_needs_its_media(form: str) -> None:
    definition = template({"type": "HEADER", "format": form}, body("Oi {{1}}"))
    with pytest.raises(UnusableTemplate, match=form.lower()) as refused:
        compile_template(definition, "chat")
    assert refused.value.exit_code == 78
    compiled = compile_template(definition, "chat", header_media=Media(media_id="77", filename="a.pdf"))
    header = orjson.loads(compiled.payload(55, ["x"], None))["template"]["components"][0]
    source = {"id": "77", "filename": "a.pdf"} if form == "DOCUMENT" else {"id": "77"}
    assert header == {"type": "header", "parameters": [{"type": form.lower(), form.lower(): source}]}


def test_a_media_header_by_link() -> None:
    definition = template({"type": "HEADER", "format": "IMAGE"})
    compiled = compile_template(definition, "chat", header_media=Media(link="https://x.example/a.png"))
    header = orjson.loads(compiled.payload(55, [], None))["template"]["components"][0]
    assert header["parameters"] == [{"type": "image", "image": {"link": "https://x.example/a.png"}}]


@pytest.mark.parametrize(
    "component",
    [
        body("{{1}} and {{3}}"),
        body("{{name}}"),
        {"type": "HEADER", "format": "LOCATION"},
        {"type": "BUTTONS", "buttons": [{"type": "MPM"}]},
        {"type": "CAROUSEL", "cards": []},
        {"type": "BUTTONS", "buttons": [{"type": "URL", "url": "https://x.example/{{1}}/{{2}}"}]},
    ],
)
def test_a_template_that_cannot_be_sent_is_refused_at_once(component: dict[str, Any]) -> None:
    with pytest.raises(UnusableTemplate, match="template spring_sale, language pt_BR"):
        compile_template(template(component), "chat")


def test_a_wrong_number_of_variables_is_never_sent() -> None:
    compiled = compile_template(TWO, "chat")
    for variables in ([], ["a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="needs 2 variables"):
            compiled.payload(55, variables, None)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_arrives_unchanged(first: str, second: str) -> None:
    sent = orjson.loads(compile_template(TWO, "chat").payload(55, [first, second], "t"))
    parameters = sent["template"]["components"][0]["parameters"]
    assert [parameter["text"] for parameter in parameters] == [first, second]
    assert sent["to"] == "55"
    assert len(sent) == 6


def test_a_text_like_the_internal_sentinel_stays_a_text() -> None:
    odd = json.dumps("\x00value\x00")
    sent = orjson.loads(compile_template(TWO, "chat").payload(55, ["\x00value\x00", odd], "t"))
    assert sent["template"]["components"][0]["parameters"][1]["text"] == odd


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("Ana", None),
        ("Ana    Maria", None),
        ("x" * 1024, None),
        ("", "empty"),
        ("  ", "empty"),
        ("a\nb", "newline"),
        ("a\r\nb", "newline"),
        ("a\u2028b", "newline"),
        ("a\tb", "tab"),
        ("a     b", "spaces"),
        ("a\x00b", "control"),
        ("x" * 1025, "too_long"),
    ],
)
def test_what_a_variable_may_hold(value: str, reason: str | None) -> None:
    assert check_variable(value) == reason
