"""Which audience the options of a command name, and what is refused before anything is read."""

from pathlib import Path

import pytest

from drumbeat.campaigns.options.audience_options import audience_of, pairs
from drumbeat.campaigns.options.sources import CampaignResult, SqlQuery
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import UsageError

FAILED = RecipientState.FAILED
FILE = Path("a.csv")
URL = "postgresql://db.example/shop"


@pytest.mark.parametrize(
    ("given", "audience"),
    [
        ((FILE, None, None, None, None, None), FILE),
        ((None, "SELECT 1", URL, None, None, None), SqlQuery("SELECT 1", URL)),
        ((None, None, None, "spring", None, None), CampaignResult("spring")),
        (
            (None, None, None, "spring", RecipientState.READ, None),
            CampaignResult("spring", RecipientState.READ),
        ),
        ((None, None, None, "spring", None, 131049), CampaignResult("spring", FAILED, frozenset({131049}))),
    ],
)
def test_one_audience_is_named(given: tuple[object, ...], audience: object) -> None:
    assert audience_of(*given) == audience


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((None, None, None, None, None, None), "one audience"),
        ((FILE, "SELECT 1", None, None, None, None), "one audience"),
        ((FILE, None, URL, None, None, None), "needs --audience-sql"),
        ((FILE, None, None, None, FAILED, None), "need --audience-campaign"),
        ((None, "SELECT 1", None, None, None, None), "DRUMBEAT_AUDIENCE_DATABASE_URL"),
        ((None, None, None, "spring", RecipientState.READ, 131049), "--state failed"),
    ],
)
def test_none_or_two_or_half_of_one_are_refused(given: tuple[object, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        audience_of(*given)


def test_the_url_of_the_setting_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"{URL}\n")
    monkeypatch.setenv("DRUMBEAT_AUDIENCE_DATABASE_URL_FILE", str(tmp_path / "url"))
    assert audience_of(None, "SELECT 1", None, None, None, None) == SqlQuery("SELECT 1", URL)


@pytest.mark.parametrize("text", ["name", "=friend", "name="])
def test_a_pair_needs_a_name_and_a_value(text: str) -> None:
    assert pairs("--default", ["name=a=b", "city=Rio"]) == {"name": "a=b", "city": "Rio"}
    with pytest.raises(UsageError, match="is not a pair"):
        pairs("--default", [text])
    with pytest.raises(UsageError, match="twice"):
        pairs("--map", ["name=a", "name=b"])
