"""Creating a campaign: everything is checked, then planned; the same asked again changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import asyncpg

from campaigns.audience.encoding import Encoding
from campaigns.audience.reader import AudienceReader, open_audience
from campaigns.audience.rejects import RejectFile, default_rejects_path, require_no_list
from campaigns.audience.staged import CheckSpec
from campaigns.audience.unchanged import Unchanged
from campaigns.audience.workers import staged_batches
from campaigns.counted import counted
from campaigns.describe_database import place
from campaigns.planning.disk_space import while_there_is_room
from campaigns.planning.freeze import freeze
from campaigns.planning.progress import STATEMENT_TIMEOUT_S, PlanCounts, ProgressCallback, no_progress
from campaigns.planning.range_size import range_size
from campaigns.planning.schedule import Schedule
from campaigns.planning.spec import AUDIENCE_CONTENT, CampaignSpec, Identity, file_sha256, identify
from campaigns.planning.staging import Staged, find_duplicates, stage
from campaigns.planning.template import CampaignTemplate, check_header, check_params, load_template
from engine.errors import ConfigurationError, TryLater, UsageError
from engine.process.disk_space import Disk
from engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from engine.store.database import Connection, close, connect
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class Created:
    """A campaign that now exists. `unchanged`: it did before, and nothing was done.

    `rejects_path`: the list of rejected and duplicate rows, if there are any; `reject_codes` counts them.
    `encoding`: as which the audience was read; None where it was not read again. `same_audience`: the other
    campaigns of the very same file, but for those that were cancelled before they sent anything.
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


async def create_campaign(
    url: str, spec: CampaignSpec, progress: ProgressCallback = no_progress, *, disk: Disk | None = None
) -> Created:
    """Plan a campaign from its audience, or find that it is planned already.

    Raises UsageError for an option, ConfigurationError for a file, template or number that does not fit or a
    name that means another campaign, TryLater while the same one is being created elsewhere. Nothing is left
    behind then, except the list of rejects where they are the reason. `disk`: where the database lies, if
    that is on this machine; TryLater where it gets too full to go on. The list of rejects, and what stands
    half planned until the same is asked again, may be left behind then.
    """
    schedule = spec.checked_schedule()
    with open_audience(spec.audience) as file:
        unchanged = Unchanged(file, str(spec.audience))
        identity = identify(spec, schedule, await asyncio.to_thread(file_sha256, file))
        connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            await _lock(connection, spec)
            known = await _known(connection, spec, identity)
            watched = while_there_is_room(disk, progress)
            planning = _Planning(url, connection, spec, schedule, identity, watched)
            created = known or await planning.run(file, unchanged)
            return replace(created, same_audience=await _same_audience(connection, identity, created))
        finally:
            await close(connection)


async def _same_audience(connection: Connection, identity: Identity, created: Created) -> list[str]:
    content = identity.options[AUDIENCE_CONTENT]
    rows = await connection.fetch(
        queries("plan")["same_audience"], AUDIENCE_CONTENT, content, created.campaign_id
    )
    return [row["name"] for row in rows]


async def _lock(connection: Connection, spec: CampaignSpec) -> None:
    keys = [f"name:{spec.name}"] + ([f"external:{spec.external_id}"] if spec.external_id else [])
    for key in keys:
        if not await connection.fetchval(queries("plan")["try_lock"], key):
            raise TryLater(f'the campaign "{spec.name}" is being created elsewhere', remedy="wait for that")


async def _known(connection: Connection, spec: CampaignSpec, identity: Identity) -> Created | None:
    """The campaign that this create means, planned; leftovers of an interrupted one are removed."""
    rows = await connection.fetch(queries("plan")["same_identity"], spec.name, spec.external_id)
    planned = []
    for row in rows:
        if row["planned_at"] is None:
            await _remove_leftovers(connection, row["campaign_id"])
        else:
            planned.append(row)
    if not planned:
        return None
    if planned[0]["content_hash"] != identity.content_hash:
        differences = "; ".join(identity.differences(planned[0]["options"]))
        raise ConfigurationError(
            f'the campaign "{planned[0]["name"]}" exists with another file or other options: {differences}',
            where=await place(connection),
            remedy="choose another name or external id, or give what was given before",
        )
    return _unchanged(planned[0])


def _unchanged(row: asyncpg.Record) -> Created:
    counts = PlanCounts(row["audience_rows"], row["recipients"], row["rejected"], row["duplicates"], None)
    return Created(row["campaign_id"], row["name"], row["state"], True, counts, None, {})


async def _remove_leftovers(connection: Connection, campaign_id: int) -> None:
    """All but the campaign first; TryLater where sessions of the interrupted create still write."""
    sql = queries("plan")
    while True:
        async with connection.transaction():
            try:
                await connection.execute(sql["seize_unplanned"], campaign_id)
            except asyncpg.LockNotAvailableError as error:
                raise TryLater("the campaign is being created elsewhere", remedy="wait for that") from error
            rows = await connection.fetch(sql["leftover_ranges"], campaign_id)
            ids = [row["range_id"] for row in rows]
            for statement in ("remove_recipients", "remove_range_counters", "remove_ranges"):
                await connection.execute(sql[statement], ids)
        if not ids:
            break
    await connection.execute(sql["remove_unplanned"], campaign_id)


