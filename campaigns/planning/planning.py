"""The plan of a campaign: audience → checked rows → staged rows → recipients in ranges, in one session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drumbeat.campaigns.audience.check.columns import MissingPhones
from drumbeat.campaigns.audience.check.glimpse import propose_phones
from drumbeat.campaigns.audience.check.parallel_check import staged_batches
from drumbeat.campaigns.audience.check.reject_file import (
    RejectFile,
    default_rejects_path,
    require_no_reject_list,
)
from drumbeat.campaigns.audience.check.row_check import RowRules, require_known_countries
from drumbeat.campaigns.audience.check.staged_batch import CheckSpec
from drumbeat.campaigns.audience.open.opening import OpenAudience
from drumbeat.campaigns.audience.open.reader import AudienceTable
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.options.guards import Guards
from drumbeat.campaigns.options.schedule import require_future_end
from drumbeat.campaigns.options.spec import GIVEN, NOTED, UNMATCHED, CampaignSpec, Identity
from drumbeat.campaigns.options.stored_variables import VARIABLES
from drumbeat.campaigns.planning.change import Replaced
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.planning.cutting import cutting_of
from drumbeat.campaigns.planning.exclusion import Exclusion, stage_exclusions
from drumbeat.campaigns.planning.filling import fill
from drumbeat.campaigns.planning.freeze import freeze
from drumbeat.campaigns.planning.header_files import header_files, require_few_files, upload_files
from drumbeat.campaigns.planning.plan import PlanCounts
from drumbeat.campaigns.planning.range_size import RangePlan, plan_ranges, range_size
from drumbeat.campaigns.planning.recent import recent_campaigns
from drumbeat.campaigns.planning.removal import remove_leftovers
from drumbeat.campaigns.planning.retry_links import link_retry
from drumbeat.campaigns.planning.spec_rules import file_rules
from drumbeat.campaigns.planning.staging import Staged, find_duplicates, stage
from drumbeat.campaigns.planning.template_set import check_languages, load_templates, with_recipients
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.template_shares import shares_in
from drumbeat.engine.core.campaign_template import CampaignTemplate, freeze_templates
from drumbeat.engine.errors import ConfigurationError, TryLater
from drumbeat.engine.sending.header_file_uploads import OpenUploads
from drumbeat.engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.header_files import HeaderFile, add_files


@dataclass(frozen=True, slots=True)
class Planning:
    """The planning of one new campaign."""

    url: str
    connection: Connection
    spec: CampaignSpec
    guards: Guards
    identity: Identity
    exclusions: Sequence[Exclusion]
    progress: ProgressCallback
    dry_run: bool
    open_uploads: OpenUploads
    head_digits: int | None = None
    replaces: Replaced | None = None

    async def run(self, source: OpenAudience) -> CreatedCampaign:
        require_future_end(self.guards.schedule)
        if self.guards.cap is not None:
            await self.connection.execute(statements("guards")["index_phones"])
        database = await describe_database(self.connection)
        limits_per_s = await limits_per_s_of(self.connection, self.spec.phone_number_ids, database)
        templates = await load_templates(self.connection, self.spec, database=database)
        rejects_path = self.spec.rejects or default_rejects_path(self.spec.audience_file or Path("audience"))
        with RejectFile(rejects_path, self.spec.audience_file) as rejects:
            table = await asyncio.to_thread(source.table)
            require_no_reject_list(table.header, table.name)
            filling = fill(self.spec, templates, table.header)
            staged = await self._stage(table, source, rejects, filling.rules)
            published = None if self.dry_run else rejects.publish()
            self._check_counts(staged, published)
            check_languages(self.spec, staged.unmatched)
            templates = with_recipients(filling.templates, staged.by_template)
            same_people = await recent_campaigns(self.connection, self.spec)
            heads = await self._heads(has_choice=filling.rules.choice is not None)
            if self.dry_run:
                suppressed = await self.connection.fetchval(statements("plan")["count_suppressed"])
                campaign_id, counts = 0, _counts(staged, suppressed)
            else:
                files = await self._upload(staged, filling.rules)
                ranges = self._ranges(staged, limits_per_s)
                noted = {**source.noted, **({UNMATCHED: dict(staged.unmatched)} if staged.unmatched else {})}
                columns = self._columns(templates, filling.rules.params, noted)
                campaign_id, counts = await self._freeze(columns, files, staged, ranges)
        codes, encoding = dict(rejects.counts), table.encoding
        return CreatedCampaign(
            campaign_id,
            self.spec.name,
            "draft",
            False,
            counts,
            published,
            codes,
            self.spec.phone_number_ids,
            encoding,
            dry_run=self.dry_run,
            templates=shares_in(freeze_templates(templates)),
            unmatched=staged.unmatched,
            findings=staged.findings.as_json(),
            countries=staged.counts.by_country(),
            kinds=staged.counts.by_kind(),
            same_people=same_people,
            heads=heads,
            start_at=self.guards.schedule.start_at,
        )

    async def _heads(self, *, has_choice: bool) -> list[dict[str, Any]]:
        if not self.dry_run or self.head_digits is None:
            return []
        statement = "staged_by_template_and_head" if has_choice else "staged_by_head"
        await self.connection.execute(statements("plan")["allow_hashing"])
        rows = await self.connection.fetch(statements("plan")[statement], self.head_digits)
        return [dict(row) for row in rows]

    async def _stage(
        self, table: AudienceTable, source: OpenAudience, rejects: RejectFile, rules: RowRules
    ) -> Staged:
        check = CheckSpec(table.header, table.name, rules, table.delimiter)
        has_choice = rules.choice is not None
        try:
            phone_column = check.row_check().phone_column
        except MissingPhones as error:
            await asyncio.to_thread(propose_phones, error, source)
            raise
        with closing(staged_batches(table, check)) as batches:
            staged = await stage(
                self.connection, batches, rejects, table.total_bytes, self.progress, has_choice=has_choice
            )
        staged.findings.update(table.findings)
        source.require_unchanged()
        require_known_countries(table.header, rules, staged.plain, table.name)
        await stage_exclusions(self.connection, self.exclusions, file_rules(self.spec))
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
        most = self.spec.guards.max_recipients
        if most is not None and staged.recipients > most:
            raise ConfigurationError(
                f"the audience has {staged.recipients:,} recipients, and --max-recipients allows {most:,}",
                where=name,
                remedy="check that this is the right audience, or raise --max-recipients",
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

    async def _upload(self, staged: Staged, rules: RowRules) -> list[HeaderFile]:
        """Upload the local files of the headers, and return them. The service has them then."""
        if rules.media is None or not staged.files:
            return []
        numbers = self.spec.phone_number_ids
        require_few_files(staged.files, numbers, self.spec.audience_name)
        media = rules.media
        files = await asyncio.to_thread(header_files, media.kind, media.directory, staged.files)
        await upload_files(self.connection, self.open_uploads, files, numbers, self.progress)
        return files

    async def _freeze(
        self, columns: tuple[Any, ...], files: Sequence[HeaderFile], staged: Staged, ranges: RangePlan
    ) -> tuple[int, PlanCounts]:
        if self.replaces is not None:
            await self.replaces.remove(self.connection, self.identity)
        row = await self.connection.fetchrow(statements("plan")["insert_campaign"], *columns)
        assert row is not None
        campaign_id: int = row["campaign_id"]
        if files:
            await add_files(self.connection, campaign_id, files)
        await self.connection.execute(statements("guards")["set_guards"], campaign_id, *self.guards.columns())
        cutting = cutting_of(self.guards, datetime.now(UTC), ranges)
        frozen = await freeze(
            self.connection, self.url, campaign_id, row["day"], staged, cutting, self.progress
        )
        counts = _counts(staged, frozen.suppressed, frozen.without_hours)
        if frozen.recipients != counts.recipients:
            raise RuntimeError(f"{counts.recipients} recipients were staged, {frozen.recipients} frozen")
        await self.connection.execute(statements("guards")["set_zones"], campaign_id, cutting.zones)
        await self._insert_canary(campaign_id, counts.recipients, cutting.canary_below)
        await self._finish(campaign_id, counts)
        return campaign_id, counts

    async def _finish(self, campaign_id: int, counts: PlanCounts) -> None:
        """Mark the campaign as planned, a retry together with its links.

        Raise TryLater, and leave nothing, if another retry has one of its recipients by now.
        """
        try:
            async with self.connection.transaction():
                if self.spec.retry_of is not None:
                    await link_retry(self.connection, campaign_id, self.spec.retry_of, counts.recipients)
                await self.connection.execute(
                    statements("plan")["finish_plan"],
                    campaign_id,
                    counts.audience_rows,
                    counts.rejected,
                    counts.duplicates,
                    counts.recipients,
                )
        except TryLater:
            await remove_leftovers(self.connection, campaign_id)
            raise

    async def _insert_canary(self, campaign_id: int, recipients: int, below: int) -> None:
        if (canary := self.spec.order.canary) is None:
            return
        await self.connection.execute(
            statements("plan")["insert_canary"],
            campaign_id,
            min(canary.recipients, recipients),
            below,
            canary.max_failed,
            canary.needs_approval,
            canary.minutes * 60,
        )

    def _columns(
        self, templates: Sequence[CampaignTemplate], variables: Sequence[str], noted: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Return the arguments of the statement `insert_campaign`."""
        options = {**self.identity.options, VARIABLES: list(variables)}
        return (
            self.spec.name,
            self.spec.external_id,
            self.identity.content_hash,
            {**options, NOTED: {**noted, GIVEN: dict(self.spec.given)}},
            freeze_templates(templates),
            self.spec.phone_number_ids,
            self.spec.on_unknown,
            self.guards.schedule.window_opens,
            self.guards.schedule.window_closes,
            self.guards.schedule.time_zone,
            self.guards.schedule.start_at,
            self.guards.schedule.expires_at,
            self.spec.max_failed,
            self.spec.order.priority.word,
            self.spec.order.share_percent,
            self.spec.order.pause_at_failed,
        )


def _counts(staged: Staged, suppressed: int, without_hours: int = 0) -> PlanCounts:
    return PlanCounts(
        audience_rows=staged.rows + staged.rejected,
        recipients=staged.recipients,
        rejected=staged.rejected + staged.excluded,
        duplicates=staged.duplicates,
        suppressed=suppressed,
        without_hours=without_hours,
    )


async def limits_per_s_of(connection: Connection, numbers: list[str], database: str) -> list[float]:
    """Return the limits of these numbers, in any order. Raise ConfigurationError if one is not stored."""
    rows = await connection.fetch(statements("plan")["limits_of_numbers"], numbers, DEFAULT_LIMIT_PER_S)
    limits_per_s = {row["phone_number_id"]: row["limit_per_s"] for row in rows}
    missing = sorted(set(numbers) - limits_per_s.keys())
    if not missing:
        return list(limits_per_s.values())
    known = [row["phone_number_id"] for row in await connection.fetch(statements("plan")["all_numbers"])]
    hint = f"; known are {', '.join(known[:10])}" if known else ""
    raise ConfigurationError(
        f"unknown phone number ID {', '.join(missing)}{hint}",
        where=database,
        remedy="run `drumbeat numbers sync`",
        key="number",
    )
