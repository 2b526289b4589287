"""Creates a campaign: checks everything, then plans. The same create again changes nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg

from campaigns.audience.campaign_source import VARIABLES
from campaigns.audience.encoding import Encoding
from campaigns.audience.opening import OpenAudience
from campaigns.audience.parallel_check import staged_batches
from campaigns.audience.reader import AudienceTable
from campaigns.audience.reject_file import RejectFile, default_rejects_path, require_no_reject_list
from campaigns.audience.row_check import RowRules
from campaigns.audience.staged_batch import CheckSpec
from campaigns.describe_database import describe_database
from campaigns.planning.disk_limit import stop_when_disk_is_short
from campaigns.planning.exclusion import Exclusion, open_exclusions, stage_exclusions
from campaigns.planning.filling import fill
from campaigns.planning.freeze import freeze
from campaigns.planning.header_files import (
    header_content,
    header_files,
    require_few_files,
    upload_files,
)
from campaigns.planning.plan import STATEMENT_TIMEOUT_S, PlanCounts, ProgressCallback, no_progress
from campaigns.planning.range_size import range_size
from campaigns.planning.schedule import Schedule
from campaigns.planning.source import open_source
from campaigns.planning.spec import AUDIENCE_CONTENT, NOTED, UNMATCHED, CampaignSpec, Identity, identify
from campaigns.planning.staging import Staged, find_duplicates, stage
from campaigns.planning.template_set import check_languages, load_templates, with_recipients
from campaigns.pluralise import pluralise
from campaigns.template_shares import TemplateShare, shares_in
from engine.core.campaign_template import CampaignTemplate, freeze_templates
from engine.errors import ConfigurationError, TryLater, UsageError
from engine.process.disk_space import Disk
from engine.sending.header_file_uploads import OpenUploads, no_uploads
from engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from engine.store.database import Connection, close, connect
from engine.store.header_files import HeaderFile, add_files
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class CreatedCampaign:
    """A campaign that now exists. `unchanged`: it existed before, and nothing was done.

    `rejects_path`: the list of rejected and duplicate rows, if there are any; `reject_codes` counts them.
    `encoding`: how the audience was decoded; None if it was not read again. `same_audience`: other campaigns
    with the same file, except those cancelled before they sent anything. `dry_run`: it does not exist, its
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


