"""The options that say where an audience comes from and how it is read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.options.sources import CampaignResult, Format, SqlQuery
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.settings import load_settings

FORMS = "CSV, XLSX, XLS, ODS, JSON Lines or Parquet, also packed with gzip, zip or zstd"

FileFormat = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="What the file holds: csv, jsonl, xlsx, xls, ods or parquet. Default: found in its first bytes.",
        metavar="FORMAT",
    ),
]
Sheet = Annotated[str | None, typer.Option(help="Sheet of a workbook.", metavar="NAME")]
Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map", help="Your name for a column: first_name=Vorname; repeat for more.", metavar="NAME=COLUMN"
    ),
]
Defaults = Annotated[
    list[str] | None,
    typer.Option(
        "--default",
        help="Text for the empty cells of a column: first_name=friend; repeat for more.",
        metavar="COLUMN=TEXT",
    ),
]
AsMobile = Annotated[
    list[str] | None,
    typer.Option(
        "--as-mobile",
        help="All numbers of this country are mobile: BR adds the ninth digit, MX removes the 1 after 52, AR"
        " adds the 9 after 54; repeat for more.",
        metavar="BR|MX|AR",
    ),
]
Excludes = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        help="Leave out the people of a file, or the recipients of a campaign; repeat for more.",
        metavar="FILE|NAME",
    ),
]
AudienceFile = Annotated[
    Path | None,
    typer.Option(help=f"File with the recipients: {FORMS}. - is standard input.", metavar="FILE"),
]
AudienceSql = Annotated[
    str | None, typer.Option(help="Query of a Postgres database, instead of a file.", metavar="QUERY")
]
AudienceDatabase = Annotated[
    str | None,
    typer.Option(
        help="URL of that database. Default: the setting audience_database_url, which no process list shows.",
        metavar="URL",
    ),
]
AudienceCampaign = Annotated[
    str | None, typer.Option(help="Another campaign, instead of a file.", metavar="NAME")
]
State = Annotated[
    RecipientState | None,
    typer.Option(help="Only the recipients of that campaign in this state.", metavar="STATE"),
]
Code = Annotated[
    int | None, typer.Option(help="Only the recipients of that campaign that failed with this code.")
]


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Return {"a": "b"} for `a=b`. Raise UsageError for a text without `=`, or a name that occurs twice."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {text!r} is not a pair", remedy=f"write {option} name=value")
        if name in found:
            raise UsageError(f'{option} names "{name}" twice', remedy="remove one")
        found[name] = value
    return found


def audience_of(
    file: Path | None,
    sql: str | None,
    database: str | None,
    campaign: str | None,
    state: RecipientState | None,
    code: int | None,
) -> Path | SqlQuery | CampaignResult:
    """Return the one audience that the options name. Raise UsageError for none, for two, and for options that
    belong to another one.
    """
    if [file, sql, campaign].count(None) != 2:
        raise UsageError(
            "a campaign needs one audience",
            remedy="give one of --audience, --audience-sql and --audience-campaign",
        )
    if database is not None and sql is None:
        raise UsageError("--audience-database needs --audience-sql", remedy="give the query")
    if campaign is None and (state is not None or code is not None):
        raise UsageError("--state and --code need --audience-campaign", remedy="name the campaign")
    if campaign is not None:
        return _result(campaign, state, code)
    if sql is None:
        assert file is not None
        return file
    stored = load_settings().audience_database_url
    url = database or (None if stored is None else stored.get_secret_value())
    if not url:
        raise UsageError(
            "--audience-sql needs a database",
            remedy="give --audience-database, or set DRUMBEAT_AUDIENCE_DATABASE_URL",
        )
    return SqlQuery(sql, url)


def _result(campaign: str, state: RecipientState | None, code: int | None) -> CampaignResult:
    if code is not None and state not in (None, RecipientState.FAILED):
        raise UsageError(
            "--code selects failed recipients only", remedy="use --state failed, or leave out --state"
        )
    if code is None:
        return CampaignResult(campaign, state)
    return CampaignResult(campaign, RecipientState.FAILED, frozenset({code}))
