"""`drumbeat db`: the database that everything else stands on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from campaigns.cli.database_errors import database_blamed
from campaigns.cli.edge import note, print_json, with_database
from campaigns.cli.options import DryRun, Json
from campaigns.command_text import command
from campaigns.counted import counted
from campaigns.life.prune import Keeper, KeptMonth, PrunedMonth, prune
from campaigns.results.status import FINAL_STATES
from engine.core.states import CampaignState
from engine.errors import ConfigurationError, UsageError
from engine.process.embedded_postgres import start_embedded, stop_embedded
from engine.process.settings import load_settings
from engine.store.migrate import migrate as apply_migrations

KEEPERS_SHOWN = 20  # of a month

app = typer.Typer(
    name="db",
    help="The database: show its URL, migrate it, stop it, drop old campaigns.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def url() -> None:
    """Print the URL of the database, for psql and backups; starts the embedded one if need be."""
    typer.echo(_url())


@app.command()
def migrate(json: Json = False) -> None:
    """Bring the database to this version. Every command does so by itself when it has to."""
    url = _url()
    with database_blamed(url):
        migrations = asyncio.run(apply_migrations(url))
    applied = [f"{migration.number:04} {migration.name}" for migration in migrations]
    if json:
        print_json({"schema": 1, "applied": applied})
    else:
        typer.echo("\n".join(applied) or "nothing to do: the database is current")


@app.command()
def stop() -> None:
    """Stop the embedded Postgres, ending its sessions. Data stays; the next command starts it again."""
    settings = load_settings()
    if settings.database_url is not None:
        raise ConfigurationError(
            "DRUMBEAT_DATABASE_URL names a database that Drumbeat did not start",
            remedy="stop it by its own means",
        )
    stopped = stop_embedded(settings.home)
    note(f"stopped the Postgres of {settings.home}" if stopped else f"no Postgres runs in {settings.home}")


@app.command("prune")
def prune_months(
    older_than: Annotated[int, typer.Option(help="Days since a campaign ended.", min=9, metavar="DAYS")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Drop whole months of recipients and outcomes whose campaigns ended long ago. Their counts stay.

    A month with a campaign that may still send, or was never planned to its end, is kept, and named.
    """
    found = with_database(lambda pool: prune(pool, older_than_days=older_than, dry_run=True))
    if found.pruned and not dry_run:
        _ask(found.pruned, yes)
        found = with_database(lambda pool: prune(pool, older_than_days=older_than, dry_run=False))
    if json:
        months = [{"month": pruned.month, "campaigns": list(pruned.campaigns)} for pruned in found.pruned]
        kept = [asdict(month) for month in found.kept]
        print_json({"schema": 1, "dry_run": dry_run, "months": months, "kept": kept})
        return
    for pruned in found.pruned:
        typer.echo(f"{'would drop' if dry_run else 'dropped'} {_describe(pruned)}")
    if not found.pruned:
        typer.echo("nothing to prune")
    for month in found.kept:
        typer.echo("\n".join(_kept_lines(month)))


def _kept_lines(kept: KeptMonth) -> Iterator[str]:
    yield f"kept {kept.month}, since not all of its campaigns ended long ago:"
    yield from (f"  {keeper.name}: {_how_to_go_on(keeper)}" for keeper in kept.campaigns[:KEEPERS_SHOWN])
    if (more := len(kept.campaigns) - KEEPERS_SHOWN) > 0:
        yield f"  and {more:,} more (--json lists them)"


def _how_to_go_on(keeper: Keeper) -> str:
    if keeper.finished_at is not None and keeper.state in FINAL_STATES:
        return f"{keeper.state} only since {keeper.finished_at:%Y-%m-%d}"
    if keeper.planned_at is None:
        return "its create was killed; another `drumbeat campaign create` of that name removes what is left"
    goes_on = "resume" if keeper.state is CampaignState.PAUSED else "run"
    goes_on, cancel = (command("campaign", word, keeper.name) for word in (goes_on, "cancel"))
    return f"{keeper.state}; `{goes_on}` goes on with it, `{cancel}` ends it"


def _ask(found: tuple[PrunedMonth, ...], yes: bool) -> None:
    if yes:
        return
    if not typer.get_text_stream("stdin").isatty():
        raise UsageError("pruning cannot be undone and there is no terminal to ask on", remedy="give --yes")
    for pruned in found:
        note(_describe(pruned))
    typer.confirm("Drop them? This cannot be undone.", abort=True, err=True)


def _describe(pruned: PrunedMonth) -> str:
    return f"{pruned.month} with {counted(len(pruned.campaigns), 'campaign')}: {', '.join(pruned.campaigns)}"


def _url() -> str:
    settings = load_settings()
    given = settings.database_url
    return given.get_secret_value() if given is not None else start_embedded(settings.home)
