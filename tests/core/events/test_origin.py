"""Which events may change anything of ours."""

import pytest

from drumbeat.engine.core.events.origin import Origin, Ours, origin_of

NEITHER_KNOWN = Ours()
ACCOUNT_KNOWN = Ours(frozenset({"1"}))
NUMBERS_KNOWN = Ours(numbers=frozenset({"10", "11"}))
BOTH_KNOWN = Ours(frozenset({"1"}), frozenset({"10", "11"}))


@pytest.mark.parametrize(
    ("account", "number", "ours", "origin"),
    [
        ("1", "10", BOTH_KNOWN, Origin.OURS),
        (None, "10", BOTH_KNOWN, Origin.OURS),  # the interface names no account
        ("1", None, BOTH_KNOWN, Origin.OURS),  # a template belongs to no number
        (None, None, BOTH_KNOWN, Origin.OURS),
        ("2", "10", BOTH_KNOWN, Origin.OTHER_ACCOUNT),
        ("2", None, BOTH_KNOWN, Origin.OTHER_ACCOUNT),
        ("2", "20", BOTH_KNOWN, Origin.OTHER_ACCOUNT),
        ("1", "20", BOTH_KNOWN, Origin.UNKNOWN_NUMBER),  # perhaps registered a minute ago
        (None, "20", BOTH_KNOWN, Origin.UNKNOWN_NUMBER),
        ("1", "20", ACCOUNT_KNOWN, Origin.OURS),  # the numbers were never read from the service
        ("2", "20", ACCOUNT_KNOWN, Origin.OTHER_ACCOUNT),
        ("2", "10", NUMBERS_KNOWN, Origin.OURS),  # the settings name no account
        ("2", "20", NUMBERS_KNOWN, Origin.UNKNOWN_NUMBER),
        ("2", "20", NEITHER_KNOWN, Origin.OURS),
    ],
)
def test_the_account_decides_and_then_the_number(
    account: str | None, number: str | None, ours: Ours, origin: Origin
) -> None:
    assert origin_of(account, number, ours) is origin
