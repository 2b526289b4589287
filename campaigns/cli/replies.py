"""`drumbeat campaign replies`: what recipients answered."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, BinaryIO

import typer

from campaigns.cli.options import CampaignName, Output
from campaigns.cli.output import opened, writing
from campaigns.cli.printing import note
from campaigns.cli.report import planned_id
from campaigns.cli.task_runner import with_database
from campaigns.pluralise import pluralise
from campaigns.results.breakdown import GROUP_TIMEOUT_S, range_groups
from campaigns.results.export import phone_text, require_kept
from campaigns.results.export_files import CsvWriter, ExportWriter, JsonLinesWriter
from campaigns.results.reply_text import reply_text
from engine.store.database import Pool
from engine.store.queries import queries

COLUMNS = ("phone", "sent_at", "type", "text", "quotes", "wamid", "phone_number_id")

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


async def reply_pages(pool: Pool, campaign_id: int) -> AsyncIterator[list[list[Any]]]:
    """Pages of answers, a value for each column."""
    async for range_ids in range_groups(pool, campaign_id):
        found = await pool.fetch(queries("breakdown")["replies"], range_ids, timeout=GROUP_TIMEOUT_S)
        yield [_values(dict(row)) for row in found]


def _values(row: dict[str, Any]) -> list[Any]:
    context = row["body"].get("context")
    quotes = context.get("id") if isinstance(context, dict) else None
    shown = {**row, "phone": phone_text(row["phone"]), "text": reply_text(row["body"]), "quotes": quotes}
    return [shown[column] for column in COLUMNS]
