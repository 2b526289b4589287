"""`drumbeat campaign preview`: a message of the campaign as its reader will see it."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.cli.options import CampaignName, Json
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.preview.recipient import Choice, choose_recipient, preview_json
from drumbeat.campaigns.template_shares import template_text
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.core.template.rendering import text_lines

app = typer.Typer(add_completion=False)

Row = Annotated[
    int | None, typer.Option(help="The recipient's line in the audience file.", metavar="N", min=1)
]


@app.command()
def preview(
    name: CampaignName,
    row: Row = None,
    phone: Annotated[
        str | None, typer.Option(help="The recipient's phone, in any form.", metavar="PHONE")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page that opens offline to this file.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Show the message of one recipient as it will be read: with this recipient's values. Send nothing.

    Without --row and --phone, it is the first recipient. The template is the one that the campaign keeps.
    """
    choice = Choice(row, phone)
    chosen = with_database(lambda pool: choose_recipient(pool, name, choice))
    if html is not None:
        from drumbeat.campaigns.preview.page import page_of  # imports jinja2, which only a page needs

        with opened(html) as file, writing(html):
            file.write(page_of(chosen))
        note(f"page written to {html}")
    if json:
        print_json(preview_json(chosen))
        return
    note(f"to +{chosen.phone}, row {chosen.row}, {template_text(chosen.template)}")
    if chosen.skip_reason:
        note(f"nothing is sent to this recipient: {chosen.skip_reason}")
    for line in text_lines(chosen.rendered()):
        typer.echo(sanitise(line))
