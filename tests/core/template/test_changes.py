"""A campaign's templates then, and what the service has now."""

from dataclasses import replace
from typing import Any

import pytest

from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.changes import misfit_text, template_changes
from drumbeat.engine.core.template.compiled import Media

BODY = {"type": "BODY", "text": "Hi {{1}}", "example": {"body_text": [["Ana"]]}}
LINK = {"type": "BUTTONS", "buttons": [{"type": "URL", "text": "See", "url": "https://x.example/{{1}}"}]}


def definition(*components: dict[str, Any]) -> dict[str, Any]:
    return {"components": list(components), "parameter_format": "POSITIONAL"}


FROZEN = CampaignTemplate("order", "pt_BR", definition(BODY, LINK), None)
KEY = ("order", "pt_BR")


@pytest.mark.parametrize(
    ("now", "misfits", "texts"),
    [
        (definition(BODY, LINK), [], []),
        (definition({**BODY, "example": {"body_text": [["Zoë"]]}}, LINK), [], []),
        (definition({**BODY, "text": "Hello {{1}}"}, LINK), [], ["order (pt_BR)"]),
        (definition(BODY, LINK, {"type": "FOOTER", "text": "Reply STOP"}), [], ["order (pt_BR)"]),
        (definition({**BODY, "text": "Hi {{1}}, {{2}}"}, LINK), ["order (pt_BR): body {{2}} was added"], []),
        (definition({**BODY, "text": "Hi"}), ["order (pt_BR): body {{1}} was removed, button 0 url {{1}} was removed"], []),
        (definition({"type": "HEADER", "format": "IMAGE"}, BODY, LINK), ["order (pt_BR): header image was added"], []),
        (definition({**BODY, "text": "{{2}}"}, LINK), ["order (pt_BR): the placeholders of the body are 2, not 1 to 1"], []),
        (None, ["order (pt_BR) no longer exists"], []),
    ],
)  # fmt: skip
def test_what_changed(now: dict[str, Any] | None, misfits: list[str], texts: list[str]) -> None:
    found = template_changes([FROZEN], {} if now is None else {KEY: now})
    assert (list(found.misfits), list(found.texts)) == (misfits, texts)


def test_a_header_with_media_that_stays_is_no_change() -> None:
    image = definition({"type": "HEADER", "format": "IMAGE"}, BODY)
    frozen = replace(FROZEN, definition=image, header_media=Media(link="https://x.example/a.png"))
    assert template_changes([frozen], {KEY: image}).misfits == ()


def test_a_template_that_nobody_gets_does_not_count() -> None:
    assert template_changes([replace(FROZEN, recipients=0)], {}).misfits == ()
    assert template_changes([replace(FROZEN, recipients=1)], {}).misfits != ()


def test_a_free_form_message_has_no_template() -> None:
    message = CampaignTemplate("text", "", {}, None, {"type": "text", "text": {"body": "Hi"}})
    assert template_changes([message], {}).misfits == ()


def test_one_sentence_names_every_language() -> None:
    spanish = replace(FROZEN, language="es")
    text = misfit_text(template_changes([FROZEN, spanish], {("order", "es"): definition(BODY)}))
    assert text == (
        "its template changed after the campaign was created: order (pt_BR) no longer exists;"
        " order (es): button 0 url {{1}} was removed"
    )
