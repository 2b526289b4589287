"""A table of prices, given by the user, and what messages cost by it.

Law: a price that is not in the table is not guessed. Its recipients are counted as unpriced.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path

from drumbeat.engine.errors import ConfigurationError

COLUMNS = ("country", "category", "price", "currency", "date")
ANY_COUNTRY = "*"
FILE_BYTES_MAX = 1 << 20  # a row for each country and category takes a hundredth of this


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one message. `as_of` is the date of the price, as the file says."""

    amount: Decimal
    currency: str
    as_of: date


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a campaign. `totals` has a sum for each currency. `unpriced` counts, by country, recipients
    that have no price.

    `oldest` and `newest` are the dates of the prices that were used; None if none was.
    """

    category: str
    totals: dict[str, Decimal] = field(default_factory=dict)
    unpriced: dict[str, int] = field(default_factory=dict)
    oldest: date | None = None
    newest: date | None = None


PriceTable = Mapping[tuple[str, str], Price]


def cost_of(countries: Mapping[str, int], category: str, prices: PriceTable) -> Cost:
    """Return what it costs to send one message of this category to each recipient. `*` holds for countries
    without a row.
    """
    totals: dict[str, Decimal] = {}
    unpriced: dict[str, int] = {}
    dates: list[date] = []
    for country, recipients in countries.items():
        price = prices.get((country, category)) or prices.get((ANY_COUNTRY, category))
        if price is None:
            unpriced[country] = recipients
            continue
        totals[price.currency] = totals.get(price.currency, Decimal(0)) + price.amount * recipients
        dates.append(price.as_of)
    return Cost(category, totals, unpriced, min(dates, default=None), max(dates, default=None))


def sum_of(costs: Sequence[Cost]) -> Cost:
    """Return the cost of messages of several categories together."""
    totals: dict[str, Decimal] = {}
    unpriced: dict[str, int] = {}
    for cost in costs:
        for currency, total in cost.totals.items():
            totals[currency] = totals.get(currency, Decimal(0)) + total
        for country, recipients in cost.unpriced.items():
            unpriced[country] = unpriced.get(country, 0) + recipients
    return Cost(
        ", ".join(cost.category for cost in costs),
        totals,
        unpriced,
        min((cost.oldest for cost in costs if cost.oldest), default=None),
        max((cost.newest for cost in costs if cost.newest), default=None),
    )


def read_prices(path: Path) -> dict[tuple[str, str], Price]:
    """Read the table of a CSV file. A ConfigurationError names the row and the column that is wrong."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ConfigurationError("the file is larger than 1 MiB", where=str(path))
        rows = list(csv.reader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigurationError(f"the prices cannot be read: {error}", where=str(path)) from error
    if not rows or tuple(cell.strip().lower() for cell in rows[0]) != COLUMNS:
        raise ConfigurationError(
            "the prices have the wrong header",
            where=str(path),
            remedy=f"the first line must be {','.join(COLUMNS)}",
        )
    prices: dict[tuple[str, str], Price] = {}
    for line, row in enumerate(rows[1:], 2):
        if row:
            _add(prices, [cell.strip() for cell in row], f"{path}, row {line}")
    return prices


def _add(prices: dict[tuple[str, str], Price], row: list[str], where: str) -> None:
    if len(row) != len(COLUMNS):
        raise ConfigurationError(f"the row has {len(row)} cells, not {len(COLUMNS)}", where=where)
    country, category, amount, currency, as_of = row
    key = (country.upper(), category.upper())
    if key in prices:
        raise ConfigurationError(f"{country} and {category} have two prices", where=where)
    if not currency:
        raise ConfigurationError("the currency is missing", where=f"{where}, column currency")
    prices[key] = Price(_amount(amount, where), currency.upper(), _date(as_of, where))


def _amount(text: str, where: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise ConfigurationError(
            f'"{text}" is not a price', where=f"{where}, column price", remedy="write it as 0.0123"
        )
    return amount


def _date(text: str, where: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(
            f'"{text}" is not a date', where=f"{where}, column date", remedy="write it as 2026-01-31"
        ) from None
