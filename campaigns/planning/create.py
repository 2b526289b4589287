"""Creates a campaign: checks everything, then plans. The same create again changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import asyncpg

from campaigns.audience.encoding import Encoding
from campaigns.audience.opening import OpenAudience
from campaigns.audience.parallel_check import staged_batches
from campaigns.audience.reader import AudienceTable
from campaigns.audience.reject_file import RejectFile, default_rejects_path, require_no_reject_list
from campaigns.audience.row_check import RowRules
from campaigns.audience.staged_batch import CheckSpec
from campaigns.describe_database import describe_database
from campaigns.planning.change import (
    GIVEN,
    Asked,
    KnownCampaign,
    Replaced,
    change_row,
    differs,
    require_allowed,
)
from campaigns.planning.change_rules import Change, Effect, effect_of
from campaigns.planning.disk_limit import stop_when_disk_is_short
from campaigns.planning.exclusion import Exclusion, open_exclusions, stage_exclusions
from campaigns.planning.freeze import freeze
from campaigns.planning.plan import STATEMENT_TIMEOUT_S, PlanCounts, ProgressCallback, no_progress
from campaigns.planning.range_size import RangePlan, plan_ranges, range_size
from campaigns.planning.recent import RecentCampaign, recent_campaigns
from campaigns.planning.removal import lock_names, remove_leftovers
from campaigns.planning.schedule import Schedule, require_future_end
from campaigns.planning.source import open_source
from campaigns.planning.spec import (
    AUDIENCE_CONTENT,
    NOTED,
    UNMATCHED,
    CampaignSpec,
    Identity,
    identify,
)
from campaigns.planning.staging import Staged, find_duplicates, stage
from campaigns.planning.template_set import check_languages, load_templates, rules_for, with_recipients
from campaigns.pluralise import pluralise
from campaigns.template_shares import TemplateShare, shares_in
from engine.core.campaign_template import CampaignTemplate, freeze_templates
from engine.core.states import CampaignState
from engine.errors import ConfigurationError
from engine.process.disk_space import Disk
from engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from engine.store.database import Connection, close, connect
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class CreatedCampaign:
    """A campaign that now exists. `unchanged`: it existed before, and nothing was done.

    `rejects_path`: the list of rejected and duplicate rows, if there are any; `reject_codes` counts them.
    `encoding`: how the audience was decoded; None if it was not read again. `same_audience`: other campaigns
    with the same file, except those cancelled before they sent anything. `same_people`: see
    `recent_campaigns`. `changes`: of a campaign that existed. `dry_run`: it does not exist, its
    `campaign_id` is 0, and the rest is what a create would say now. `templates`: with the recipients of each
    if there are several. `unmatched`: rows by a language that no template has; they get the fallback.
    """

    campaign_id: int
    name: str
    state: str
    unchanged: bool
    counts: PlanCounts
    rejects_path: Path | None
    reject_codes: Mapping[str, int]
    encoding: Encoding | None = None
    same_audience: Sequence[str] = ()
    dry_run: bool = False
    templates: Sequence[TemplateShare] = ()
    unmatched: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    same_people: Sequence[RecentCampaign] = ()


async def create_campaign(
    url: str,
    spec: CampaignSpec,
    progress: ProgressCallback = no_progress,
    *,
    disk: Disk | None = None,
    dry_run: bool = False,
    change_by: str | None = None,
) -> CreatedCampaign:
    """Plan a campaign from its audience, or find that it is planned already. `dry_run`: check everything, and
    store nothing. `change_by`: who changes a campaign that exists with other options, by the table in
    `change_rules.py`, which may plan a draft anew; None: such a campaign is refused.

    Raises UsageError for a wrong option, ConfigurationError for a wrong file, template or number and for a
    name that another campaign has, and TryLater while another process creates it. It then leaves nothing
    behind, except the list of rejects if they are the reason. `disk`: the disk of the database, if it is on
    this machine; TryLater if it gets too full. The list of rejects and a half-planned campaign may then be
    left behind; the next create removes them.
    """
    schedule = spec.checked_schedule()
    with ExitStack() as files:
        source = await open_source(url, spec, files)
        audience_sha256 = await asyncio.to_thread(source.sha256)
        connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            exclusions = await open_exclusions(connection, spec.exclude, files)
            excluded = [exclusion.content for exclusion in exclusions]
            identity = identify(spec, schedule, audience_sha256, excluded)
            await lock_names(connection, spec.name, spec.external_id)
            guarded = stop_when_disk_is_short(disk, progress)
            planning = _Planning(url, connection, spec, schedule, identity, exclusions, guarded, dry_run)
            created = await _create_or_change(planning, source, change_by)
            return replace(created, same_audience=await _same_audience(connection, identity, created))
        finally:
            await close(connection)


async def _create_or_change(
    planning: _Planning, source: OpenAudience, change_by: str | None
) -> CreatedCampaign:
    connection, spec = planning.connection, planning.spec
    row = await planned_row(connection, spec, dry_run=planning.dry_run)
    if row is None:
        return await planning.run(source)
    known = known_campaign(row)
    if known.content_hash == planning.identity.content_hash:
        return existing_campaign(row)
    if change_by is None:
        raise await differs(connection, known, planning.identity)
    changes = known.changes_to(planning.identity)
    await require_allowed(connection, known, changes)
    if effect_of(changes) is Effect.PLANNED_ANEW:
        anew = replace(planning, replaces=Replaced(known, change_by))
        return replace(await anew.run(source), changes=changes)
    asked = Asked(spec, planning.schedule, planning.identity, changes)
    return await change_options(connection, row, asked, change_by, dry_run=planning.dry_run)


async def change_options(
    connection: Connection, row: asyncpg.Record, asked: Asked, actor: str, *, dry_run: bool
) -> CreatedCampaign:
    await _limits_per_s(connection, asked.spec.phone_number_ids, await describe_database(connection))
    require_future_end(asked.schedule)
    if not dry_run:
        await change_row(connection, known_campaign(row), asked, actor=actor)
    return existing_campaign(row, asked.changes, dry_run=dry_run)


async def _same_audience(connection: Connection, identity: Identity, created: CreatedCampaign) -> list[str]:
    content = identity.options[AUDIENCE_CONTENT]
    rows = await connection.fetch(
        queries("plan")["same_audience"], AUDIENCE_CONTENT, content, created.campaign_id
    )
    return [row["name"] for row in rows]


async def planned_row(connection: Connection, spec: CampaignSpec, *, dry_run: bool) -> asyncpg.Record | None:
    """The planned campaign with this name or external id, if any. Removes what an interrupted create left,
    unless it is a dry run.
    """
    rows = await connection.fetch(queries("plan")["same_identity"], spec.name, spec.external_id)
    planned = []
    for row in rows:
        if row["planned_at"] is not None:
            planned.append(row)
        elif not dry_run:
            await remove_leftovers(connection, row["campaign_id"])
    return planned[0] if planned else None


def known_campaign(row: asyncpg.Record) -> KnownCampaign:
    state = CampaignState(row["state"])
    return KnownCampaign(row["campaign_id"], row["name"], state, row["content_hash"], row["options"])


def existing_campaign(
    row: asyncpg.Record, changes: Sequence[Change] = (), *, dry_run: bool = False
) -> CreatedCampaign:
    counts = PlanCounts(row["audience_rows"], row["recipients"], row["rejected"], row["duplicates"], None)
    unchanged = not changes
    return CreatedCampaign(
        row["campaign_id"],
        row["name"],
        row["state"],
        unchanged,
        counts,
        None,
        {},
        changes=changes,
        dry_run=dry_run and not unchanged,
        templates=shares_in(row["template"]),
    )


def _counts(staged: Staged, suppressed: int) -> PlanCounts:
    return PlanCounts(
        audience_rows=staged.rows + staged.rejected,
        recipients=staged.recipients,
        rejected=staged.rejected + staged.excluded,
        duplicates=staged.duplicates,
        suppressed=suppressed,
    )


@dataclass(frozen=True, slots=True)
class _Planning:
    """The planning of one new campaign."""

    url: str
    connection: Connection
    spec: CampaignSpec
    schedule: Schedule
    identity: Identity
    exclusions: Sequence[Exclusion]
    progress: ProgressCallback
    dry_run: bool
    replaces: Replaced | None = None

    async def run(self, source: OpenAudience) -> CreatedCampaign:
        require_future_end(self.schedule)
        database = await describe_database(self.connection)
        limits_per_s = await _limits_per_s(self.connection, self.spec.phone_number_ids, database)
        templates = await load_templates(self.connection, self.spec, database=database)
        rules = rules_for(self.spec, templates)
        rejects_path = self.spec.rejects or default_rejects_path(self.spec.audience_file or Path("audience"))
        with RejectFile(rejects_path, self.spec.audience_file) as rejects:
            table = await asyncio.to_thread(source.table)
            require_no_reject_list(table.header, table.name)
            staged = await self._stage(table, source, rejects, rules)
            published = None if self.dry_run else rejects.publish()
            self._check_counts(staged, published)
            check_languages(self.spec, staged.unmatched)
            templates = with_recipients(templates, staged.by_template)
            same_people = await recent_campaigns(self.connection, self.spec)
            if self.dry_run:
                suppressed = await self.connection.fetchval(queries("plan")["count_suppressed"])
                campaign_id, counts = 0, _counts(staged, suppressed)
            else:
                ranges = self._ranges(staged, limits_per_s)
                noted = {**source.noted, **({UNMATCHED: dict(staged.unmatched)} if staged.unmatched else {})}
                campaign_id, counts = await self._freeze(templates, staged, ranges, noted)
        codes, encoding = dict(rejects.counts), table.encoding
        return CreatedCampaign(
            campaign_id,
            self.spec.name,
            "draft",
            False,
            counts,
            published,
            codes,
            encoding,
            dry_run=self.dry_run,
            templates=shares_in(freeze_templates(templates)),
            unmatched=staged.unmatched,
            same_people=same_people,
        )

    async def _stage(
        self, table: AudienceTable, source: OpenAudience, rejects: RejectFile, rules: RowRules
    ) -> Staged:
        check = CheckSpec(table.header, table.name, rules, table.delimiter)
        has_choice = rules.choice is not None
        phone_column = check.row_check().phone_column
        with closing(staged_batches(table, check)) as batches:
            staged = await stage(
                self.connection, batches, rejects, table.total_bytes, self.progress, has_choice=has_choice
            )
        source.require_unchanged()
        await stage_exclusions(self.connection, self.exclusions, self.spec.rules)
        await find_duplicates(
            self.connection,
            staged,
            rejects,
            phone_column,
            self.progress,
            has_exclusions=bool(self.exclusions),
            has_choice=has_choice,
        )
        return staged

    def _check_counts(self, staged: Staged, rejects: Path | None) -> None:
        listed = "" if rejects is None else f"see {rejects}"
        name = self.spec.audience_name
        if self.spec.strict and staged.rejected:
            raise ConfigurationError(
                f"{pluralise(staged.rejected, 'row is', 'rows are')} rejected, and --strict allows none",
                where=name,
                remedy=listed,
            )
        if not staged.rows:
            rejected = f": all {staged.rejected:,} rows are rejected" if staged.rejected else ""
            problem = ": its only row is rejected" if staged.rejected == 1 else rejected
            raise ConfigurationError(f"there is nobody to send to{problem}", where=name, remedy=listed)
        if not staged.recipients:
            raise ConfigurationError(
                "there is nobody to send to: --exclude names all recipients", where=name, remedy=listed
            )

    def _ranges(self, staged: Staged, limits_per_s: Sequence[float]) -> RangePlan:
        canary = self.spec.order.canary
        return plan_ranges(
            [chunk.recipients for chunk in staged.chunks],
            range_size(staged.recipients, limits_per_s),
            0 if canary is None else canary.recipients,
            len(limits_per_s),
        )

    async def _freeze(
        self,
        templates: Sequence[CampaignTemplate],
        staged: Staged,
        ranges: RangePlan,
        noted: Mapping[str, Any],
    ) -> tuple[int, PlanCounts]:
        columns = self._columns(templates, noted)
        if self.replaces is not None:
            await self.replaces.remove(self.connection, self.identity)
        row = await self.connection.fetchrow(queries("plan")["insert_campaign"], *columns)
        assert row is not None
        campaign_id: int = row["campaign_id"]
        frozen = await freeze(
            self.connection, self.url, campaign_id, row["day"], staged, ranges, self.progress
        )
        counts = _counts(staged, frozen.suppressed)
        if frozen.recipients != counts.recipients:
            raise RuntimeError(f"{counts.recipients} recipients were staged, {frozen.recipients} frozen")
        await self._insert_canary(campaign_id, counts.recipients, ranges.canary_ranges)
        await self.connection.execute(
            queries("plan")["finish_plan"],
            campaign_id,
            counts.audience_rows,
            counts.rejected,
            counts.duplicates,
            counts.recipients,
        )
        return campaign_id, counts

    async def _insert_canary(self, campaign_id: int, recipients: int, ranges: int) -> None:
        if (canary := self.spec.order.canary) is None:
            return
        await self.connection.execute(
            queries("plan")["insert_canary"],
            campaign_id,
            min(canary.recipients, recipients),
            ranges,
            canary.max_failed,
            canary.needs_approval,
            canary.minutes * 60,
        )

    def _columns(self, templates: Sequence[CampaignTemplate], noted: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of the statement `insert_campaign`."""
        return (
            self.spec.name,
            self.spec.external_id,
            self.identity.content_hash,
            {**self.identity.options, NOTED: {**noted, GIVEN: dict(self.spec.given)}},
            freeze_templates(templates),
            self.spec.phone_number_ids,
            self.spec.on_unknown,
            self.schedule.window_opens,
            self.schedule.window_closes,
            self.schedule.time_zone,
            self.schedule.start_at,
            self.schedule.expires_at,
            self.spec.max_failed,
            self.spec.order.priority.word,
            self.spec.order.share_percent,
            self.spec.order.pause_at_failed,
        )


async def _limits_per_s(connection: Connection, numbers: list[str], database: str) -> list[float]:
    """The limits of these numbers, in any order; ConfigurationError if one is not stored."""
    rows = await connection.fetch(queries("plan")["limits_of_numbers"], numbers, DEFAULT_LIMIT_PER_S)
    limits_per_s = {row["phone_number_id"]: row["limit_per_s"] for row in rows}
    missing = sorted(set(numbers) - limits_per_s.keys())
    if not missing:
        return list(limits_per_s.values())
    known = [row["phone_number_id"] for row in await connection.fetch(queries("plan")["all_numbers"])]
    hint = f"; known are {', '.join(known[:10])}" if known else ""
    raise ConfigurationError(
        f"unknown phone number ID {', '.join(missing)}{hint}",
        where=database,
        remedy="run `drumbeat numbers sync`",
    )
