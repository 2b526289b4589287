"""When a disk is too full to go on sending: in figures, one sentence a row."""

import pytest

from engine.core.disk_space import is_short


@pytest.mark.parametrize(
    ("free", "least", "was_short", "short", "why"),
    [
        (1_000, 1_000, False, False, "exactly enough is enough"),
        (999, 1_000, False, True, "one byte less is not"),
        (1_000, 1_000, True, True, "what was short needs a margin"),
        (1_099, 1_000, True, True, "all of it"),
        (1_100, 1_000, True, False, "and then there is room again"),
        (0, 0, False, False, "who asks for nothing is never stopped"),
        (0, 0, True, False, "and always released"),
    ],
)
def test_shortage(free: int, least: int, was_short: bool, short: bool, why: str) -> None:
    assert is_short(free, least, was_short=was_short) is short, why
