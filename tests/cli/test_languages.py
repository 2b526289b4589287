"""One campaign in two languages, from its audience to its export."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import CREATE
from tests.cli.processes import Drumbeat, Service

PHONE = 5511980000000
ME = "+14155550101"
ROWS = ("Ana,A-0,pt-br", "Bob,A-1,EN_us", "Eva,A-2,de", "Ina,A-3,", "Leo,A-4,PT")
PARAMS = ("--param", "name", "--param", "order", "--language-column", "tongue")
SHARES = [
    {"template": "order_shipped", "language": "en_US", "variant": None, "recipients": 3},
    {"template": "order_shipped", "language": "pt_BR", "variant": None, "recipients": 2},
]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    rows = [f"+{PHONE + at},{row}" for at, row in enumerate(ROWS)]
    again = f"+{PHONE},Ana,A-9,en"  # the person is listed in both languages
    path.write_text("\n".join(["phone,name,order,tongue", *rows, again, ""]), "utf-8")
    return path


def sent_languages(service: Service) -> dict[str, str]:
    return {message["to"]: message["language"] for message in service.ledger()}


def test_each_person_gets_one_message_in_their_language(
    drumbeat: Drumbeat, synced: Service, people: Path, tmp_path: Path
) -> None:
    made = drumbeat.ok(*CREATE, "--audience", people, *PARAMS, "--json").json
    assert (made["templates"], made["unmatched_languages"]) == (SHARES, {"de": 1, "": 1})
    assert (made["recipients"], made["duplicates"]) == (5, 1)

    plan = drumbeat.ok("campaign", "plan", "spring", "--json").json
    assert (plan["templates"], plan["unmatched_languages"]) == (SHARES, {"de": 1, "": 1})
    shown = drumbeat.ok("campaign", "plan", "spring").stdout
    assert "order_shipped (pt_BR): 2 recipients" in shown
    assert "(empty) 1, de 1" in shown

    seen = drumbeat.ok("campaign", "preview", "spring", "--row", "2", "--json").json
    assert seen["language"] == "pt_BR"
    assert seen["message"]["body"].startswith("Olá Ana")
    tested = drumbeat.ok("campaign", "test-send", "spring", "--to", ME, "--row", "2", "--json").json
    assert tested["language"] == "pt_BR"
    assert sent_languages(synced) == {ME[1:]: "pt_BR"}

    end = drumbeat.ok("campaign", "run", "spring", "--json").json
    assert (end["state"], end["templates"]) == ("finished", SHARES)
    expected = ["pt_BR", "en_US", "en_US", "en_US", "pt_BR"]
    assert sent_languages(synced) == {
        ME[1:]: "pt_BR",
        **{str(PHONE + at): language for at, language in enumerate(expected)},
    }
    assert "order_shipped (en_US): 3 recipients" in drumbeat.ok("campaign", "report", "spring").stdout

    drumbeat.ok("campaign", "export", "spring", "--output", "out.csv")
    with (tmp_path / "out.csv").open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert [row["language"] for row in rows] == expected


def test_another_campaign_can_take_the_languages_over(
    drumbeat: Drumbeat, synced: Service, people: Path
) -> None:
    drumbeat.ok(*CREATE, "--audience", people, *PARAMS)
    drumbeat.ok("campaign", "run", "spring")

    second = [word if word != "spring" else "summer" for word in CREATE]
    made = drumbeat.ok(*second, "--audience-campaign", "spring", *PARAMS, "--json").json

    assert (made["templates"], made["unmatched_languages"]) == (SHARES, {})


def test_an_unknown_language_is_refused_if_asked(drumbeat: Drumbeat, synced: Service, people: Path) -> None:
    refused = drumbeat(*CREATE, "--audience", people, *PARAMS, "--strict-language")
    assert refused.exit_code == 78
    assert "(empty) 1, de 1" in refused.complaint
    assert f"{people.name}, column tongue" in refused.complaint
    assert Counter(drumbeat.ok("campaign", "list", "--json").json["campaigns"]) == Counter()


def test_two_variants_are_sent_and_reported(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    create = [*CREATE[:3], *CREATE[5:], "--variant", "plain=order_shipped", "--variant", "offer=spring_offer"]
    made = drumbeat.ok(*create, "--audience", audience, *PARAMS[:4], "--json").json
    assert {share["variant"] for share in made["templates"]} == {"plain", "offer"}

    drumbeat.ok("campaign", "run", "spring")

    report = drumbeat.ok("campaign", "report", "spring", "--json").json
    wanted = {share["variant"]: share["recipients"] for share in made["templates"]}
    assert {found["variant"]: found["accepted"]["recipients"] for found in report["variants"]} == wanted
    names = Counter(message["template"] for message in synced.ledger())
    assert names == Counter({"order_shipped": wanted["plain"], "spring_offer": wanted["offer"]})
    assert "too early" in drumbeat.ok("campaign", "report", "spring").stdout


def test_one_template_or_variants_are_needed(drumbeat: Drumbeat, audience: Path) -> None:
    without = [*CREATE[:3], *CREATE[5:], "--audience", audience]
    both = [*CREATE, "--variant", "a=b", "--variant", "c=d", "--audience", audience]
    for words in (without, both):
        refused = drumbeat(*words)
        assert (refused.exit_code, "give --template or --variant" in refused.complaint) == (2, True)