async def create_campaign(
    url: str,
    spec: CampaignSpec,
    progress: ProgressCallback = no_progress,
    *,
    disk: Disk | None = None,
    dry_run: bool = False,
    open_uploads: OpenUploads = no_uploads,
) -> CreatedCampaign:
    """Plan a campaign from its audience, or find that it is planned already. `dry_run`: check everything, and
    store nothing. `open_uploads`: connects to the service if local files of headers must be uploaded.

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
        header = await asyncio.to_thread(header_content, spec)
        connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            exclusions = await open_exclusions(connection, spec.exclude, files)
            excluded = [exclusion.content for exclusion in exclusions]
            identity = identify(spec, schedule, audience_sha256, excluded, header)
            await _lock(connection, spec)
            known = await _known(connection, spec, identity, dry_run=dry_run)
            guarded = stop_when_disk_is_short(disk, progress)
            planning = _Planning(
                url, connection, spec, schedule, identity, exclusions, guarded, dry_run, open_uploads
            )
            created = known or await planning.run(source)
            return replace(created, same_audience=await _same_audience(connection, identity, created))
        finally:
            await close(connection)


async def _same_audience(connection: Connection, identity: Identity, created: CreatedCampaign) -> list[str]:
    content = identity.options[AUDIENCE_CONTENT]
    rows = await connection.fetch(
        queries("plan")["same_audience"], AUDIENCE_CONTENT, content, created.campaign_id
    )
    return [row["name"] for row in rows]


async def _lock(connection: Connection, spec: CampaignSpec) -> None:
    keys = [f"name:{spec.name}"] + ([f"external:{spec.external_id}"] if spec.external_id else [])
    for key in keys:
        if not await connection.fetchval(queries("plan")["try_lock"], key):
            raise TryLater(
                f'another process is creating the campaign "{spec.name}"', remedy="wait until it has ended"
            )


async def _known(
    connection: Connection, spec: CampaignSpec, identity: Identity, *, dry_run: bool
) -> CreatedCampaign | None:
    """The planned campaign with this name or external id, if any. Removes what an interrupted create left,
    unless it is a dry run.
    """
    rows = await connection.fetch(queries("plan")["same_identity"], spec.name, spec.external_id)
    planned = []
    for row in rows:
        if row["planned_at"] is not None:
            planned.append(row)
        elif not dry_run:
            await _remove_leftovers(connection, row["campaign_id"])
    if not planned:
        return None
    if planned[0]["content_hash"] != identity.content_hash:
        differences = "; ".join(identity.differences(planned[0]["options"]))
        raise ConfigurationError(
            f'the campaign "{planned[0]["name"]}" exists with another file or other options: {differences}',
            where=await describe_database(connection),
            remedy="use another name or external id, or repeat the original options",
        )
    return _unchanged(planned[0])


def _unchanged(row: asyncpg.Record) -> CreatedCampaign:
    counts = PlanCounts(row["audience_rows"], row["recipients"], row["rejected"], row["duplicates"], None)
    return CreatedCampaign(
        row["campaign_id"],
        row["name"],
        row["state"],
        True,
        counts,
        None,
        {},
        templates=shares_in(row["template"]),
    )


async def _remove_leftovers(connection: Connection, campaign_id: int) -> None:
    """Remove an unplanned campaign, its row last. TryLater while the interrupted create still writes."""
    sql = queries("plan")
    while True:
        async with connection.transaction():
            try:
                await connection.execute(sql["seize_unplanned"], campaign_id)
            except asyncpg.LockNotAvailableError as error:
                raise TryLater(
                    "another process is creating the campaign", remedy="wait until it has ended"
                ) from error
            rows = await connection.fetch(sql["leftover_ranges"], campaign_id)
            ids = [row["range_id"] for row in rows]
            for statement in ("remove_recipients", "remove_range_counters", "remove_ranges"):
                await connection.execute(sql[statement], ids)
        if not ids:
            break
    await connection.execute(sql["remove_unplanned"], campaign_id)


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
    open_uploads: OpenUploads

    async def run(self, source: OpenAudience) -> CreatedCampaign:
        self._check_expiry()
        database = await describe_database(self.connection)
        limits_per_s = await _limits_per_s(self.connection, self.spec.phone_number_ids, database)
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
            if self.dry_run:
                suppressed = await self.connection.fetchval(queries("plan")["count_suppressed"])
                campaign_id, counts = 0, _counts(staged, suppressed)
            else:
                files = await self._upload(staged, filling.rules)
                size = range_size(staged.recipients, limits_per_s)
                noted = {**source.noted, **({UNMATCHED: dict(staged.unmatched)} if staged.unmatched else {})}
                columns = self._columns(templates, filling.rules.params, noted)
                campaign_id, counts = await self._freeze(columns, files, staged, size)
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
        )

    def _check_expiry(self) -> None:
        if self.schedule.expires_at is not None and self.schedule.expires_at <= datetime.now(UTC):
            raise UsageError(
                "--expires-at is in the past: nothing would be sent", remedy="choose a later time"
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

    async def _upload(self, staged: Staged, rules: RowRules) -> list[HeaderFile]:
        """The local files of the headers, which the service has then."""
        if rules.media is None or not staged.files:
            return []
        numbers = self.spec.phone_number_ids
        require_few_files(staged.files, numbers, self.spec.audience_name)
        media = rules.media
        files = await asyncio.to_thread(header_files, media.kind, media.directory, staged.files)
        await upload_files(self.connection, self.open_uploads, files, numbers, self.progress)
        return files

    async def _freeze(
        self, columns: tuple[Any, ...], files: Sequence[HeaderFile], staged: Staged, size: int
    ) -> tuple[int, PlanCounts]:
        row = await self.connection.fetchrow(queries("plan")["insert_campaign"], *columns)
        assert row is not None
        campaign_id: int = row["campaign_id"]
        if files:
            await add_files(self.connection, campaign_id, files)
        frozen = await freeze(self.connection, self.url, campaign_id, row["day"], staged, size, self.progress)
        counts = _counts(staged, frozen.suppressed)
        if frozen.recipients != counts.recipients:
            raise RuntimeError(f"{counts.recipients} recipients were staged, {frozen.recipients} frozen")
        await self.connection.execute(
            queries("plan")["finish_plan"],
            campaign_id,
            counts.audience_rows,
            counts.rejected,
            counts.duplicates,
            counts.recipients,
        )
        return campaign_id, counts

    def _columns(
        self, templates: Sequence[CampaignTemplate], variables: Sequence[str], noted: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """The arguments of the statement `insert_campaign`."""
        options = {**self.identity.options, VARIABLES: list(variables)}
        return (
            self.spec.name,
            self.spec.external_id,
            self.identity.content_hash,
            {**options, **({NOTED: dict(noted)} if noted else {})},
            freeze_templates(templates),
            self.spec.phone_number_ids,
            self.spec.on_unknown,
            self.schedule.window_opens,
            self.schedule.window_closes,
            self.schedule.time_zone,
            self.schedule.start_at,
            self.schedule.expires_at,
            self.spec.max_failed,
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
