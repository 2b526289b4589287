"""What a campaign stores of its templates, and what is read from it again."""

from typing import Any

import orjson
import pytest

from engine.core.campaign_template import CampaignTemplate, freeze_templates, frozen_templates
from engine.core.message import Media


def template(language: str, text: str = "Hi {{1}}", **others: Any) -> CampaignTemplate:
    definition = {"components": [{"type": "BODY", "text": text}], "parameter_format": "POSITIONAL"}
    return CampaignTemplate("order", language, definition, **{"header_media": None, **others})


FREE_FORM = CampaignTemplate("text", "", {}, None, {"type": "text", "text": {"body": "Hi"}})
ILLUSTRATED = template("en", header_media=Media(link="https://x.example/a.png"))


@pytest.mark.parametrize(
    "templates",
    [[template("en")], [FREE_FORM], [ILLUSTRATED], [template("en"), template("pt_BR"), template("es")]],
    ids=["one", "free-form", "with media", "three languages"],
)
def test_templates_are_read_as_they_were_frozen(templates: list[CampaignTemplate]) -> None:
    stored = orjson.loads(orjson.dumps(freeze_templates(templates)))
    assert list(frozen_templates(stored)) == templates


def test_a_campaign_of_an_earlier_version_has_one_template() -> None:
    definition = {"name": "order", "language": "en", "components": [{"type": "BODY", "text": "Hi {{1}}"}]}
    stored = {"name": "order", "language": "en", "definition": definition, "header_media": None}
    (found,) = frozen_templates(stored)
    assert found == CampaignTemplate("order", "en", definition, None)


def test_a_template_compiles_with_the_name_and_language_it_was_chosen_by() -> None:
    payload = template("pt_BR").compiled("chat").payload(5511900000000, ["Ana"], None)
    sent = orjson.loads(payload)["template"]
    assert (sent["name"], sent["language"]) == ("order", {"code": "pt_BR"})
