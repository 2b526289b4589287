"""The judge of the pace: it finds each second above a limit, and does not take wrong clocks or a stall for one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.tag import Tag, encode
from tests.chaos.message import Message, Owner
from tests.chaos.pace import Stamps, crowded_seconds

NUMBER, LIMIT = "1", 20
OLD_OWNER, NEW_OWNER = 1, 2
QUICKEST_WAY_S = 0.0003
CLOCKS: dict[Owner, str] = {(NUMBER, OLD_OWNER): "north", (NUMBER, NEW_OWNER): "west"}
EVEN_S = [place / LIMIT for place in range(3 * LIMIT)]


def sent_s(
    written_s: Sequence[float],
    *,
    moves_at: int = LIMIT,
    clock_off_s: tuple[float, float] = (0.0, 0.0),
    ways_s: Sequence[float] = (QUICKEST_WAY_S,),
    unstamped: frozenset[int] = frozenset(),
    clocks: dict[Owner, str] = CLOCKS,
) -> int:
    """How many messages are above the limit. The number moves to a new owner at a place, and each clock is off."""
    ledger, stamps = [], {}
    for place, at_s in enumerate(written_s):
        epoch = OLD_OWNER if place < moves_at else NEW_OWNER
        tag = encode(Tag("abcdefgh", 1, place + 1, 1, epoch))
        ledger.append(Message(f"wamid.{place}", NUMBER, tag, at_s + ways_s[place % len(ways_s)]))
        if place not in unstamped:
            stamps[f"wamid.{place}"] = at_s + clock_off_s[epoch - OLD_OWNER]
    ledger.sort(key=lambda each: each.received_s)
    found = crowded_seconds(ledger, Stamps(stamps, clocks), {NUMBER: float(LIMIT)})
    return len(found.get(NUMBER, []))


def test_a_number_at_its_limit_is_not_above_it() -> None:
    assert sent_s(EVEN_S) == 0


def test_one_more_in_a_second_is_found_whoever_wrote_it_and_stamped_or_not() -> None:
    one_more_s = sorted([*EVEN_S, 1.01])
    for moves_at in (LIMIT - 3, LIMIT, LIMIT + 1, len(one_more_s)):
        for unstamped in (frozenset[int](), frozenset({LIMIT + 1})):
            assert sent_s(one_more_s, moves_at=moves_at, unstamped=unstamped) > 0
            assert sent_s(one_more_s, moves_at=moves_at, unstamped=unstamped, clock_off_s=(0.016, -0.02)) > 0


def test_stamps_of_clocks_that_are_off_are_not_mixed() -> None:
    """The former owner's stamps are late by 16 ms, and a few messages have none: on one clock nothing is too close."""
    mixed = {"clock_off_s": (0.016, 0.0), "unstamped": frozenset({2, 30})}
    assert sent_s(EVEN_S, **mixed) == 0  # type: ignore[arg-type]
    assert sent_s(EVEN_S, **mixed, clocks={}) > 0, "as one clock, they are"  # type: ignore[arg-type]


def test_messages_that_the_service_reads_together_were_not_written_together() -> None:
    stalled_s = [
        max(0.0, 1.2 - at_s) + QUICKEST_WAY_S if 1.0 <= at_s < 1.2 else QUICKEST_WAY_S for at_s in EVEN_S
    ]
    assert sent_s(EVEN_S, ways_s=stalled_s) == 0


@given(
    st.tuples(st.floats(-0.02, 0.02), st.floats(-0.02, 0.02)),
    st.integers(1, len(EVEN_S) - 1),
    st.lists(st.floats(QUICKEST_WAY_S, 0.06), min_size=1, max_size=7),
    st.frozensets(st.integers(1, len(EVEN_S) - 2)),
)
def test_a_right_pace_is_never_called_too_fast(
    clock_off_s: tuple[float, float], moves_at: int, ways_s: list[float], unstamped: frozenset[int]
) -> None:
    """Whatever the clocks, the ways and the missing stamps are. One stamped message of each clock is quick."""
    ways = [ways_s[place % len(ways_s)] for place in range(len(EVEN_S))]
    ways[0] = ways[moves_at] = QUICKEST_WAY_S
    unstamped -= {moves_at}
    assert sent_s(EVEN_S, moves_at=moves_at, clock_off_s=clock_off_s, ways_s=ways, unstamped=unstamped) == 0
