"""`drumbeat demo`: the whole idea on this machine, by the commands that a user would give."""

from __future__ import annotations

import os
import time
from typing import Annotated

import typer
import uvloop

from campaigns.cli.edge import note
from campaigns.cli.live import view_for, watched
from campaigns.cli.options import Seed
from campaigns.cli.stage import Stage, demo_stage
from campaigns.demo.audience import PARAMS, PHONE_COLUMN, DemoAudience, write_audience
from campaigns.demo.check import Verdict, judge, statuses_arrived
from campaigns.life.control import find_campaign
from engine.process.embedded_postgres import running_url
from engine.store.database import open_pool

app = typer.Typer(add_completion=False)

CAMPAIGN = "spring"
TEMPLATE = ("--template", "order_shipped", "--language", "en_US")
NUMBERS = {"106540352242922": 80, "106540352242923": 1000}
ROWS, SEED = 20_000, 1
# Statuses at half of their usual delays: a demo need not wait for people to read.
SCENE = ("--status-delay", "0.5", "--undeliverable-ratio", "0.01", "--failed-ratio", "0.005")
EXIT_DISPROVED = 1


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Rows of the audience.", min=100, max=30_000)] = ROWS,
    seed: Seed = SEED,
) -> None:
    """Send a made-up campaign to an emulated service, and check its ledger. Leaves nothing behind."""
    started_s = time.monotonic()
    with demo_stage() as stage:
        note("Starting Postgres, the receiver of statuses and the emulated service ...")
        service_url = _start(stage, seed)
        audience = _prepare(stage, rows, seed)
        stage.command("campaign", "run", CAMPAIGN, show=True)
        verdict = _wait_and_judge(stage, service_url)
        stage.command("campaign", "report", CAMPAIGN, show=True)
    _tell(verdict, audience, time.monotonic() - started_s)
    raise typer.Exit(0 if verdict.proved else EXIT_DISPROVED)


def _start(stage: Stage, seed: int) -> str:
    """The receiver first, since the emulated service is told where to post; the URL of that service."""
    callback = stage.serve("webhooks", "serve", "--port", "0")
    options = [word for number, rate in NUMBERS.items() for word in ("--number", f"{number}:{rate}")]
    scene = ["--callback", callback, "--seed", str(seed), *SCENE]
    service_url = stage.serve("emulator", "serve", "--port", "0", *options, *scene)
    stage.environment["DRUMBEAT_BASE_URL"] = service_url
    return service_url


def _prepare(stage: Stage, rows: int, seed: int) -> DemoAudience:
    audience = write_audience(stage.directory / "customers.csv", rows=rows, seed=seed)
    silent = stage.directory / "unsubscribed.csv"
    silent.write_text("phone\n" + "\n".join(audience.suppressed) + "\n", "utf-8")
    stage.command("numbers", "sync")
    stage.command("templates", "sync")
    stage.command("suppress", "import", silent.name, "--reason", "unsubscribed")
    options = [word for number in NUMBERS for word in ("--number", number)]
    params = [word for param in PARAMS for word in ("--param", param)]
    stage.command(
        *("campaign", "create", CAMPAIGN, *TEMPLATE, "--audience", audience.path.name),
        *("--phone-column", PHONE_COLUMN, *params, *options),
        show=True,
    )
    return audience


def _wait_and_judge(stage: Stage, service_url: str) -> Verdict:
    url = running_url(stage.home)
    assert url is not None, "the receiver's database runs as long as the stage"

    note("\nEverything is sent. Waiting for the statuses ...")

    async def main() -> Verdict:
        async with open_pool(url, size=3) as pool:
            campaign_id = (await find_campaign(pool, CAMPAIGN)).campaign_id
            async with watched(pool, campaign_id, view_for(json=False, quiet=False)):
                await statuses_arrived(pool, service_url)
            return await judge(pool, service_url, campaign_id)

    return uvloop.run(main())


def _tell(verdict: Verdict, audience: DemoAudience, took_s: float) -> None:
    typer.echo("")
    typer.echo(f"The emulated service's own ledger, {verdict.messages:,} messages, against the campaign:")
    typer.echo(f"  sent twice {verdict.twice}, forgotten {verdict.forgotten}, unknown {verdict.unknown}")
    sums = "every row of the file and every recipient is accounted for"
    typer.echo(f"  {sums if verdict.adds_up else 'THE COUNTS DO NOT ADD UP'}")
    typer.echo("")
    typer.echo(f"{audience.rows:,} rows took {took_s:.0f} s, set-up included; nothing is left behind.")
    typer.echo("Where to look next: README.md for the first campaign of your own, ARCHITECTURE.md for how it")
    typer.echo(f"works, `{_program()} --help` for every command.")


def _program() -> str:
    """As the shell found it, so that the line can be copied."""
    virtual = os.environ.get("VIRTUAL_ENV")
    return "drumbeat" if virtual else ".venv/bin/drumbeat"
