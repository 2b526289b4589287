"""`drumbeat templates`: the message templates of the account."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from drumbeat.campaigns.account.templates import (
    StoredTemplate,
    list_templates,
    sync_templates,
    templates_named,
)
from drumbeat.campaigns.cli import template_changes
from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import print_json, print_rows
from drumbeat.campaigns.cli.task_runner import with_database, with_service
from drumbeat.campaigns.cli.template_text import template_lines

app = typer.Typer(
    name="templates",
    help="Read, show, create and delete templates.",
    no_args_is_help=True,
    add_completion=False,
)
app.add_typer(template_changes.app)


@app.command()
def sync(json: Json = False) -> None:
    """Read the account's templates from the service and store them."""
    _print(
        with_service(lambda pool, service, waba_id: sync_templates(pool, service.templates, waba_id)), json
    )


@app.command("list")
def list_stored(json: Json = False) -> None:
    """Show the templates and whether they may be sent."""
    _print(with_database(list_templates), json)


@app.command()
def show(name: Annotated[str, typer.Argument(help="The template's name.")], json: Json = False) -> None:
    """Show the text of a template in each of its languages, and its placeholders in the order of --param."""
    templates = with_database(lambda pool: templates_named(pool, name))
    if json:
        print_json({"schema": 1, "templates": [asdict(template) for template in templates]})
        return
    for template in templates:
        for line in template_lines(template):
            typer.echo(line)


def _print(templates: list[StoredTemplate], json: bool) -> None:
    if json:
        print_json({"schema": 1, "templates": [asdict(template) for template in templates]})
        return
    rows: list[tuple[Any, ...]] = [
        (template.name, template.language, template.status, template.category) for template in templates
    ]
    print_rows(("NAME", "LANGUAGE", "STATUS", "CATEGORY"), rows)
