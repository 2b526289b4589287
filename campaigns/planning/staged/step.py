"""The step that checks and stages the rows, and lists those that it rejects."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drumbeat.campaigns.audience.check.columns import MissingColumn
from drumbeat.campaigns.audience.check.encoding_question import known_table
from drumbeat.campaigns.audience.check.glimpse import with_remedy
from drumbeat.campaigns.audience.check.parallel_check import staged_batches
from drumbeat.campaigns.audience.check.reject_file import (
    RejectFile,
    rejects_path_of,
    require_no_reject_list,
)
from drumbeat.campaigns.audience.check.row_check import require_known_countries
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.staged_batch import CheckSpec
from drumbeat.campaigns.audience.open.encoding import Encoding
from drumbeat.campaigns.audience.open.reader import AudienceTable
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.options.sources import GivenRows
from drumbeat.campaigns.planning.checked.step import Checked
from drumbeat.campaigns.planning.checked.template_set import check_languages, with_recipients
from drumbeat.campaigns.planning.opened.exclusion import stage_exclusions
from drumbeat.campaigns.planning.opened.step import Opened
from drumbeat.campaigns.planning.staged.filling import Filling, fill
from drumbeat.campaigns.planning.staged.first_messages import FirstMessage
from drumbeat.campaigns.planning.staged.least import least_recipients
from drumbeat.campaigns.planning.staged.limits import nobody_to_retry, require_recipients
from drumbeat.campaigns.planning.staged.recent import RecentCampaign, recent_campaigns
from drumbeat.campaigns.planning.staged.spec_rules import file_rules
from drumbeat.campaigns.planning.staged.staging import StagedRows, find_duplicates, stage
from drumbeat.campaigns.reject import Reject


@dataclass(frozen=True, slots=True, kw_only=True)
class AudienceFound:
    """The facts about an audience that was read.

    `encoding` is how it was decoded. `rejects_path` is the list of rejected and duplicate rows, if there are
    any and a list is kept; `reject_codes` counts them. `unmatched` counts rows by a language that no template
    has; they get the fallback. `findings` warn of what good rows hold; `countries` and `kinds` count their
    phones, as `PhoneCounts` does. `left_out_codes` counts whom a retry leaves out. A dry run has
    `first_messages`, and `heads` if it counts them: see `create_campaign`. `rejected_rows` are the first
    rejected and duplicate rows of an audience that a program gave.
    """

    encoding: Encoding | None = None
    rejects_path: Path | None = None
    reject_codes: Mapping[str, int] = field(default_factory=dict)
    unmatched: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[ListFinding] = ()
    countries: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    left_out_codes: Mapping[str, int] = field(default_factory=dict)
    first_messages: Sequence[FirstMessage] = ()
    rejected_rows: Sequence[Reject] = ()
    heads: Sequence[Mapping[str, Any]] = ()


NOT_READ = AudienceFound()


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """The staged rows, and what fills the templates with them. `same_people` are explained by
    `recent_campaigns`.
    """

    rows: StagedRows
    filling: Filling
    audience: AudienceFound
    same_people: Sequence[RecentCampaign]


async def stage_audience(opened: Opened, checked: Checked, *, keeps_rejects: bool) -> Staged:
    """Stage the rows, and publish the list of rejects if it is kept.

    Raise UsageError if a placeholder has no column, ConfigurationError if the audience cannot be read or its
    counts are not those that the options allow, and NotReady if it has no rows yet, or too few.
    """
    spec = opened.asked.spec
    is_given = isinstance(spec.source, GivenRows)
    # A program that gives the rows gets the rejected ones back, and expects no file.
    unlisted = is_given and spec.rejects is None
    listed = spec.rejects or rejects_path_of(spec.name, spec.audience_file)
    with RejectFile(Path(os.devnull) if unlisted else listed, spec.audience_file) as rejects:
        table = await asyncio.to_thread(opened.source.table)
        require_no_reject_list(table.header, table.name)
        filling = fill(spec, checked.templates, table.header)
        table = await asyncio.to_thread(known_table, opened.source, table, filling.rules)
        rows = await _stage_rows(opened, table, filling.rules, rejects)
        published = rejects.publish() if keeps_rejects and not unlisted else None
    readiness = opened.asked.guards.readiness
    least = await least_recipients(opened.session.connection, readiness.least, spec.name)
    if spec.retry_of is not None and not rows.rows:
        raise nobody_to_retry(spec.retry_of, opened.source.left_out)
    require_recipients(spec, rows, published, least, allow_empty=readiness.allow_empty)
    check_languages(spec, rows.unmatched)
    return Staged(
        rows=rows,
        filling=Filling(with_recipients(filling.templates, rows.by_template), filling.rules),
        audience=AudienceFound(
            encoding=table.encoding,
            rejects_path=published,
            reject_codes=dict(rejects.counts),
            rejected_rows=tuple(rejects.first) if is_given else (),
            unmatched=rows.unmatched,
            findings=rows.findings.as_json(),
            countries=rows.phones.by_country(),
            kinds=rows.phones.by_kind(),
            left_out_codes={str(code): count for code, count in opened.source.left_out.items()},
        ),
        same_people=await recent_campaigns(opened.session.connection, spec),
    )


async def _stage_rows(
    opened: Opened, table: AudienceTable, rules: RowRules, rejects: RejectFile
) -> StagedRows:
    session, check = opened.session, CheckSpec(table.header, table.name, rules, table.dialect)
    try:
        row_check = check.row_check()
    except MissingColumn as error:
        raise await asyncio.to_thread(with_remedy, error, opened.source) from error
    with closing(staged_batches(table, check)) as batches:
        rows = await stage(session, batches, rejects, table.total_bytes, has_choice=rules.choice is not None)
    rows.findings.update(table.findings.for_columns(row_check.read_columns(table.header)))
    opened.source.require_unchanged()
    require_known_countries(table.header, rules, rows.plain, table.name)
    await stage_exclusions(
        session.connection, opened.exclusions, file_rules(opened.asked.spec), rows.findings
    )
    await find_duplicates(
        session, rows, rejects, row_check.phone_column, has_exclusions=bool(opened.exclusions)
    )
    return rows
