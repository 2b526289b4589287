"""The assembly of a sending process: it puts the parts together and runs the worker."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from drumbeat.engine.api.call_budget import BURST, CALL_EVERY_S
from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.api.service import Service, service_of, uploading
from drumbeat.engine.api.transport import Transport
from drumbeat.engine.api.trust import trust_of
from drumbeat.engine.backoff import wait_s
from drumbeat.engine.core.connection_limit import connections_within
from drumbeat.engine.core.pace.circuit_breaker import CircuitBreaker
from drumbeat.engine.core.retry import Wait
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.core.template.changes import Definitions
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.disk_space import Disk, DiskSpaceGuard
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.file_descriptors import raise_limit
from drumbeat.engine.process.memory import keep_large_blocks, rare_collections
from drumbeat.engine.process.secret_file import SecretFile
from drumbeat.engine.process.settings import MetricsAddress, ServiceSettings
from drumbeat.engine.sending.access_token import AccessToken
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.campaign_reader import Block, CampaignReader
from drumbeat.engine.sending.claim_batcher import ClaimBatcher
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.listed_templates import read_templates
from drumbeat.engine.sending.number_sync import sync_numbers
from drumbeat.engine.sending.quotas import Quotas
from drumbeat.engine.sending.results_writer import ResultsWriter
from drumbeat.engine.sending.stop_requests import StopRequests
from drumbeat.engine.sending.template_watch import TemplateWatch
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.sending.worker import OnOwned, RunEnd, Worker, do_nothing
from drumbeat.engine.store.call_budget import SharedCallBudget
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.installation import identify

# Connections of a sending process: one for the results writer, one for the claim batcher, the others shared.
# Opening a connection costs Postgres 25 ms of CPU; sixteen at once delayed an emulator on the same core by
# 0.1 s.
POOL_CONNECTIONS = 6

SERVICE_AWAY = "the service does not answer, or answers that it fails; one message at a time probes it"

log = get_logger(__name__)


async def run_numbers(
    pool: Pool,
    service: ServiceSettings,
    *,
    phone_number_ids: Sequence[str],
    campaign_id: int | None,
    stop: asyncio.Event,
    disk: Disk | None = None,
    transport: Transport | None = None,
    timing: Timing = Timing(),
    metrics: MetricsAddress | None = None,
    on_owned: OnOwned = do_nothing,
) -> RunEnd:
    """Send through these numbers until `stop` is set, or until the one campaign no longer runs.

    `pool` must call `identify` on each new connection: after a break another server may answer. If
    `campaign_id` is None, every running campaign of these numbers is sent. `disk` is where the database keeps
    its data, if that is on this machine; while it is short of space, nothing is claimed. `transport` replaces
    the one of the settings, and is closed at the end. `timing` gives tests shorter waits. `metrics` is the
    address at which metrics and readiness are served. `on_owned` is called once the numbers are owned, before
    anything is sent. Raises NumberHeld if another living process owns a number of the one campaign, and
    ConfigurationError for an unknown number or an address that cannot be listened on.
    """
    async with pool.acquire() as connection:
        installation = await identify(connection)
    transport = transport or transport_of(service)
    token_file = SecretFile("access_token", service.access_token, service.access_token_file)
    access_token = AccessToken(token_file, transport.set_token)
    context = _context_of(pool, service, timing, installation, access_token, token_file)
    disk_space = DiskSpaceGuard(disk)
    reader = CampaignReader(
        context.campaign_cache,
        service.product,
        campaign_id,
        partial(_find_block, disk_space, context.results_writer),
        context.clock_skew,
        phone_number_ids,
        context.quotas,
        partial(_find_away, context.breaker),
    )
    keep_large_blocks()
    read_numbers = partial(_read_numbers, pool, service, token_file)
    watch = TemplateWatch(pool, partial(_read_templates, pool, service, token_file))
    worker = Worker(context, transport, reader, phone_number_ids, campaign_id, read_numbers, watch, on_owned)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(transport.close)
        if metrics is not None:
            from drumbeat.engine.sending.metrics import serving_metrics  # its library takes 50 ms to import

            await stack.enter_async_context(serving_metrics(metrics, context, worker, disk_space))
        with rare_collections():
            return await worker.run(stop)


def _context_of(
    pool: Pool,
    service: ServiceSettings,
    timing: Timing,
    installation: str,
    access_token: AccessToken,
    token_file: SecretFile,
) -> FlowContext:
    campaign_cache = CampaignCache()
    return FlowContext(
        pool=pool,
        service=service,
        timing=timing,
        installation=installation,
        campaign_cache=campaign_cache,
        results_writer=ResultsWriter(pool, timing.batch_period_s),
        claim_batcher=ClaimBatcher(pool),
        breaker=CircuitBreaker(partial(wait_s, Wait.UNREACHABLE)),
        stop_requests=StopRequests(campaign_cache),
        access_token=access_token,
        quotas=Quotas(service.quota_scope),
        open_uploads=lambda: uploading(replace(service, access_token=token_file.value)),
    )


def _find_block(disk_space: DiskSpaceGuard, results_writer: ResultsWriter) -> Block | None:
    if shortage := disk_space.blocked_reason():
        return Block(shortage, ReasonCode.DISK_FULL)
    if problem := results_writer.problem:
        return Block(problem, ReasonCode.RESULTS_NOT_STORED)
    return None


def _find_away(breaker: CircuitBreaker) -> Block | None:
    """Return that the service is away. The words are the same while it lasts: each change is stored."""
    return Block(SERVICE_AWAY, ReasonCode.SERVICE_AWAY, stops=False) if breaker.tripped else None


def transport_of(service: ServiceSettings) -> Transport:
    """Return a transport with as many connections as the system allows. Needs a running loop."""
    return LaneTransport(
        service.base_url,
        service.access_token.get_secret_value(),
        api_version=service.api_version,
        connections=connections_within(raise_limit()),
        proxy=service.proxy,
        tls=trust_of(service.ca_file),
    )


async def _read_numbers(pool: Pool, service: ServiceSettings, token_file: SecretFile) -> None:
    if service.waba_id is None:
        log.warning("numbers_not_read", problem="DRUMBEAT_WABA_ID is not set")
        return
    async with _client(pool, service, token_file) as client:
        await sync_numbers(pool, client.numbers, service.waba_id)


async def _read_templates(
    pool: Pool, service: ServiceSettings, token_file: SecretFile, names: Collection[str]
) -> Definitions:
    if service.waba_id is None:
        raise ConfigurationError("DRUMBEAT_WABA_ID is not set")
    async with _client(pool, service, token_file) as client:
        return await read_templates(pool, client.templates, service.waba_id, names)


def _client(pool: Pool, service: ServiceSettings, token_file: SecretFile) -> Service:
    """Open a client with the present token and the budget of management calls that all processes share."""
    budget = SharedCallBudget(pool, service.waba_id or "", burst=BURST, call_every_s=CALL_EVERY_S)
    return service_of(replace(service, access_token=token_file.value), budget)
