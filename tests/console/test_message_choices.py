"""The step "message" with plain values: what is guessed, and what a form becomes."""

from datetime import UTC, datetime
from typing import Any

import pytest
from multidict import MultiDict

from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.audience.check.glimpse import Glimpse
from drumbeat.campaigns.console.new.create_request import request_of
from drumbeat.campaigns.console.new.message_choices import (
    chosen_slots,
    comparable,
    languages_of,
    message_part,
    slots_of,
    template_of,
    with_guessed_language,
)

SEEN = Glimpse(("phone", "first name", "order"), [["+1"], ["Ana"], ["A1"]], "csv")
BUTTONS = [
    {"type": "URL", "text": "Track", "url": "https://x.example/{{1}}"},
    {"type": "QUICK_REPLY", "text": "Stop"},
]


def stored(
    name: str, language: str = "en", text: str = "Hi {{1}}", *more: Any, status: str = "APPROVED"
) -> StoredTemplate:
    form = "NAMED" if "first_name" in text else "POSITIONAL"
    definition = {"components": [{"type": "BODY", "text": text}, *more], "parameter_format": form}
    return StoredTemplate(name, language, status, None, "UTILITY", datetime.now(UTC), definition)


TEMPLATES = [
    stored("named", "en", "Hi {{first_name}}, order {{order}}", {"type": "BUTTONS", "buttons": BUTTONS}),
    stored("plain"),
    stored("plain", "de"),
    stored("plain", "fr", status="PENDING"),
    stored("same"),
    stored("other", "en", "Hi {{1}} and {{2}}"),
    stored("picture", "en", "Hi {{1}}", {"type": "HEADER", "format": "IMAGE"}),
]


def fields(**given: str) -> MultiDict[str]:
    return MultiDict({name.replace("__", "."): value for name, value in given.items()})


def test_columns_are_guessed_and_optional_buttons_are_left_alone() -> None:
    template = template_of(TEMPLATES, "named", "en")
    assert template is not None
    slots = slots_of(template, {}, SEEN, "phone")
    assert [(slot.word, slot.kind, slot.column) for slot in slots] == [
        ("first_name", "column", "first name"), ("order", "column", "order"), ("button-0", "", ""), ("button-1", "nothing", ""),
    ]  # fmt: skip
    assert [slot.param for slot in slots] == ["first_name:first name", "order:order", None, None]


def test_a_form_becomes_params_and_texts_for_empty_cells() -> None:
    template = template_of(TEMPLATES, "named", "en")
    assert template is not None
    choices = {"template": "named", "language": "en", "default": {"order": "old", "phone": "kept"}}
    form = fields(
        **{
            "source.first_name": "column:first name",
            "empty.first_name": "friend",
            "source.order": "column:order",
            "source.button-0": "text",
            "text.button-0": "k=1:2",
            "source.button-1": "text",
            "text.button-1": "stop",
        }
    )
    part = message_part(chosen_slots(slots_of(template, choices, SEEN, "phone"), form), choices, form)
    assert part["param"] == ["first_name:first name", "order:order", "button-0:=k=1:2", "button-1:=stop"]
    assert part["default"] == {"first name": "friend", "phone": "kept"}
    again = slots_of(template, part, SEEN, "phone")
    assert [(slot.column, slot.text, slot.empty) for slot in again] == [
        ("first name", "", "friend"), ("order", "", ""), ("", "k=1:2", ""), ("", "stop", ""),
    ]  # fmt: skip


def test_variants_are_templates_with_the_same_placeholders_and_header() -> None:
    template = template_of(TEMPLATES, "plain", "en")
    assert template is not None
    assert comparable(TEMPLATES, template) == ["same"]
    form = fields(variant="same", weight__plain="9", weight__same="")
    assert message_part([], {"template": "plain"}, form)["variant"] == ["plain=plain:9", "same=same:1"]
    assert message_part([], {"template": "plain"}, fields())["variant"] is None


def test_only_approved_templates_are_offered() -> None:
    assert template_of(TEMPLATES, "plain", "fr") is None
    assert languages_of(TEMPLATES, "plain") == ["en", "de"]


@pytest.mark.parametrize(
    ("kind", "used"),
    [("link", {"header_link"}), ("column", {"header_column"}), ("id", {"header_media_id"}), ("file", set())],
)
def test_a_header_has_one_source_and_the_others_are_kept(kind: str, used: set[str]) -> None:
    form = fields(
        header=kind, header_link="https://x.example/a.png", header_column="order", header_media_id="7"
    )
    part = message_part([], {"language": "en"}, form)
    assert {"header_link", "header_column", "header_media_id"} <= part.keys()
    given = request_of(part, name="a", number=["1"], template="picture").values()
    assert {key for key in given if key.startswith("header")} == used


@pytest.mark.parametrize(
    ("columns", "cells", "guessed"),
    [
        (("phone", "lang"), [["+1", "+2"], ["pt-br", "EN"]], "lang"),
        (("phone", "lang"), [["+1", "+2"], ["", "pt"]], "lang"),
        (("phone", "x", "Sprache"), [["+1"], ["en"], ["en"]], "Sprache"),
        (("phone", "lang"), [["+1", "+2"], ["pt", "English"]], "lang"),
        (("phone", "lang"), [["+1", "+2"], ["pt", "Klingon"]], "lang"),  # its name says so
        (("phone", "words"), [["+1", "+2"], ["pt", "Klingon"]], None),
        (("phone", "lang"), [["+1"], ["Klingon"]], None),
        (("phone", "lang"), [["+1"], [""]], None),
    ],
)
def test_a_column_of_languages_is_guessed_by_its_values(
    columns: tuple[str, ...], cells: list[list[str]], guessed: str | None
) -> None:
    templates = [stored("hello", "en"), stored("hello", "pt_BR")]
    seen = Glimpse(columns, cells, "csv")
    found = with_guessed_language({"template": "hello"}, templates, seen)
    assert found["language_column"] == guessed


def test_a_language_that_somebody_chose_is_not_guessed() -> None:
    seen = Glimpse(("phone", "lang"), [["+1"], ["en"]], "csv")
    templates = [stored("hello", "en"), stored("hello", "pt_BR")]
    saved: dict[str, Any] = {"template": "hello", "param": []}
    assert with_guessed_language(saved, templates, seen) == saved
    assert with_guessed_language({"template": "hello"}, templates[:1], seen) == {"template": "hello"}
