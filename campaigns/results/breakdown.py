"""A campaign's recipients by one of their properties: states, times, replies and what the service charges."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import asyncpg

from drumbeat.campaigns.phones.countries import country_of
from drumbeat.campaigns.prices import Cost, PriceTable, cost_of, sum_of
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.template_shares import TemplateShare, shares_in
from drumbeat.engine.core.durations import percentile_s
from drumbeat.engine.core.error_codes import meaning_of
from drumbeat.engine.core.pricing import pricing_of
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

GROUP_TIMEOUT_S = 300.0  # a hundred ranges: 30 µs for each recipient in memory, more from a disk
PERCENTILES = (0.5, 0.9, 0.99)
_UNKNOWN_COUNTRY = "ZZ"
_ACCEPTED = (RecipientState.ACCEPTED, RecipientState.SENT, RecipientState.DELIVERED, RecipientState.READ)
_WAITING = (RecipientState.PENDING, RecipientState.DEFERRED, RecipientState.UNKNOWN)


class By(StrEnum):
    """The property of recipients that the lines of the report differ in."""

    STATE = "state"
    CODE = "code"
    COUNTRY = "country"
    LANGUAGE = "language"
    VARIANT = "variant"
    NUMBER = "number"
    HOUR = "hour"

    @property
    def stored(self) -> str:
        """Return the name in the statement. Language and variant are properties of the template."""
        return "template" if self in (By.LANGUAGE, By.VARIANT) else self.value


@dataclass(slots=True)
class Line:
    """The recipients of one key. `delivery` and `reading` are counted durations, see `engine.core.durations`.
    `charged` counts messages by country, or by "" if no prices are asked for, and by the code of their price.
    """

    key: str
    states: Counter[RecipientState] = field(default_factory=Counter)
    replied: int = 0
    delivery: Counter[int] = field(default_factory=Counter)
    reading: Counter[int] = field(default_factory=Counter)
    charged: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def recipients(self) -> int:
        return self.states.total()

    @property
    def accepted(self) -> int:
        """Return how many messages the service accepted that did not fail later."""
        return sum(self.states[state] for state in _ACCEPTED)

    @property
    def delivered(self) -> int:
        return self.states[RecipientState.DELIVERED] + self.states[RecipientState.READ]

    @property
    def waiting(self) -> int:
        """Return how many recipients have no final state: not sent to yet, or in doubt."""
        return sum(self.states[state] for state in _WAITING)

    @property
    def billable(self) -> Counter[str]:
        """Return how many messages the service charges for, by category."""
        return Counter(
            {category: count for (category, billable), count in self._priced().items() if billable}
        )

    @property
    def free(self) -> int:
        return sum(count for (_, billable), count in self._priced().items() if not billable)

    def _priced(self) -> Counter[tuple[str, bool]]:
        found: Counter[tuple[str, bool]] = Counter()
        for (_, code), count in self.charged.items():
            pricing = pricing_of(code)
            found[pricing.category, pricing.billable] += count
        return found

    def add(self, row: asyncpg.Record) -> None:
        """Add one group of the statement; it has one value beside the key."""
        count = row["recipients"]
        if row["state"] is not None:
            self.states[RecipientState(row["state"])] += count
        elif row["pricing"] is not None:
            country = "" if row["prefix"] is None else country_of(int(row["prefix"]))
            self.charged[country, row["pricing"]] += count
        elif row["delivery"] is not None:
            self.delivery[row["delivery"]] += count
        elif row["reading"] is not None:
            self.reading[row["reading"]] += count
        elif row["replied"]:
            self.replied += count

    def cost(self, prices: PriceTable) -> Cost:
        """Return what the billable messages cost by a table of prices."""
        by_category: dict[str, Counter[str]] = {}
        for (country, code), count in self.charged.items():
            category, billable = pricing_of(code)
            if billable:
                by_category.setdefault(category.upper(), Counter())[country] += count
        return sum_of([cost_of(countries, category, prices) for category, countries in by_category.items()])

    def as_json(self, by: By, prices: PriceTable | None) -> dict[str, Any]:
        cost = None if prices is None else self.cost(prices)
        return {
            by.value: self.key,
            **({"meaning": meaning_of(self.key)} if by is By.CODE else {}),
            "recipients": self.recipients,
            "counts": {state.value: self.states[state] for state in RecipientState},
            "replied": self.replied,
            "delivery_s": percentiles_s(self.delivery),
            "read_s": percentiles_s(self.reading),
            "billable": dict(self.billable),
            "free": self.free,
            "cost": None if cost is None else {name: str(total) for name, total in cost.totals.items()},
            "unpriced": None if cost is None else cost.unpriced,
        }


def percentiles_s(steps: Mapping[int, int]) -> dict[str, float] | None:
    """Return `{"p50": …, "p90": …, "p99": …}`; None if nothing was counted."""
    found = {f"p{100 * share:.0f}": percentile_s(steps, share) for share in PERCENTILES}
    return {name: round(value, 1) for name, value in found.items() if value is not None} or None


async def breakdown(pool: Pool, campaign_id: int, by: By, *, with_countries: bool = False) -> list[Line]:
    """Return a line for each key. With `with_countries`, messages are counted by country too, for a table of
    prices.

    Keys of states and hours keep their order; all others come by their number of recipients.
    """
    found = await breakdowns(pool, campaign_id, (by,), with_countries=with_countries)
    return found[by]


async def breakdowns(
    pool: Pool,
    campaign_id: int,
    properties: Sequence[By],
    *,
    with_countries: bool = False,
    turn: AbstractAsyncContextManager[Any] | None = None,
    note: Callable[[int], None] = lambda _: None,
) -> dict[By, list[Line]]:
    """Return the lines of several properties. Each recipient is read once for all of them.

    `turn` is entered for each group of ranges, so that several callers take turns. `note` is called with the
    number of recipients counted so far.
    """
    row = await pool.fetchrow(statements("breakdown")["campaign"], campaign_id)
    assert row is not None, "a campaign's row is never deleted once it is planned"
    templates, turn = shares_in(row["template"]), turn or nullcontext()
    found: dict[By, dict[str, Line]] = {by: {} for by in properties}
    stored = sorted({by.stored for by in properties})
    async for range_ids in range_groups(pool, campaign_id):
        arguments = range_ids, stored, row["time_zone"], with_countries
        async with turn:
            groups = await pool.fetch(statements("breakdown")["groups"], *arguments, timeout=GROUP_TIMEOUT_S)
        for by, lines in found.items():
            for group in groups:
                if group["property"] == by.stored:
                    key = _shown(by, group["key"], templates)
                    lines.setdefault(key, Line(key)).add(group)
        note(sum(line.recipients for line in found[properties[0]].values()))
    return {by: _in_order(by, lines.values()) for by, lines in found.items()}


async def range_groups(pool: Pool, campaign_id: int) -> AsyncIterator[list[int]]:
    """Give the ids of the campaign's ranges, a hundred at a time, in their order."""
    ordinal = -1
    while ranges := await pool.fetch(statements("report")["export_ranges"], campaign_id, ordinal):
        yield [row["range_id"] for row in ranges]
        ordinal = ranges[-1]["ordinal"]


def _shown(by: By, key: str, templates: Sequence[TemplateShare]) -> str:
    match by:
        case By.COUNTRY:
            return country_of(int(key)) if key else _UNKNOWN_COUNTRY
        case By.LANGUAGE:
            return templates[int(key)].language
        case By.VARIANT:
            return templates[int(key)].variant
        case _:
            return key


def _in_order(by: By, lines: Iterable[Line]) -> list[Line]:
    if by is By.STATE:
        order = {state.value: at for at, state in enumerate(RecipientState)}
        return sorted(lines, key=lambda line: order[line.key])
    if by is By.HOUR:
        return sorted(lines, key=lambda line: line.key)
    return sorted(lines, key=lambda line: (-line.recipients, line.key))
