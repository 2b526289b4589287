"""When a disk has too little free space to continue sending. Each row says why."""

import pytest

from drumbeat.engine.core.disk_space import is_short


@pytest.mark.parametrize(
    ("free", "least", "was_short", "short", "why"),
    [
        (1_000, 1_000, False, False, "exactly the limit is enough"),
        (999, 1_000, False, True, "one byte less is not enough"),
        (1_000, 1_000, True, True, "a disk that was short needs a margin"),
        (1_099, 1_000, True, True, "it needs the whole margin"),
        (1_100, 1_000, True, False, "with the whole margin, sending resumes"),
        (0, 0, False, False, "a limit of 0 never stops sending"),
        (0, 0, True, False, "a limit of 0 always resumes sending"),
    ],
)
def test_is_short(free: int, least: int, was_short: bool, short: bool, why: str) -> None:
    assert is_short(free, least, was_short=was_short) is short, why
