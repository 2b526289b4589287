"""When a list looks too old to send to."""

import pytest

from drumbeat.engine.core.old_list import ListHealth


@pytest.mark.parametrize(
    ("health", "looks_old"),
    [
        (ListHealth(sent_to=300, failed=100, sampled=100, undeliverable=100), True),
        (ListHealth(sent_to=334, failed=100, sampled=100, undeliverable=100), False),
        (ListHealth(sent_to=99, failed=99, sampled=99, undeliverable=99), False),
        (ListHealth(sent_to=200, failed=150, sampled=150, undeliverable=50), False),
        (ListHealth(sent_to=1_000_000, failed=400_000, sampled=1_000, undeliverable=900), True),
        (ListHealth(sent_to=1_000_000, failed=400_000, sampled=1_000, undeliverable=700), False),
        (ListHealth(sent_to=1_000, failed=400, sampled=0, undeliverable=0), False),
    ],
)
def test_a_third_of_at_least_a_hundred_looks_old(health: ListHealth, looks_old: bool) -> None:
    assert health.looks_old is looks_old


def test_the_words_have_the_share() -> None:
    words = ListHealth(sent_to=1_000_000, failed=400_000, sampled=1_000, undeliverable=900).in_words()
    assert words.startswith("about 360,000 of 1,000,000 people sent to (36 %)")
