"""What a status says of its price is one small number, and comes back from it."""

import pytest

from drumbeat.engine.core.pricing import CATEGORIES, Pricing, pricing_code, pricing_of


@pytest.mark.parametrize("billable", [True, False])
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_known_price_comes_back(category: str, billable: bool) -> None:
    code = pricing_code({"category": category, "billable": billable, "pricing_model": "PMP"})
    assert code is not None
    assert 0 <= code < 2**15
    assert pricing_of(code) == Pricing(category, billable)


def test_a_new_category_keeps_whether_it_is_billable() -> None:
    code = pricing_code({"category": "from next year", "billable": True})
    assert code is not None
    assert pricing_of(code) == Pricing("other", billable=True)


@pytest.mark.parametrize(
    ("kind", "billable"),
    [("regular", True), ("free_customer_service", False), ("free_entry_point", False), ("FREE_of_next_year", False),
     ("a new word", True)],
)  # fmt: skip
@pytest.mark.parametrize("withdrawn", [{}, {"billable": None}])
def test_the_type_says_what_is_billable_where_nothing_else_does(
    kind: str, billable: bool, withdrawn: dict[str, None]
) -> None:
    code = pricing_code({"category": "marketing", "type": kind, **withdrawn})
    assert code is not None
    assert pricing_of(code) == Pricing("marketing", billable)


def test_billable_counts_before_the_type() -> None:
    code = pricing_code({"category": "utility", "type": "regular", "billable": False})
    assert code is not None
    assert pricing_of(code) == Pricing("utility", billable=False)


@pytest.mark.parametrize(
    "said",
    [
        None,
        "marketing",
        [],
        {},
        {"category": "service"},
        {"category": {}, "billable": True},
        {"category": "service", "type": ""},
        {"category": "service", "type": 7},
        {"type": "regular"},
    ],
)
def test_what_cannot_be_read_says_nothing(said: object) -> None:
    assert pricing_code(said) is None


def test_a_number_of_a_later_version_is_another_category() -> None:
    assert pricing_of(1001) == Pricing("other", billable=True)
