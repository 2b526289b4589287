"""The cost of a campaign: the messages that the service calls billable, and their price by a table.

Law: statuses say what is billable, not what it costs. A message without such a status is not counted as free.
A recipient counts once, also with two messages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.prices import Cost, PriceTable, cost_of, sum_of
from drumbeat.campaigns.results.breakdown import Line
from drumbeat.engine.core.pricing import pricing_of


@dataclass(frozen=True, slots=True)
class Charge:
    """The billable messages of one category. `cost` is None without a table of prices."""

    category: str
    messages: int
    cost: Cost | None


@dataclass(frozen=True, slots=True)
class Spending:
    """The spending of a campaign. `free` are messages that the service does not charge for."""

    charges: tuple[Charge, ...] = ()
    free: int = 0
    cost: Cost | None = None

    @property
    def billable(self) -> int:
        return sum(charge.messages for charge in self.charges)

    def as_json(self) -> dict[str, Any]:
        cost = self.cost
        return {
            "billable": {charge.category: charge.messages for charge in self.charges},
            "free": self.free,
            "cost": None if cost is None else {name: str(total) for name, total in cost.totals.items()},
            "unpriced": None if cost is None else cost.unpriced,
        }


def spending(by_country: Iterable[Line], prices: PriceTable | None) -> Spending:
    """Return the spending by the lines of a breakdown by country, the largest category first."""
    billable: dict[str, Counter[str]] = {}
    free = 0
    for line in by_country:
        for (_, code), count in line.charged.items():
            category, is_billable = pricing_of(code)
            if is_billable:
                billable.setdefault(category, Counter())[line.key] += count
            else:
                free += count
    charges = tuple(
        Charge(category, found.total(), _cost(category, found, prices))
        for category, found in sorted(billable.items(), key=lambda item: (-item[1].total(), item[0]))
    )
    costs = [charge.cost for charge in charges if charge.cost is not None]
    return Spending(charges, free, None if prices is None else sum_of(costs))


def _cost(category: str, countries: Counter[str], prices: PriceTable | None) -> Cost | None:
    return None if prices is None else cost_of(countries, category.upper(), prices)
