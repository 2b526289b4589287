"""A percentile of counted durations is within 5 % of the exact one."""

from collections import Counter
from math import floor, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.durations import STEP, percentile_s


@given(st.lists(st.floats(0.01, 1e7), min_size=1, max_size=50), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_it_is_as_exact_as_promised(durations_s: list[float], share: float) -> None:
    steps = Counter(floor(log(duration_s) / log(STEP)) for duration_s in durations_s)
    exact = sorted(durations_s)[max(0, -int(-share * len(durations_s) // 1) - 1)]
    found = percentile_s(steps, share)
    assert found is not None
    assert found == pytest.approx(exact, rel=0.05)


def test_nothing_has_no_percentile() -> None:
    assert percentile_s({}, 0.5) is None
