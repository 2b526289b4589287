"""The receiver and the reconciler in one process: started, announced, drained and stopped together."""

import asyncio
from collections.abc import Callable, Collection

from drumbeat.engine.process.probes import Exposition, Probes, Problem
from drumbeat.engine.process.secret_file import REREAD_S
from drumbeat.engine.process.settings import INSTALLATION
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.metrics import DatabaseMetrics
from drumbeat.engine.store.overview import OverviewReader
from drumbeat.engine.store.statement_times import STATEMENT_TIMES
from drumbeat.engine.webhooks.intake import Intake
from drumbeat.engine.webhooks.metrics import Metrics
from drumbeat.engine.webhooks.receiver import CALLBACK_PATH, Receiver, Secrets, listening
from drumbeat.engine.webhooks.reconciler import Intervals, Reconciler
from drumbeat.http_server.limits import Limits

# two commits, health, statuses, account events, unsettled ones, policies, events for programs, one spare
POOL_CONNECTIONS = 9


async def serve(
    pool: Pool,
    secrets: Secrets,
    product: str,
    *,
    host: str,
    port: int,
    stop: asyncio.Event,
    on_listening: Callable[[str], None],
    limits: Limits | None = None,
    intervals: Intervals | None = None,
    accounts: Collection[str] = (),
    reread: Callable[[], Secrets | None] = lambda: None,
    path: str = CALLBACK_PATH,
    installation: str = INSTALLATION,
) -> None:
    """Receive and reconcile until `stop` is set, then drain. `on_listening` gets the callback's URL once.

    The callback is at `path`. `accounts` are the ids of our business accounts; empty if they are not known.
    `reread` returns the secrets if they were replaced; it is called every second.

    Raises ConfigurationError if the process cannot listen on host and port. After a stop it returns within
    seconds, and everything that was answered with 200 is committed. A bug in any part ends it and is raised.
    """
    metrics = Metrics()
    committed = asyncio.Event()
    intake = Intake(pool, metrics, product, committed=committed, accounts=accounts)
    receiver = Receiver(
        intake, metrics, probes_of(pool, intake, metrics, installation), secrets, limits, path
    )
    metrics.refusals = receiver.refusals.counts
    reconciler = Reconciler(pool, metrics, committed, intervals, product=product, accounts=accounts)
    async with listening(receiver, intake, host, port, pool=pool, on_bug=stop.set) as url:
        on_listening(url)
        following = asyncio.create_task(_follow_secrets(receiver, reread))
        following.add_done_callback(lambda _: stop.set())
        try:
            await reconciler.run(stop)
            if following.done():
                following.result()  # raises the bug that ended it
        finally:
            following.cancel()


async def _follow_secrets(receiver: Receiver, reread: Callable[[], Secrets | None]) -> None:
    while True:
        await asyncio.sleep(REREAD_S)
        if (secrets := reread()) is not None:
            receiver.use(secrets)


def probes_of(pool: Pool, intake: Intake, metrics: Metrics, installation: str = INSTALLATION) -> Probes:
    """Return readiness and metrics of the receiver."""
    reader = OverviewReader(pool)
    database = DatabaseMetrics(STATEMENT_TIMES, reader, lambda: intake.healthy)

    def find_problems() -> list[Problem]:
        return [] if intake.healthy else [Problem("database_away", "the database does not answer")]

    return Probes(Exposition((metrics, database), reader.refresh, installation), find_problems)
