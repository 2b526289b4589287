"""The people whom a campaign leaves out: those of a file, or the recipients of another campaign."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from drumbeat.campaigns.audience.check.columns import MissingColumn, has_column
from drumbeat.campaigns.audience.check.glimpse import with_remedy
from drumbeat.campaigns.audience.check.row_check import RowCheck, require_known_countries, row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.opening import OpenAudience, open_table
from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.finding import EXCLUDED_HIDDEN, ROWS_HIDDEN, Findings
from drumbeat.campaigns.options.sources import ALL_ROWS
from drumbeat.campaigns.phones.old_numbers import EVERY_CHANGE
from drumbeat.campaigns.phones.plain_digits import NO_COLUMN, PlainDigits
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.engine.core.phone_aliases import canonical_phones
from drumbeat.engine.errors import ConfigurationError, DrumbeatError
from drumbeat.engine.store.copying import copy_text
from drumbeat.engine.store.database import Connection


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A file or a campaign that `exclude` names. `content` identifies it."""

    content: str
    source: OpenAudience | None
    campaign_id: int | None


async def open_exclusions(
    connection: Connection, names: Sequence[str], files: ExitStack
) -> Sequence[Exclusion]:
    """Open each exclusion: a file if there is one of the name, else a campaign. `files` closes them."""
    return [await _opened(connection, name, files) for name in names]


async def _opened(connection: Connection, name: str, files: ExitStack) -> Exclusion:
    path = Path(name)
    if await asyncio.to_thread(path.exists):
        source = await asyncio.to_thread(files.enter_context, open_table(path, ALL_ROWS))
        return Exclusion(await asyncio.to_thread(source.sha256), source, None)
    campaign = await find_campaign(connection, name)
    require_planned(campaign)
    await require_kept(connection, campaign.campaign_id, name)
    return Exclusion(f"campaign {campaign.name}", None, campaign.campaign_id)


async def stage_exclusions(
    connection: Connection, exclusions: Sequence[Exclusion], rules: RowRules, findings: Findings
) -> None:
    """Write their canonical phones to the session's table `excluded`. All rows of a file count, hidden ones
    too, and a finding says so.

    Raise ConfigurationError if a phone of a file cannot be read: that person would get the message.
    """
    for exclusion in exclusions:
        if exclusion.source is None:
            await connection.execute(statements("plan")["exclude_campaign"], exclusion.campaign_id)
        else:
            await copy_text(connection, "excluded", _phones(exclusion.source, rules, findings))


async def _phones(source: OpenAudience, rules: RowRules, findings: Findings) -> AsyncIterator[bytes]:
    table = await asyncio.to_thread(source.table)
    for hidden in table.findings.of(ROWS_HIDDEN):
        findings.add(EXCLUDED_HIDDEN, "", hidden.lines, table.name, hidden.count)
    try:
        check = _check(table.header, table.name, rules)
    except MissingColumn as error:
        raise await asyncio.to_thread(_with_remedy, error, source) from error
    plain = PlainDigits()
    for batch in check.batches(table):
        plain.update(batch.plain)
        if batch.rejects:
            reject = batch.rejects[0]
            raise ConfigurationError(
                "the phone {phone!r} of {exclude} cannot be read: {reason}",
                where=f"{table.name}, line {reject.line}",
                remedy="correct it, or this person would get the message",
                values={"phone": reject.value, "reason": reject.reason},
            )
        yield "".join(f"{phone}\n" for phone in canonical_phones(batch.phones)).encode()
    source.require_unchanged()
    require_known_countries(table.header, _rules(table.header, rules), plain, table.name)


def _check(header: Sequence[str], where: str, rules: RowRules) -> RowCheck:
    """Return the check by the campaign's column of phones, or by `phone` in a list of another origin."""
    plain = _rules(header, rules)
    try:
        return row_check(header, where, replace(plain, phone_column=rules.phone_column, mapped=rules.mapped))
    except MissingColumn:
        return row_check(header, where, plain)


def _with_remedy(error: MissingColumn, source: OpenAudience) -> DrumbeatError:
    """Return the error with its remedy. The option for the column of phones is that of the audience."""
    found = with_remedy(error, source)
    if found.key != "phone_column":
        return found
    remedy = 'in a file for {exclude}, the column of phones is "phone", or as in the audience: rename it'
    return MissingColumn(error.what, where=error.where, remedy=remedy, values={})


def _rules(header: Sequence[str], rules: RowRules) -> RowRules:
    """Return the rules of a list of people to leave out: an old number names its person, too."""
    column = rules.country_column
    is_there = column is not None and (column == NO_COLUMN or has_column(header, column))
    return RowRules(region=rules.region, repair_old=EVERY_CHANGE, country_column=column if is_there else None)
