"""The results of a campaign in the interface. They are counted in the background, as for the page."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from aiohttp import web
from typing_extensions import TypedDict

from drumbeat.campaigns.console.campaigns.api import named_campaign
from drumbeat.campaigns.console.campaigns.result_readings import READINGS
from drumbeat.campaigns.console.campaigns.shapes import Counts
from drumbeat.campaigns.console.web.replying import reply


class CountedSpending(TypedDict):
    """The messages that the service charges for. `billable`: messages by category. `cost`: by currency, null
    without a table of prices. `unpriced`: billable messages by country without a price.
    """

    billable: dict[str, int]
    free: int
    cost: dict[str, str] | None
    unpriced: dict[str, int] | None


class CountedResults(TypedDict):
    """The results of a campaign at the time `as_of`. `by`: the lines of `campaign report --by`, by property.
    Times have `p50`, `p90` and `p99`. `rates`: requests a second of each number, in slots of equal length
    from `begins` to `ends`.
    """

    as_of: datetime
    recipients: int
    counts: Counts
    accepted: int
    replied: int
    latest_reply_at: datetime | None
    delivery_s: dict[str, float] | None
    read_s: dict[str, float] | None
    variants: list[dict[str, Any]]
    verdicts: dict[str, str]
    by: dict[str, list[dict[str, Any]]]
    rates: dict[str, Any]
    spending: CountedSpending


class Results(TypedDict):
    """The results, if they are counted. If `results` is null, ask again. `counted`: how many recipients are
    counted so far while a count runs, else null.
    """

    counted: int | None
    results: CountedResults | None


async def show_results(request: web.Request) -> web.Response:
    campaign = await named_campaign(request)
    reading = await request.app[READINGS].look(campaign.campaign_id)
    found = None if reading.results is None else reading.results.as_json()
    return reply({"counted": reading.counted, "results": found})
