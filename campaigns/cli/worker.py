"""`drumbeat worker`: send every running campaign through some numbers until stopped."""

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from drumbeat.campaigns.account.numbers import BusinessNumber, list_numbers
from drumbeat.campaigns.cli.options import MetricsHost, Quiet
from drumbeat.campaigns.cli.signals import stop_on_signals
from drumbeat.campaigns.cli.supervisor import stop_with_parent, supervise
from drumbeat.campaigns.cli.task_runner import with_database, with_settings
from drumbeat.campaigns.describe_database import describe_database
from drumbeat.campaigns.life.run import CUT_SHORT
from drumbeat.engine.app import POOL_CONNECTIONS, run_numbers
from drumbeat.engine.errors import ConfigurationError, TryLater, Unreachable
from drumbeat.engine.notifications.notifier import notifying
from drumbeat.engine.process.settings import MetricsAddress, Settings, load_settings
from drumbeat.engine.process.telemetry import quieten
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def worker(
    number: Annotated[
        list[str] | None, typer.Option(help="Phone number ID; repeat for more. Default: all.", metavar="PNID")
    ] = None,
    processes: Annotated[
        int, typer.Option(help="Number of processes that share the numbers.", min=1, max=64)
    ] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Port of /metrics, /livez and /readyz, the first of several processes; "
            "0 picks a free one. Default: 9090.",
            min=0,
            max=65535,
        ),
    ] = None,
    metrics_host: MetricsHost = None,
    no_metrics: Annotated[bool, typer.Option("--no-metrics", help="Serve no metrics.")] = False,
    quiet: Quiet = False,
    parent: Annotated[int | None, typer.Option(help="End when this process ends.", hidden=True)] = None,
) -> None:
    """Send every running campaign through these numbers. Ctrl-C or SIGTERM stops it cleanly.

    With --processes, a process that ends by itself is restarted. The waits grow while it keeps ending. Each
    serves metrics on a port of its own: 9090, 9091 and so on.

    A new access token in the file of DRUMBEAT_ACCESS_TOKEN_FILE needs no restart.
    """
    if quiet:
        quieten()
    settings = load_settings(metrics_port=metrics_port, metrics_host=metrics_host)
    settings.notifications()  # a missing setting ends the command here, not each of its processes
    metrics = None if no_metrics else settings.metrics_at(settings.metrics_port)
    numbers = with_database(lambda pool: _chosen(pool, number))
    if processes == 1:
        raise typer.Exit(_work([chosen.phone_number_id for chosen in numbers], metrics, parent))
    parts = enumerate(shares(numbers, processes))
    common = ["--quiet"] if quiet else []
    raise typer.Exit(
        supervise([_command(part, _metrics_options(metrics, nth) + common) for nth, part in parts])
    )


def shares(numbers: Sequence[BusinessNumber], processes: int) -> list[list[str]]:
    """Divide numbers among processes by their limits, so that each process has about the same to send."""
    loads = [0.0] * min(processes, len(numbers))
    parts: list[list[str]] = [[] for _ in loads]
    for number in sorted(numbers, key=lambda candidate: -candidate.limit_per_s):
        lightest = loads.index(min(loads))
        loads[lightest] += number.limit_per_s
        parts[lightest].append(number.phone_number_id)
    return parts


async def _chosen(pool: Pool, wanted: list[str] | None) -> list[BusinessNumber]:
    known = await list_numbers(pool)
    chosen = known if wanted is None else [number for number in known if number.phone_number_id in wanted]
    missing = set(wanted or ()) - {number.phone_number_id for number in chosen}
    remedy = "run `drumbeat numbers sync`"
    if missing:
        what = f"there is no number {', '.join(sorted(missing))}"
        raise ConfigurationError(what, where=await describe_database(pool), remedy=remedy)
    if not chosen:  # the first sync may still run: a service manager tries again
        raise TryLater("no number is stored", where=await describe_database(pool), remedy=remedy)
    return chosen


def _work(phone_number_ids: list[str], metrics: MetricsAddress | None, parent: int | None) -> int:
    async def main(pool: Pool, settings: Settings) -> int:
        service, notifications = settings.service(), settings.notifications()
        with stop_on_signals() as stop:
            watch = asyncio.create_task(stop_with_parent(parent, stop.event)) if parent else None
            try:
                async with notifying(pool, notifications, stop.event):
                    end = await run_numbers(
                        pool,
                        service,
                        phone_number_ids=phone_number_ids,
                        campaign_id=None,
                        stop=stop.event,
                        disk=settings.disk(),
                        metrics=metrics,
                    )
            finally:
                if watch is not None:
                    watch.cancel()
            if not end.drained:
                raise Unreachable(CUT_SHORT, remedy="start it again; statuses settle the recipients in doubt")
            return stop.exit_code

    return with_settings(main, size=POOL_CONNECTIONS, by_key=True)


def _command(part: list[str], options: list[str]) -> list[str]:
    numbers = [word for phone_number_id in part for word in ("--number", phone_number_id)]
    parent = ["--parent", str(os.getpid())]
    return [sys.executable, "-m", "drumbeat.campaigns.cli", "worker", *numbers, *parent, *options]


def _metrics_options(metrics: MetricsAddress | None, nth: int) -> list[str]:
    """Return the options of the nth process, from 0. The ports of several processes follow each other."""
    if metrics is None:
        return ["--no-metrics"]
    port = metrics.port + nth if metrics.port else 0
    return ["--metrics-host", metrics.host, "--metrics-port", str(port)]
