"""What a campaign cost: what the service charges for, and the amounts by a table of prices."""

from collections import Counter
from datetime import date
from decimal import Decimal

from drumbeat.campaigns.prices import Price
from drumbeat.campaigns.results.breakdown import Line
from drumbeat.campaigns.results.spending import spending
from drumbeat.engine.core.pricing import CATEGORIES

MARKETING, UTILITY = (2 * CATEGORIES.index(name) for name in ("marketing", "utility"))
BILLABLE = 1
LINES = [
    Line(
        "BR", charged=Counter({("", MARKETING + BILLABLE): 7, ("", UTILITY + BILLABLE): 2, ("", UTILITY): 4})
    ),
    Line("DE", charged=Counter({("", MARKETING + BILLABLE): 3})),
]
PRICES = {
    ("BR", "MARKETING"): Price(Decimal("0.05"), "EUR", date(2026, 1, 1)),
    ("BR", "UTILITY"): Price(Decimal("0.01"), "EUR", date(2025, 1, 1)),
}


def test_amounts_are_by_country_and_category() -> None:
    found = spending(LINES, PRICES)
    assert [(each.category, each.messages) for each in found.charges] == [("marketing", 10), ("utility", 2)]
    assert (found.billable, found.free) == (12, 4)
    assert found.cost is not None
    assert (found.cost.totals, found.cost.oldest) == ({"EUR": Decimal("0.37")}, date(2025, 1, 1))


def test_a_price_that_is_not_in_the_table_is_not_guessed() -> None:
    assert spending(LINES, PRICES).as_json() == {
        "billable": {"marketing": 10, "utility": 2},
        "free": 4,
        "cost": {"EUR": "0.37"},
        "unpriced": {"DE": 3},
    }
    assert spending(LINES, None).as_json()["cost"] is None
