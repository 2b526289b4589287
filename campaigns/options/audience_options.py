"""The options that say where an audience comes from and how it is read."""

from __future__ import annotations

from collections.abc import Sequence

from drumbeat.campaigns.options.sources import Audience, CampaignResult, SqlQuery
from drumbeat.campaigns.options.table import CampaignOptions
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.settings import load_settings


def pairs(key: str, given: Sequence[str] | None) -> dict[str, str]:
    """Return {"a": "b"} for `a=b`. Raise UsageError for a text without `=`, or a name that occurs twice."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(
                f"{{{key}}} {{text!r}} is not a pair",
                remedy=f"write {{{key}}} name=value",
                values={"text": text},
            )
        if name in found:
            raise UsageError(f'{{{key}}} names "{{text}}" twice', remedy="remove one", values={"text": name})
        found[name] = value
    return found


def audience_of(options: CampaignOptions) -> Audience:
    """Return the one audience that the options name. Raise UsageError for none, for two, and for options that
    belong to another one.
    """
    named = [options.audience, options.audience_sql, options.audience_campaign]
    if named.count(None) != 2:
        raise UsageError(
            "a campaign needs one audience",
            remedy="give one of {audience}, {audience_sql} and {audience_campaign}",
            values={},
        )
    if options.audience_database is not None and options.audience_sql is None:
        raise UsageError("{audience_database} needs {audience_sql}", remedy="give the query", values={})
    if options.audience_campaign is not None:
        return _result(options.audience_campaign, options.state, options.code)
    if options.state is not None or options.code is not None:
        raise UsageError("{state} and {code} need {audience_campaign}", remedy="name the campaign", values={})
    if options.audience is not None:
        return options.audience
    assert options.audience_sql is not None
    return SqlQuery(options.audience_sql, _database(options.audience_database))


def _database(given: str | None) -> str:
    stored = load_settings().audience_database_url
    url = given or (None if stored is None else stored.get_secret_value())
    if not url:
        raise UsageError(
            "{audience_sql} needs a database",
            remedy="give {audience_database}, or set DRUMBEAT_AUDIENCE_DATABASE_URL",
            values={},
        )
    return url


def _result(campaign: str, state: RecipientState | None, code: int | None) -> CampaignResult:
    if code is not None and state not in (None, RecipientState.FAILED):
        raise UsageError(
            "{code} selects failed recipients only",
            remedy="use {state} failed, or leave out {state}",
            values={},
        )
    if code is None:
        return CampaignResult(campaign, state)
    return CampaignResult(campaign, RecipientState.FAILED, frozenset({code}))