@dataclass(frozen=True, slots=True)
class _Planning:
    """One create that has work to do."""

    url: str
    connection: Connection
    spec: CampaignSpec
    schedule: Schedule
    identity: Identity
    progress: ProgressCallback

    async def run(self, file: BinaryIO, unchanged: Unchanged) -> Created:
        self._check_expiry()
        database = await place(self.connection)
        limits_per_s = await _limits_per_s(self.connection, self.spec.phone_number_ids, database)
        template = await load_template(
            self.connection, self.spec.template, self.spec.language, self.spec.header_media, database=database
        )
        check_header(template)
        check_params(template.compiled(), self.spec.params)
        rejects_path = self.spec.rejects or default_rejects_path(self.spec.audience)
        with RejectFile(rejects_path, self.spec.audience) as rejects:
            reader = await asyncio.to_thread(AudienceReader, file, str(self.spec.audience))
            require_no_list(reader.header, reader.name)
            staged = await self._stage(reader, unchanged, rejects)
            published = rejects.publish()
            self._check_counts(staged, published)
            size = range_size(staged.recipients, limits_per_s)
            campaign_id, counts = await self._freeze(template, staged, size)
        codes, encoding = dict(rejects.counts), reader.encoding
        return Created(campaign_id, self.spec.name, "draft", False, counts, published, codes, encoding)

    def _check_expiry(self) -> None:
        if self.schedule.expires_at is not None and self.schedule.expires_at <= datetime.now(UTC):
            raise UsageError(
                "--expires-at has passed already", remedy="nothing would be sent; choose a later time"
            )

    async def _stage(self, reader: AudienceReader, unchanged: Unchanged, rejects: RejectFile) -> Staged:
        check = CheckSpec(
            reader.header,
            reader.name,
            self.spec.phone_column,
            tuple(self.spec.params),
            self.spec.region,
            reader.delimiter,
        )
        phone_column = check.row_check().phone_column
        with closing(staged_batches(reader, check)) as batches:
            staged = await stage(self.connection, batches, rejects, reader.total_bytes, self.progress)
        unchanged.require()
        await find_duplicates(self.connection, staged, rejects, phone_column, self.progress)
        return staged

    def _check_counts(self, staged: Staged, rejects: Path | None) -> None:
        listed = "" if rejects is None else f"see {rejects}"
        name = str(self.spec.audience)
        if self.spec.strict and staged.rejected:
            raise ConfigurationError(
                f"{counted(staged.rejected, 'row is', 'rows are')} rejected, and --strict allows none",
                where=name,
                remedy=listed,
            )
        if not staged.rows:
            rejected = f": all {staged.rejected:,} rows are rejected" if staged.rejected else ""
            problem = ": its only row is rejected" if staged.rejected == 1 else rejected
            raise ConfigurationError(f"there is nobody to send to{problem}", where=name, remedy=listed)

    async def _freeze(self, template: CampaignTemplate, staged: Staged, size: int) -> tuple[int, PlanCounts]:
        row = await self.connection.fetchrow(queries("plan")["insert_campaign"], *self._columns(template))
        assert row is not None
        campaign_id: int = row["campaign_id"]
        recipients, suppressed = await freeze(
            self.connection, self.url, campaign_id, row["day"], staged, size, self.progress
        )
        counts = PlanCounts(
            audience_rows=staged.rows + staged.rejected,
            recipients=staged.recipients,
            rejected=staged.rejected,
            duplicates=staged.duplicates,
            suppressed=suppressed,
        )
        if recipients != counts.recipients:
            raise RuntimeError(f"{counts.recipients} recipients were staged and {recipients} frozen")
        await self.connection.execute(
            queries("plan")["finish_plan"],
            campaign_id,
            counts.audience_rows,
            counts.rejected,
            counts.duplicates,
            counts.recipients,
        )
        return campaign_id, counts

    def _columns(self, template: CampaignTemplate) -> tuple[Any, ...]:
        """In the order of the statement `insert_campaign`."""
        return (
            self.spec.name,
            self.spec.external_id,
            self.identity.content_hash,
            self.identity.options,
            template.frozen(),
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
    """Of these numbers, in any order. Raises ConfigurationError for one that nobody knows."""
    rows = await connection.fetch(queries("plan")["limits_of_numbers"], numbers, DEFAULT_LIMIT_PER_S)
    limits_per_s = {row["phone_number_id"]: row["limit_per_s"] for row in rows}
    missing = sorted(set(numbers) - limits_per_s.keys())
    if not missing:
        return list(limits_per_s.values())
    known = [row["phone_number_id"] for row in await connection.fetch(queries("plan")["all_numbers"])]
    hint = f"; it has {', '.join(known[:10])}" if known else ""
    raise ConfigurationError(
        f"unknown phone number ID {', '.join(missing)}{hint}",
        where=database,
        remedy="run: drumbeat numbers sync",
    )
