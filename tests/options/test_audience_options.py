"""Which audience the options of a command name, and what is refused before anything is read."""

from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.options.audience_options import audience_of, pairs
from drumbeat.campaigns.options.sources import CampaignResult, SqlQuery
from drumbeat.campaigns.options.table import CampaignOptions
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import UsageError

FAILED = RecipientState.FAILED
FILE = Path("a.csv")
URL = "postgresql://db.example/shop"


def options(**given: Any) -> CampaignOptions:
    return CampaignOptions(name="spring", language="en", number=["1"], **given)


@pytest.mark.parametrize(
    ("given", "audience"),
    [
        ({"audience": FILE}, FILE),
        ({"audience_sql": "SELECT 1", "audience_database": URL}, SqlQuery("SELECT 1", URL)),
        ({"audience_campaign": "spring"}, CampaignResult("spring")),
        (
            {"audience_campaign": "spring", "state": RecipientState.READ},
            CampaignResult("spring", RecipientState.READ),
        ),
        (
            {"audience_campaign": "spring", "code": 131049},
            CampaignResult("spring", FAILED, frozenset({131049})),
        ),
    ],
)
def test_one_audience_is_named(given: dict[str, Any], audience: object) -> None:
    assert audience_of(options(**given)) == audience


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "one audience"),
        ({"audience": FILE, "audience_sql": "SELECT 1"}, "one audience"),
        ({"audience": FILE, "audience_database": URL}, "needs audience_sql"),
        ({"audience": FILE, "state": FAILED}, "need audience_campaign"),
        ({"audience_sql": "SELECT 1"}, "DRUMBEAT_AUDIENCE_DATABASE_URL"),
        ({"audience_campaign": "spring", "state": RecipientState.READ, "code": 131049}, "state failed"),
    ],
)
def test_none_or_two_or_half_of_one_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        audience_of(options(**given))


def test_the_url_of_the_setting_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{URL}\n")
    monkeypatch.setenv("DRUMBEAT_AUDIENCE_DATABASE_URL_FILE", str(tmp_path / "url"))
    assert audience_of(options(audience_sql="SELECT 1")) == SqlQuery("SELECT 1", URL)


@pytest.mark.parametrize("text", ["name", "=friend", "name="])
def test_a_pair_needs_a_name_and_a_value(text: str) -> None:
    assert pairs("default", ["name=a=b", "city=Rio"]) == {"name": "a=b", "city": "Rio"}
    with pytest.raises(UsageError, match="is not a pair"):
        pairs("default", [text])
    with pytest.raises(UsageError, match="twice"):
        pairs("map", ["name=a", "name=b"])
