"""`drumbeat templates`: the message templates of the account."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from campaigns.account.templates import StoredTemplate, list_templates, sync_templates, templates_named
from campaigns.cli import template_changes
from campaigns.cli.options import Json
from campaigns.cli.printing import print_json, print_rows
from campaigns.cli.task_runner import with_database, with_service
from engine.core.sanitise import sanitise

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
    """Show the text of a template in each of its languages."""
    templates = with_database(lambda pool: templates_named(pool, name))
    if json:
        print_json({"schema": 1, "templates": [asdict(template) for template in templates]})
        return
    for template in templates:
        typer.echo(
            f"{template.name}  {template.language}  {template.status}  {template.category or ''}".rstrip()
        )
        for component in template.definition.get("components") or ():
            typer.echo(f"  {_describe(component)}")


def _describe(component: dict[str, Any]) -> str:
    kind = sanitise(str(component.get("type", ""))).lower()
    buttons = component.get("buttons")
    if isinstance(buttons, list):
        return f"{kind}: " + ", ".join(sanitise(str(button.get("text", ""))) for button in buttons)
    text = str(component.get("text") or component.get("format") or "")
    return f"{kind}: " + "\n".join(map(sanitise, text.split("\n")))


def _print(templates: list[StoredTemplate], json: bool) -> None:
    if json:
        print_json({"schema": 1, "templates": [asdict(template) for template in templates]})
        return
    rows: list[tuple[Any, ...]] = [
        (template.name, template.language, template.status, template.category) for template in templates
    ]
    print_rows(("NAME", "LANGUAGE", "STATUS", "CATEGORY"), rows)
