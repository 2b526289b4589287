"""`drumbeat campaign replies`: what recipients answered."""

from typing import Annotated, BinaryIO

import typer

from drumbeat.campaigns.cli.options import CampaignName, Output
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.cli.printing import note
from drumbeat.campaigns.cli.report import planned_id
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.export_files import CsvWriter, ExportWriter, JsonLinesWriter
from drumbeat.campaigns.results.replies import COLUMNS, reply_pages
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def replies(
    name: CampaignName,
    output: Output = None,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object per line.")] = False,
) -> None:
    """Write what recipients answered, as CSV, in the order of the audience.

    An answer is a message that quotes the campaign's message, or that came within seven days after it and
    quotes nothing. If another campaign sent to the same person in that time, it shows the message too.
    """

    async def write(pool: Pool) -> int:
        campaign_id = await planned_id(pool, name)
        await require_kept(pool, campaign_id, name)
        with opened(output) as text:
            file: BinaryIO = text.buffer
            rows = 0
            with writing(output):
                writer: ExportWriter = (
                    JsonLinesWriter(file, name, COLUMNS) if json else CsvWriter(file, COLUMNS)
                )
            async for page in reply_pages(pool, campaign_id):
                with writing(output):
                    writer.write(page)
                rows += len(page)
            return rows

    rows = with_database(write)
    if output is not None:
        note(f"{pluralise(rows, 'reply', 'replies')} in {output}")
