"""The results of one campaign in one value: what its page and its report as a file show.

Each recipient is read once, in groups of ranges, so no statement takes long. That costs 30 µs a recipient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from drumbeat.campaigns.prices import PriceTable
from drumbeat.campaigns.results.breakdown import By, Line, breakdowns, percentiles_s
from drumbeat.campaigns.results.campaign_pages import accepted_messages
from drumbeat.campaigns.results.funnel import funnel
from drumbeat.campaigns.results.rates import RateHistory, read_rates
from drumbeat.campaigns.results.replies import campaign_reply_page
from drumbeat.campaigns.results.report import NumberReport, number_reports
from drumbeat.campaigns.results.spending import Spending, spending
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.campaigns.results.variants import VariantResult, results_json, results_of, verdicts
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.durations import STEP
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

# The rows of the tables of times: each counts the messages that took at most so long.
WITHIN_S = (1, 5, 10, 30, 60, 300, 3_600, 86_400)


@dataclass(frozen=True, slots=True)
class Times:
    """The times that messages took. `engine.core.durations` explains `steps`."""

    steps: Mapping[int, int]

    @property
    def messages(self) -> int:
        return sum(self.steps.values())

    @property
    def within(self) -> list[tuple[float, int]]:
        """Return how many messages took at most each length of time, exact within 5 %. Lengths that no
        message kept are left out, and so are those after the first that all kept.
        """
        found: list[tuple[float, int]] = []
        for seconds in WITHIN_S:
            count = sum(count for step, count in self.steps.items() if STEP ** (step + 0.5) <= seconds)
            if count:
                found.append((seconds, count))
            if count == self.messages:
                break
        return found


@dataclass(frozen=True, slots=True)
class CampaignResults:
    """The results of a campaign by a moment.

    `lines` has the recipients by each property that tells them apart; it is empty once they are pruned.
    `accepted` counts messages that the service accepted, whatever became of them. `latest_reply_at` is None
    also if many others wrote since.
    """

    read_at: datetime
    status: CampaignStatus
    template: str
    language: str
    audience_rows: int
    rejected: int
    duplicates: int
    accepted: int
    lines: Mapping[By, list[Line]]
    numbers: tuple[NumberReport, ...]
    latest_reply_at: datetime | None
    rates: RateHistory
    variants: tuple[VariantResult, ...]
    spending: Spending

    @property
    def is_pruned(self) -> bool:
        return not self.lines[By.STATE] and self.status.recipients > 0

    @property
    def replied(self) -> int:
        return sum(line.replied for line in self.lines[By.STATE])

    @property
    def delivery(self) -> Times:
        return Times(sum((line.delivery for line in self.lines[By.STATE]), Counter()))

    @property
    def reading(self) -> Times:
        return Times(sum((line.reading for line in self.lines[By.STATE]), Counter()))

    @property
    def codes(self) -> list[Line]:
        """Return how many recipients failed, by the code or the words of the reason."""
        return [line for line in self.lines[By.CODE] if line.key]

    @property
    def telling(self) -> list[By]:
        """Return the properties that have more than one value."""
        several = [By.COUNTRY, By.LANGUAGE, By.VARIANT, By.NUMBER, By.HOUR]
        return [by for by in several if len(self.lines[by]) > 1]

    def as_json(self) -> dict[str, Any]:
        return {
            "as_of": self.read_at,
            "recipients": self.status.recipients,
            "counts": {state.value: self.status.counts[state] for state in RecipientState},
            "accepted": funnel(self.status.counts, self.accepted)[RecipientState.ACCEPTED],
            "replied": self.replied,
            "latest_reply_at": self.latest_reply_at,
            "delivery_s": percentiles_s(self.delivery.steps),
            "read_s": percentiles_s(self.reading.steps),
            "variants": results_json(self.variants),
            "verdicts": verdicts(self.variants),
            "by": {by.value: [line.as_json(by, None) for line in lines] for by, lines in self.lines.items()},
            "rates": self.rates.as_json(),
            "spending": self.spending.as_json(),
        }


async def campaign_results(
    pool: Pool,
    campaign_id: int,
    prices: PriceTable | None = None,
    *,
    turn: AbstractAsyncContextManager[Any] | None = None,
    note: Callable[[int], None] = lambda _: None,
) -> CampaignResults:
    """Read all results. Raise LookupError without the campaign. `breakdowns` explains `turn` and `note`."""
    read_at, status = datetime.now(UTC), await campaign_status(pool, campaign_id)
    campaign = await pool.fetchrow(statements("report")["campaign"], campaign_id)
    assert campaign is not None, "a campaign's row is never deleted once it is planned"
    lines = await breakdowns(pool, campaign_id, tuple(By), turn=turn, note=note)
    numbers = await number_reports(pool, campaign_id)
    replies = (await campaign_reply_page(pool, campaign_id, limit=1)).replies
    return CampaignResults(
        read_at=read_at,
        status=status,
        template=campaign["template"],
        language=campaign["language"],
        audience_rows=campaign["audience_rows"],
        rejected=campaign["rejected"],
        duplicates=campaign["duplicates"],
        accepted=await accepted_messages(pool, campaign_id),
        lines=lines,
        latest_reply_at=replies[0].sent_at if replies else None,
        numbers=numbers,
        rates=await read_rates(pool, campaign_id, [number.phone_number_id for number in numbers]),
        variants=results_of(lines[By.VARIANT], status.templates),
        spending=spending(lines[By.COUNTRY], prices),
    )
