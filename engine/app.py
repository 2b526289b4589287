"""Puts a sending process together: settings in, parts wired, one worker run."""

import asyncio
from collections.abc import Sequence

import structlog
from aiolimiter import AsyncLimiter

from engine.api.lanes import LaneTransport
from engine.api.resources import ManagementClient, calls_of_an_hour
from engine.api.transport import Transport
from engine.breaker import Breaker
from engine.core.connection_limit import connections_within
from engine.core.states import ReasonCode
from engine.process.disk_space import Disk, Room
from engine.process.file_descriptors import raise_limit
from engine.process.memory import keep_large_blocks, rare_collections
from engine.process.settings import ServiceSettings
from engine.sending.campaign_cache import Block, CampaignCache
from engine.sending.claim_batcher import ClaimBatcher
from engine.sending.flow_context import Shared
from engine.sending.number_sync import sync_numbers
from engine.sending.results_writer import ResultsWriter
from engine.sending.worker import RunEnd, Worker
from engine.store.database import Pool
from engine.store.installation import identify

# Connections to the database of a sending process: one for the results writer, one for the raiser, the others
# shared. Each costs Postgres 25 ms of CPU to begin; sixteen at once held up an emulator on the same core for
# a tenth of a second.
POOL_CONNECTIONS = 6

log = structlog.get_logger(__name__)


async def run_numbers(
    pool: Pool,
    service: ServiceSettings,
    *,
    phone_number_ids: Sequence[str],
    campaign_id: int | None,
    stop: asyncio.Event,
    disk: Disk | None = None,
    transport: Transport | None = None,
) -> RunEnd:
    """Send through these numbers until `stop` is set, or until the one campaign no longer runs.

    `pool`: greets each connection with `identify`, since what answers after a break may be another server.

    `campaign_id` None: every running campaign of these numbers. `disk`: where the database is, if that is on
    this machine; while it has no room, nothing is claimed. `transport`: in place of the one in the settings;
    it is closed at the end. Raises TryLater (NumberHeld) where a number of the one campaign is owned by
    another living process, and ConfigurationError for an unknown number.
    """
    async with pool.acquire() as connection:
        installation = await identify(connection)
    room, results_writer = Room(disk), ResultsWriter(pool)

    def block() -> Block | None:
        if shortage := room.shortage():
            return Block(shortage, ReasonCode.DISK_FULL)
        if problem := results_writer.problem:
            return Block(problem, ReasonCode.RESULTS_NOT_STORED)
        return None

    shared = Shared(
        pool=pool,
        service=service,
        installation=installation,
        campaign_cache=CampaignCache(service.product, campaign_id, block),
        results_writer=results_writer,
        claim_batcher=ClaimBatcher(pool),
        breaker=Breaker(),
    )
    keep_large_blocks()
    transport, calls = transport or transport_of(service), calls_of_an_hour()

    async def refresh() -> None:
        await _refresh_numbers(pool, service, calls)

    try:
        with rare_collections():
            return await Worker(shared, transport, phone_number_ids, campaign_id, refresh).run(stop)
    finally:
        await transport.close()


def transport_of(service: ServiceSettings) -> Transport:
    """A transport with as many connections as the system allows. Needs a running loop."""
    return LaneTransport(
        service.base_url,
        service.access_token.get_secret_value(),
        api_version=service.api_version,
        connections=connections_within(raise_limit()),
        proxy=service.proxy,
    )


async def _refresh_numbers(pool: Pool, service: ServiceSettings, calls: AsyncLimiter) -> None:
    if service.waba_id is None:
        log.warning("numbers_not_read", problem="DRUMBEAT_WABA_ID is not set")
        return
    client = ManagementClient(
        service.base_url,
        service.access_token.get_secret_value(),
        api_version=service.api_version,
        budget=calls,
        proxy=service.proxy,
    )
    try:
        await sync_numbers(pool, client, service.waba_id)
    finally:
        await client.close()
