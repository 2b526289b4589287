"""`drumbeat db`: show, migrate, stop and prune the database."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from drumbeat.campaigns.cli.options import DryRun, Json
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.command_text import command_text
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.campaigns.life.prune import BlockingCampaign, KeptMonth, Pruning, prune
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.status import FINAL_STATES
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.prepare_database import await_schema
from drumbeat.engine.process.embedded_postgres import start_embedded, stop_embedded
from drumbeat.engine.process.settings import load_settings
from drumbeat.engine.store.migrate import migrate as apply_migrations

BLOCKING_SHOWN = 20  # so many campaigns are named for each month

app = typer.Typer(
    name="db",
    help="Manage the database: show its URL, migrate it, stop it, drop old campaigns.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def url() -> None:
    """Print the URL of the database, for psql and backups. Start the embedded one if necessary."""
    typer.echo(_url())


@app.command()
def migrate(json: Json = False) -> None:
    """Bring the database to this version. Other commands do this by themselves if necessary."""
    url = _url()
    with database_blamed(url):
        migrations = asyncio.run(apply_migrations(url))
    applied = [f"{migration.number:04} {migration.name}" for migration in migrations]
    if json:
        print_json({"schema": 1, "applied": applied})
    else:
        typer.echo("\n".join(applied) or "nothing to do: the database is current")


@app.command()
def wait(
    within: Annotated[
        float, typer.Option(help="Seconds after which it ends with 75.", min=0, metavar="SECONDS")
    ] = 600.0,
) -> None:
    """Wait until another process has brought the database to this version. Change nothing."""
    url = _url()
    with database_blamed(url):
        asyncio.run(await_schema(url, within))


@app.command()
def stop() -> None:
    """Stop the embedded Postgres and end its sessions. The data stays. The next command starts it again."""
    settings = load_settings()
    if settings.database_url is not None:
        raise ConfigurationError(
            "DRUMBEAT_DATABASE_URL names a database that Drumbeat did not start",
            remedy="stop it with its own tools",
        )
    stopped = stop_embedded(settings.home)
    note(f"{'stopped the' if stopped else 'there is no running'} Postgres in {settings.home}")


@app.command("prune")
def prune_months(
    older_than: Annotated[
        int, typer.Option(help="Days since the last campaign of a month ended.", min=9, metavar="DAYS")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Drop whole months of recipients and outcomes whose campaigns all ended long ago. The counts stay.

    Messages that people wrote are dropped by their own age.

    A month is kept if one of its campaigns may still send or was not fully planned. The command names it.
    """
    found = with_database(lambda pool: prune(pool, older_than_days=older_than, dry_run=True))
    if (found.pruned or found.messages) and not dry_run:
        _ask(found, yes)
        found = with_database(lambda pool: prune(pool, older_than_days=older_than, dry_run=False))
    if json:
        months = [asdict(month) for month in found.pruned]
        kept = [asdict(month) for month in found.kept]
        print_json(
            {"schema": 1, "dry_run": dry_run, "months": months, "messages": found.messages, "kept": kept}
        )
        return
    for line in _lines_of(found):
        typer.echo(f"{'would drop' if dry_run else 'dropped'} {line}")
    if not (found.pruned or found.messages):
        typer.echo("nothing to prune")
    for month in found.kept:
        typer.echo("\n".join(_kept_lines(month)))


def _kept_lines(kept: KeptMonth) -> Iterator[str]:
    yield f"kept {kept.month}, because not all of its campaigns ended long enough ago:"
    yield from (f"  {found.name}: {_how_to_continue(found)}" for found in kept.campaigns[:BLOCKING_SHOWN])
    if (more := len(kept.campaigns) - BLOCKING_SHOWN) > 0:
        yield f"  and {more:,} more (--json lists them)"


def _how_to_continue(blocking: BlockingCampaign) -> str:
    if blocking.finished_at is not None and blocking.state in FINAL_STATES:
        return f"{blocking.state} on {blocking.finished_at:%Y-%m-%d}, too recently"
    if blocking.planned_at is None:
        return "its `campaign create` did not finish; repeat it, and what is left of it is removed"
    action = "resume" if blocking.state is CampaignState.PAUSED else "run"
    proceed, cancel = (command_text("campaign", word, blocking.name) for word in (action, "cancel"))
    return f"{blocking.state}; `{proceed}` continues it, `{cancel}` ends it"


def _ask(found: Pruning, yes: bool) -> None:
    if yes:
        return
    if not typer.get_text_stream("stdin").isatty():
        raise UsageError("pruning cannot be undone, and no terminal can confirm it", remedy="add --yes")
    for line in _lines_of(found):
        note(line)
    typer.confirm("Drop them? This cannot be undone.", abort=True, err=True)


def _lines_of(found: Pruning) -> Iterator[str]:
    """Give a line for each month that goes."""
    for pruned in found.pruned:
        names = pruned.campaigns
        sizes = f"{pluralise(len(names), 'campaign')} and {pluralise(pruned.recipients, 'recipient')}"
        yield f"{pruned.month} with {sizes}: {', '.join(names)}"
    if found.messages:
        yield pluralise(found.messages, "old message of a person", "old messages of people")


def _url() -> str:
    settings = load_settings()
    given = settings.database_url
    return given.get_secret_value() if given is not None else start_embedded(settings.home)
