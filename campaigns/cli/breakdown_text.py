"""A report by a property of recipients, as a table."""

from typing import Any

from drumbeat.campaigns.duration import duration
from drumbeat.campaigns.prices import PriceTable
from drumbeat.campaigns.results.breakdown import By, Line, percentiles_s
from drumbeat.engine.core.error_codes import meaning_of
from drumbeat.engine.core.states import RecipientState

NO_KEY = "(none)"  # not attempted yet, no variant, or no code


def headings(by: By, prices: PriceTable | None) -> tuple[str, ...]:
    """Return the headings. DELIVERED includes read messages, and ACCEPTED all that were ever accepted."""
    named = (by.value.upper(), *(("MEANING",) if by is By.CODE else ()))
    counted = ("RECIPIENTS", "ACCEPTED", "DELIVERED", "READ", "REPLIED", "FAILED", "SKIPPED", "WAITING")
    return (
        *named,
        *counted,
        "DELIVERED IN",
        "READ IN",
        "BILLABLE",
        *(("COST",) if prices is not None else ()),
    )


def row(line: Line, by: By, prices: PriceTable | None) -> tuple[Any, ...]:
    """Return the cells of a line. Times are those of half and of nine tenths of the messages."""
    states = line.states
    named = (line.key or NO_KEY, *((meaning_of(line.key),) if by is By.CODE else ()))
    counted = (
        line.recipients,
        line.accepted,
        line.delivered,
        states[RecipientState.READ],
        line.replied,
        states[RecipientState.FAILED],
        states[RecipientState.SKIPPED],
        line.waiting,
    )
    figures = [f"{count:,}" for count in counted]
    billable = ", ".join(f"{category} {count:,}" for category, count in sorted(line.billable.items()))
    cost = () if prices is None else (_cost(line, prices),)
    return (*named, *figures, _times(line.delivery), _times(line.reading), billable, *cost)


def _times(steps: dict[int, int]) -> str:
    found = percentiles_s(steps)
    return "" if found is None else f"{duration(found['p50'])} / {duration(found['p90'])}"


def _cost(line: Line, prices: PriceTable) -> str:
    cost = line.cost(prices)
    parts = [f"{total:,.2f} {currency}" for currency, total in sorted(cost.totals.items())]
    parts += [f"{sum(cost.unpriced.values()):,} without a price"] if cost.unpriced else []
    return ", ".join(parts)
