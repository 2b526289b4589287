"""`drumbeat analytics`: what the service counted and charged."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import print_json, print_rows
from drumbeat.campaigns.cli.task_runner import with_service
from drumbeat.campaigns.options.schedule import read_moment

app = typer.Typer(add_completion=False)


class Step(StrEnum):
    """The lengths of a step, as the command line names them."""

    HALF_HOUR = "half-hour"
    DAY = "day"
    MONTH = "month"


@app.command()
def analytics(
    start: Annotated[
        str | None, typer.Option("--from", help="Start: ISO 8601 with an offset. Default: 7 days ago.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", help="End: ISO 8601 with an offset. Default: now.")
    ] = None,
    step: Annotated[Step, typer.Option("--by", help="The length of a step.")] = Step.DAY,
    number: Annotated[
        list[str] | None,
        typer.Option(help="Only this number, as the service displays it; repeat for more.", metavar="PHONE"),
    ] = None,
    conversations: Annotated[
        bool, typer.Option("--conversations", help="Conversations and their cost instead of messages.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what the service counted: sent and delivered messages, or conversations and their cost."""
    from drumbeat.engine.api import Granularity  # imports aiohttp

    until = datetime.now(UTC) if end is None else read_moment("to", end)
    since = until - timedelta(days=7) if start is None else read_moment("from", start)
    span = (since, until, Granularity[step.name], tuple(number or ()))

    async def read(_: object, service: Any, waba_id: str) -> list[Any]:
        analytics = service.analytics
        asked = analytics.conversations if conversations else analytics.messages
        return list(await asked(waba_id, *span))

    points = [asdict(point) for point in with_service(read)]
    if json:
        print_json({"schema": 1, "conversations": conversations, "points": points})
        return
    columns = (
        "start",
        "end",
        *(("category", "conversations", "cost") if conversations else ("sent", "delivered")),
    )
    rows = [tuple(_cell(point[column]) for column in columns) for point in points]
    print_rows(tuple(column.upper() for column in columns), rows)


def _cell(value: Any) -> str:
    return f"{value:%Y-%m-%d %H:%MZ}" if isinstance(value, datetime) else str(value)
