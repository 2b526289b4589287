"""`drumbeat templates create` and `delete`: changes at the service."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.account.template_file import read_template_file
from drumbeat.campaigns.account.templates import create_template, delete_template
from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.cli.confirmation import confirm
from drumbeat.campaigns.cli.options import Json, Yes
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.task_runner import with_service

app = typer.Typer()


@app.command()
def create(
    file: Annotated[
        Path, typer.Argument(help="JSON file with name, language, category and components.", metavar="FILE")
    ],
    json: Json = False,
) -> None:
    """Submit a template for review. The receiver learns the result; `templates sync` reads it."""
    new = read_template_file(file)
    created = with_service(
        lambda pool, service, waba_id: create_template(pool, service, waba_id, new, actor=actor())
    )
    if json:
        print_json({"schema": 1, "name": new.name, "language": new.language, **asdict(created)})
        return
    typer.echo(f"{new.name}  {new.language}  {created.status}  {created.category}")


@app.command()
def delete(
    name: Annotated[str, typer.Argument(help="The template's name.")],
    language: Annotated[str | None, typer.Option(help="Only this language. Default: all of them.")] = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Delete a template at the service, in all its languages or in one.

    Refused while a campaign that is scheduled, running or paused needs it.
    """
    confirm(f"Delete the template {name} ({language or 'all languages'})?", yes=yes)
    deleted = with_service(
        lambda pool, service, waba_id: delete_template(pool, service, waba_id, name, language, actor=actor())
    )
    if json:
        languages = [template.language for template in deleted]
        print_json({"schema": 1, "name": name, "languages": languages})
        return
    for template in deleted:
        typer.echo(f"{template.name}  {template.language}  deleted")
