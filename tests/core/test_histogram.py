"""Counts by buckets equal a count of the values themselves."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.histogram import Histogram

BOUNDS = (1, 5, 25)


def test_a_value_on_a_bound_lies_in_its_bucket() -> None:
    histogram = Histogram(BOUNDS)
    histogram.observe([26, 5, 1, 6, 0])
    histogram.observe([])
    assert histogram.cumulative() == [2, 3, 4, 5]
    assert histogram.total == 38


@given(st.lists(st.lists(st.integers(0, 30))))
def test_batches_count_as_their_values(batches: list[list[int]]) -> None:
    histogram = Histogram(BOUNDS)
    for batch in batches:
        histogram.observe(list(batch))
    values = [value for batch in batches for value in batch]
    expected = [sum(value <= bound for value in values) for bound in BOUNDS]
    assert histogram.cumulative() == [*expected, len(values)]
    assert histogram.total == sum(values)
