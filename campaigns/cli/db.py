"""`drumbeat db`: the database that everything else stands on."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from campaigns.cli.edge import note, print_json, with_database
from campaigns.cli.options import DryRun, Json
from campaigns.prune import PrunedMonth, prune
from engine.errors import ConfigurationError, UsageError
from engine.settings import load_settings
from engine.store.embedded import start_embedded, stop_embedded
from engine.store.migrate import migrate as apply_migrations

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
    applied = [
        f"{migration.number:04} {migration.name}" for migration in asyncio.run(apply_migrations(_url()))
    ]
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
    """Drop whole months of recipients and outcomes whose campaigns ended long ago. Their counts stay."""
    found = with_database(lambda pool: prune(pool, older_than_days=older_than, dry_run=True))
    if found and not dry_run:
        _ask(found, yes)
        found = with_database(lambda pool: prune(pool, older_than_days=older_than, dry_run=False))
    if json:
        months = [{"month": pruned.month, "campaigns": list(pruned.campaigns)} for pruned in found]
        print_json({"schema": 1, "dry_run": dry_run, "months": months})
        return
    for pruned in found:
        typer.echo(f"{'would drop' if dry_run else 'dropped'} {_describe(pruned)}")
    if not found:
        typer.echo("nothing to prune")


def _ask(found: list[PrunedMonth], yes: bool) -> None:
    if yes:
        return
    if not typer.get_text_stream("stdin").isatty():
        raise UsageError("pruning cannot be undone and there is no terminal to ask on", remedy="give --yes")
    for pruned in found:
        note(_describe(pruned))
    typer.confirm("Drop them? This cannot be undone.", abort=True, err=True)


def _describe(pruned: PrunedMonth) -> str:
    return f"{pruned.month} with {len(pruned.campaigns)} campaigns: {', '.join(pruned.campaigns)}"


def _url() -> str:
    settings = load_settings()
    given = settings.database_url
    return given.get_secret_value() if given is not None else start_embedded(settings.home)
