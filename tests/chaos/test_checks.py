"""The bench's judgement on made-up evidence: each broken promise is found, and a clean run is clean."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from drumbeat.engine.core.tag import Tag, encode
from tests.chaos import schedule
from tests.chaos.checks import Evidence, Recipient, findings
from tests.chaos.message import Message

NUMBER = "1"
INSTALLATION = "abcdefgh"


def message(seq: int, *, epoch: int = 1, attempt_no: int = 1, at_s: float = 0.0) -> Message:
    tag = encode(Tag(INSTALLATION, 1, seq, attempt_no, epoch))
    return Message(f"wamid.{seq}.{attempt_no}", NUMBER, tag, at_s + seq)


def evidence(*messages: Message, states: dict[int, str] | None = None, **others: Any) -> Evidence:
    """Three recipients, all accepted unless `states` says otherwise."""
    ledger = messages or tuple(message(seq) for seq in (1, 2, 3))
    stored = {1: "accepted", 2: "accepted", 3: "accepted", **(states or {})}
    counted = {1: Counter(state for state in stored.values() if state != "pending")}
    made = Evidence(
        recipients=3,
        ledger=ledger,
        states=[Recipient(1, seq, state) for seq, state in stored.items()],
        wamids=frozenset(message.wamid for message in ledger),
        written_s={},
        range_counters=counted,
        recount=counted,
        limits_per_s={NUMBER: 1.0},
    )
    return replace(made, **others)


def test_a_clean_run_is_called_clean() -> None:
    assert findings(evidence(settled=True)) == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (evidence(message(1), message(1, attempt_no=2), message(2), message(3)), "sent twice"),
        (
            evidence(message(1), message(1, attempt_no=2), message(2), message(3), resend_declared=True),
            "without being in doubt",
        ),
        (
            evidence(
                message(1),
                message(1, attempt_no=2),
                message(2),
                message(3),
                ever_in_doubt=frozenset({(1, 1, 1)}),
            ),
            "sent twice",
        ),
        (evidence(message(1), message(2), states={3: "pending"}), "left behind"),
        (evidence(message(1), message(2), states={3: "deferred"}), "left behind"),
        (evidence(states={3: "unknown"}), "accepted and still in doubt"),
        (evidence(message(1), message(2), states={3: "unknown"}, settled=True), "in doubt after settling"),
        (evidence(message(1), message(2)), "called accepted and not in the ledger"),
        (evidence(message(1, epoch=2), message(2), message(3)), "former owner"),
        (evidence(message(1), message(2), message(3, at_s=-0.5)), "above its limit"),
        (evidence(wamids=frozenset()), "does not name"),
        (evidence(wamids=frozenset(), events_dropped=True), "does not name"),
        (evidence(message(1), message(2), states={3: "failed"}), "failed for a fault"),
        (
            evidence(message(1), message(2), states={3: "failed"}, failures_reported=True),
            "failed for a fault",
        ),
        (evidence(states={3: "failed"}), "failed for a fault"),
        (evidence(range_counters={1: Counter(accepted=2)}), "range counters differ"),
        (evidence(recipients=4), "with a state"),
        (evidence(unknown_max=11, unknown_bound=10), "above the bound"),
    ],
)
def test_a_broken_promise_is_found(made: Evidence, words: str) -> None:
    assert any(words in line for line in findings(made)), findings(made)


def test_a_stall_of_the_service_is_no_pace_too_fast() -> None:
    """Three written a second apart; what is known of the second one is only when it was taken, 0.2 s late."""
    written = {"wamid.1.1": 1.0, "wamid.3.1": 3.0}
    taken = (message(1, at_s=0.2), message(2, at_s=0.2), message(3))
    assert findings(evidence(*taken, written_s=written)) == []
    too_fast = {**written, "wamid.2.1": 2.2}
    assert any("above its limit" in line for line in findings(evidence(*taken, written_s=too_fast)))


def test_a_declared_resend_may_send_twice() -> None:
    again = message(1, attempt_no=2, at_s=9.0)
    ever_in_doubt = frozenset({(1, 1, 1)})
    made = evidence(
        message(1), message(2), message(3), again, resend_declared=True, ever_in_doubt=ever_in_doubt
    )
    assert findings(made) == []


def test_a_failure_that_the_service_reports_breaks_no_promise() -> None:
    assert findings(evidence(states={3: "failed"}, failures_reported=True)) == []


def test_a_message_whose_events_were_dropped_may_stay_nameless_if_it_was_in_doubt() -> None:
    ever_in_doubt = frozenset((1, seq, 1) for seq in (1, 2, 3))
    assert findings(evidence(wamids=frozenset(), events_dropped=True, ever_in_doubt=ever_in_doubt)) == []


def test_a_schedule_is_a_function_of_its_seed() -> None:
    makes = (
        schedule.kills,
        schedule.database,
        schedule.owner_kills,
        schedule.service,
        schedule.events,
        schedule.half_open,
        schedule.disk,
    )
    for make in makes:
        assert make(7, 2.0) == make(7, 2.0)
        assert len({make(seed, 2.0).strikes for seed in range(20)}) > 10
