"""`drumbeat demo`: a whole campaign on this machine, with the commands that a user would give."""

import os
import time
from typing import Annotated

import typer
import uvloop

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.cli.demo_sandbox import DemoSandbox, demo_sandbox
from drumbeat.campaigns.cli.options import Seed
from drumbeat.campaigns.cli.printing import note
from drumbeat.campaigns.cli.run_progress import view_for, watched
from drumbeat.campaigns.demo.audience import PARAMS, PHONE_COLUMN, DemoAudience, write_audience
from drumbeat.campaigns.demo.check import Verdict, judge, statuses_arrived
from drumbeat.engine.process.embedded_postgres import running_url
from drumbeat.engine.store.database import open_pool

app = typer.Typer(add_completion=False)

CAMPAIGN = "spring"
TEMPLATE = ("--template", "order_shipped", "--language", "en_US")
NUMBERS = {"106540352242922": 80, "106540352242923": 1000}
ROWS, SEED = 20_000, 1
# Statuses come after half of their usual delay, so that the demo ends sooner.
SCENE = ("--status-delay", "0.5", "--undeliverable-ratio", "0.01", "--failed-ratio", "0.005")
EXIT_DISPROVED = 1


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="Rows of the audience.", min=100, max=30_000)] = ROWS,
    seed: Seed = SEED,
) -> None:
    """Send a made-up campaign to an emulated service and check its ledger. Leave nothing behind."""
    started_s = time.monotonic()
    with demo_sandbox() as sandbox:
        note("Starting Postgres, the receiver of events and the emulated service ...")
        service_url = _start(sandbox, seed)
        audience = _prepare(sandbox, rows, seed)
        console = sandbox.serve("console", "serve", "--port", "0", "--no-metrics")
        note(f"\nWatch it in a browser as long as the demo runs: {console}/campaigns/{CAMPAIGN}")
        sandbox.command("campaign", "run", CAMPAIGN, show=True)
        verdict = _wait_and_judge(sandbox, service_url)
        sandbox.command("campaign", "report", CAMPAIGN, show=True)
    _print_verdict(verdict, audience, time.monotonic() - started_s)
    raise typer.Exit(0 if verdict.proved else EXIT_DISPROVED)


def _start(sandbox: DemoSandbox, seed: int) -> str:
    """Start the receiver, then the emulated service, which needs the receiver's URL; return its URL."""
    callback = sandbox.serve("webhooks", "serve", "--port", "0")
    options = [word for number, rate in NUMBERS.items() for word in ("--number", f"{number}:{rate}")]
    scene = ["--callback", callback, "--seed", str(seed), *SCENE]
    service_url = sandbox.serve("emulator", "serve", "--port", "0", *options, *scene)
    sandbox.environment["DRUMBEAT_BASE_URL"] = service_url
    return service_url


def _prepare(sandbox: DemoSandbox, rows: int, seed: int) -> DemoAudience:
    audience = write_audience(sandbox.directory / "customers.csv", rows=rows, seed=seed)
    unsubscribed = sandbox.directory / "unsubscribed.csv"
    unsubscribed.write_text("phone\n" + "\n".join(audience.suppressed) + "\n", "utf-8")
    sandbox.command("numbers", "sync")
    sandbox.command("templates", "sync")
    sandbox.command("suppress", "import", unsubscribed.name, "--reason", "unsubscribed")
    options = [word for number in NUMBERS for word in ("--number", number)]
    params = [word for param in PARAMS for word in ("--param", param)]
    sandbox.command(
        *("campaign", "create", CAMPAIGN, *TEMPLATE, "--audience", audience.path.name),
        *("--phone-column", PHONE_COLUMN, *params, *options),
        show=True,
    )
    return audience


def _wait_and_judge(sandbox: DemoSandbox, service_url: str) -> Verdict:
    url = running_url(sandbox.home)
    assert url is not None, "the receiver's database runs as long as the sandbox"

    note("\nAll messages are sent. Waiting for their statuses ...")

    async def main() -> Verdict:
        async with open_pool(url, size=3) as pool:
            campaign_id = (await find_campaign(pool, CAMPAIGN)).campaign_id
            async with watched(pool, campaign_id, view_for(json=False, quiet=False)):
                await statuses_arrived(pool, service_url)
            return await judge(pool, service_url, campaign_id)

    return uvloop.run(main())


def _print_verdict(verdict: Verdict, audience: DemoAudience, took_s: float) -> None:
    typer.echo("")
    typer.echo(f"The campaign, compared with the service's own ledger of {verdict.messages:,} messages:")
    typer.echo(f"  sent twice {verdict.twice}, forgotten {verdict.forgotten}, in doubt {verdict.unknown}")
    sums = "every row of the file and every recipient is accounted for"
    typer.echo(f"  {sums if verdict.adds_up else 'THE COUNTS DO NOT ADD UP'}")
    typer.echo("")
    typer.echo(f"{audience.rows:,} rows took {took_s:.0f} s, set-up included. Nothing is left behind.")
    typer.echo("Next: README.md shows a first campaign of your own, ARCHITECTURE.md how Drumbeat works,")
    typer.echo(f"and `{_program()} --help` every command.")


def _program() -> str:
    """Return the program as this shell finds it, so that a person can copy the line."""
    virtual = os.environ.get("VIRTUAL_ENV")
    return "drumbeat" if virtual else ".venv/bin/drumbeat"
