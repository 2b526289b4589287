"""The counts of a ledger: by sliding second, and people who got one recipient's message twice."""

from drumbeat.campaigns.demo.ledger_counts import SECOND_NS, LedgerCounts

FIRST_S = 1_000


def entry(at_s: float, to: str = "1", tag: str | None = None, number: str = "7") -> dict[str, object]:
    at_ns = round((FIRST_S + at_s) * SECOND_NS)
    return {"received_at_ns": at_ns, "to": to, "tag": tag, "phone_number_id": number}


def counted(*entries: dict[str, object]) -> LedgerCounts:
    counts = LedgerCounts(counts_recipients=True)
    for each in entries:
        counts.add(each)
    return counts


def test_the_fullest_second_slides() -> None:
    """Two, then three within a second that is in none of the calendar's."""
    number = counted(*map(entry, (0, 0.1, 0.9, 1.0, 1.8, 1.85, 1.899))).numbers["7"]
    assert (number.messages, number.most_in_a_second) == (7, 5)
    assert number.by_second == {0: 3, 1: 4}


def test_seconds_begin_with_the_first_message_of_all_numbers() -> None:
    counts = counted(entry(0), entry(2.5, number="8"))
    assert counts.messages == 2
    assert counts.numbers["8"].by_second == {2: 1}


def test_twice_is_the_same_recipient_of_the_same_campaign() -> None:
    """Another attempt, and another owner, are the same recipient; another campaign's range is not."""
    counts = counted(
        entry(0, "1", "abcd1234.r1.5.1.1"),
        entry(1, "1", "abcd1234.r1.5.2.9"),
        entry(2, "2", "abcd1234.r1.6.1.1"),
        entry(3, "2", "abcd1234.r2.6.1.1"),
        entry(4, "3"),
        entry(5, "3"),
        entry(6, "3"),
    )
    assert counts.twice == {"1": 2, "3": 3}
