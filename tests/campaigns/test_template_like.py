"""A form that begins as a stored template: what it submits is what the template was."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from drumbeat.campaigns.account.template_form import TemplateForm
from drumbeat.campaigns.account.template_like import corrected, in_another_language, next_name
from drumbeat.campaigns.account.templates import StoredTemplate, languages_of
from drumbeat.emulator.templates.samples import sample_templates
from drumbeat.emulator.templates.template import Template

# One lacks an example; one lists its examples in another order than its text has them.
UNEVEN = [("flash_prize", "en_US"), ("plant_ready", "de")]
SAMPLES = [each for each in sample_templates(lambda: "1") if (each.name, each.language) not in UNEVEN]
CODE = [
    {"type": "BODY", "add_security_recommendation": True},
    {"type": "FOOTER", "code_expiration_minutes": 10},
    {"type": "BUTTONS", "buttons": [{"type": "OTP", "otp_type": "COPY_CODE", "text": "Copy code"}]},
]


def stored(template: Template) -> StoredTemplate:
    definition = {"components": list(template.components)}
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return StoredTemplate(
        template.name, template.language, template.status, None, template.category, now, definition
    )


@pytest.mark.parametrize("template", SAMPLES, ids=lambda each: f"{each.name}-{each.language}")
def test_a_form_like_a_template_submits_the_same(template: Template) -> None:
    form = corrected(stored(template))
    assert (form.errors(), form.language) == ({}, template.language)
    new = form.new_template()
    assert new.components == template.components
    if template.needs.body:
        assert new.parameter_format == template.parameter_format


def test_a_form_like_a_template_of_codes_submits_the_same() -> None:
    form = in_another_language(stored(Template("1", "code", "en", "AUTHENTICATION", CODE)))
    assert (form.name, form.language) == ("code", "")
    assert replace(form, language="de").errors() == {}
    assert form.components() == CODE


@pytest.mark.parametrize(
    ("name", "after"), [("sale", "sale_2"), ("sale_2", "sale_3"), ("sale_09", "sale_10"), ("2", "2_2")]
)
def test_the_next_name(name: str, after: str) -> None:
    assert next_name(name) == after


@pytest.mark.parametrize(
    ("words", "given", "place"),
    [
        ("BUTTONS has 1 to 10 buttons", {"category": "AUTHENTICATION"}, "code_button"),
        ("the FOOTER has code_expiration_minutes", {"category": "AUTHENTICATION"}, "expires_min"),
        ("BODY has a text", {"category": "AUTHENTICATION"}, None),
        ("a HEADER has a format", {"header_format": "IMAGE"}, "header_sample"),
        ("a HEADER has a format", {}, "header"),
    ],
)
def test_what_the_service_refuses_is_said_at_a_field_that_is_shown(
    words: str, given: dict[str, Any], place: str | None
) -> None:
    assert TemplateForm(**given).field_of_refusal(words) == place


def test_the_languages_in_which_a_campaign_has_a_template() -> None:
    other = {"name": "news", "language": "de"}
    frozen = {"name": "news", "language": "en", "others": [other, {"name": "old", "language": "fr"}]}
    assert languages_of(frozen, "news") == {"en", "de"}
    message = {"name": "text", "language": "", "message": {"type": "text"}}
    assert languages_of(message, "text") == set()
