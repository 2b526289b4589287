"""What a campaign stores of its templates, and what is read from it again."""

from typing import Any

import orjson
import pytest

from drumbeat.engine.core.template.campaign_template import (
    CampaignTemplate,
    freeze_templates,
    frozen_templates,
    make_payloads,
    value_order,
)
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import Placeholder


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


def named(language: str, text: str) -> CampaignTemplate:
    definition = {"components": [{"type": "BODY", "text": text}], "parameter_format": "NAMED"}
    return CampaignTemplate("order", language, definition, None)


def test_each_language_gets_the_values_by_name_whatever_its_order() -> None:
    english = named("en", "Order {{order}} for {{name}}")
    portuguese = named("pt_BR", "Oi {{name}}, seu pedido {{order}}")
    payloads = make_payloads([english.compiled("chat"), portuguese.compiled("chat")])
    for make in payloads:
        (body,) = orjson.loads(make(55, ["LH-1", "Ana"], None))["template"]["components"]
        values = {each["parameter_name"]: each["text"] for each in body["parameters"]}
        assert values == {"name": "Ana", "order": "LH-1"}


def test_a_message_of_the_first_template_costs_no_more_than_alone() -> None:
    compiled = template("en").compiled("chat")
    assert make_payloads([compiled])[0] == compiled.payload


BODY, BUTTON = Placeholder("body", "1"), Placeholder("button", "1")


@pytest.mark.parametrize(
    ("first", "other", "order"),
    [
        ([], [], []),
        ([BODY, BUTTON], [BODY, BUTTON], [0, 1]),
        ([BODY, BUTTON], [BUTTON, BODY], [1, 0]),
        ([BUTTON, BODY, BUTTON], [BUTTON, BUTTON, BODY], [0, 2, 1]),
    ],
)
def test_the_order_of_the_values(
    first: list[Placeholder], other: list[Placeholder], order: list[int]
) -> None:
    assert value_order(first, other) == order


@pytest.mark.parametrize("other", [[], [BUTTON], [BODY, BODY]])
def test_other_placeholders_have_no_order(other: list[Placeholder]) -> None:
    with pytest.raises(ValueError, match="different placeholders"):
        value_order([BODY], other)
