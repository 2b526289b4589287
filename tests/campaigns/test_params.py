"""`--param` by name and in order, against templates of both forms."""

from typing import Any

import pytest

from drumbeat.campaigns.planning.staged.params import Params, read_params
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.compiler import Media
from drumbeat.engine.errors import UsageError

LINK = {"type": "URL", "text": "Track", "url": "https://shop.example/{{1}}"}
REPLY = {"type": "QUICK_REPLY", "text": "No"}
COLUMNS = ["phone", "Vorname", "day", "link", "time: local", "first_name:x"]


def template(text: str, *buttons: dict[str, Any], form: str = "NAMED", header: str = "") -> CampaignTemplate:
    components = [{"type": "HEADER", "format": "TEXT", "text": header}] if header else []
    components += [{"type": "BODY", "text": text}, {"type": "BUTTONS", "buttons": list(buttons)}]
    return CampaignTemplate("offer", "en", {"components": components, "parameter_format": form}, None)


NAMED = template("Hi {{first_name}}, see you on {{day}}", LINK, REPLY)
BY_NUMBER = template("Hi {{1}}, on {{2}}", REPLY, LINK, form="POSITIONAL")


@pytest.mark.parametrize(
    ("asked", "params", "found"),
    [
        (NAMED, ["Vorname", "day", "link"], Params(("Vorname", "day", "link"))),
        (NAMED, ["button-0:link", "day:day", "first_name:Vorname"], Params(("Vorname", "day", "link"))),
        (NAMED, ["day:=Friday: noon", "first_name:=A", "button-0:=x"], Params(("=A", "=Friday: noon", "=x"))),
        (NAMED, ["Vorname", "=a:b", "time: local"], Params(("Vorname", "=a:b", "time: local"))),
        (
            NAMED,
            ["first_name:time: local", "day:day", "button-0:link"],
            Params(("time: local", "day", "link")),
        ),
        # The rule: a name before the first colon wins, even if a column has the whole text as its name.
        (NAMED, ["first_name:x", "day:day", "button-0:link"], Params(("x", "day", "link"))),
        (
            NAMED,
            ["button-1:Vorname", "Vorname", "day", "link"],
            Params(("Vorname", "day", "link", "Vorname"), (1,)),
        ),
        (BY_NUMBER, ["Vorname", "day", "link"], Params(("Vorname", "day", "link"))),
        (BY_NUMBER, ["2:day", "1:Vorname", "button-1:link"], Params(("Vorname", "day", "link"))),
        (
            BY_NUMBER,
            ["Vorname", "day", "link", "button-0:=no"],
            Params(("Vorname", "day", "=no", "link"), (0,)),
        ),
        (
            template("Hi {{name}}", header="For {{name}} in {{city}}"),
            ["name:Vorname", "city:=Rio"],
            Params(("Vorname", "=Rio", "Vorname")),
        ),
        (template("Hi"), [], Params(())),
    ],
)
def test_columns_stand_in_the_order_of_the_placeholders(
    asked: CampaignTemplate, params: list[str], found: Params
) -> None:
    assert read_params(asked, params, COLUMNS) == found


@pytest.mark.parametrize(
    ("asked", "params", "says"),
    [
        (NAMED, ["frist_name:Vorname", "day:day"], 'no placeholder "frist_name".*perhaps .*"first_name".*'),
        (
            NAMED,
            ["frist_name:Vorname"],
            "it has first_name, day, button-0, button-1; see .drumbeat templates show offer",
        ),
        (
            NAMED,
            ["day:day", "button-0:link"],
            r"leaves out body \{\{first_name\}\} .*add param first_name:CO",
        ),
        (NAMED, ["day:day", "day:link"], 'param names "day" twice: remove one'),
        (
            NAMED,
            ["day:day", "Vorname", "link"],
            "by name, and others in order: name all of them: param fir",
        ),
        (NAMED, ["day:", "Vorname", "link"], "param day: names no column: write day:COLUMN or day:=text"),
        (
            NAMED,
            ["Vorname"],
            r"3 placeholders, but param is given once.*body \{\{day\}\}, button 0 \{\{1\}\}",
        ),
        (NAMED, ["a"] * 4, "3 placeholders, but param is given 4 times"),
        (BY_NUMBER, ["3:day", "Vorname", "link"], 'no placeholder "3"'),
        (template("Hi"), ["name:Vorname"], "it has none"),
        (template("Hi"), ["Vorname"], "0 placeholders.*remove param"),
    ],
)
def test_what_is_refused_says_what_to_write(asked: CampaignTemplate, params: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says) as refused:
        read_params(asked, params, COLUMNS)
    assert refused.value.exit_code == 2


def test_the_media_of_a_header_take_no_param() -> None:
    definition = {"components": [{"type": "HEADER", "format": "IMAGE"}, {"type": "BODY", "text": "Hi {{1}}"}]}
    pictured = CampaignTemplate("offer", "en", definition, Media(is_variable=True))
    assert read_params(pictured, ["Vorname"], COLUMNS) == Params(("Vorname",))
