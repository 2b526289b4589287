"""The statistics for the report and for metrics: each number's work, counted from the facts of a batch."""

import secrets
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from drumbeat.engine.core.reply_times import BUCKETS, bucket_of
from drumbeat.engine.store.facts import AttemptCounts, Fact, FactKind

LATE_US_MAX = 60_000_000  # no reply takes this long
GAP_US_MAX = 1_000_000  # the most of a pause between two attempts that counts as time spent sending
# Pairs of campaign and number whose last request is remembered. A process works on far fewer at a time.
LAST_MAX = 10_000


class AttemptStatistics:
    """The counts of one process, from its start.

    `limits_per_s` is the limit of each number that it sends with. `outcomes` counts its messages, by number
    and by the name of their outcome.
    """

    def __init__(self, cpu_s: float) -> None:
        """Start to count. `cpu_s` is the CPU seconds that the process has used so far."""
        # Both identify a batch, so that a batch that is repeated counts once.
        self._name, self._batch = secrets.token_hex(8), 0
        self._cpu_s = cpu_s
        self._last_us: dict[tuple[int, str], int] = {}  # the last request of each number for each campaign
        self._replies: dict[tuple[int, str], list[int]] = {}  # since the last batch, in buckets
        self.limits_per_s: dict[str, float] = {}
        self.outcomes: Counter[tuple[str, str]] = Counter()

    def note_reply(self, campaign_id: int, phone_number_id: str, duration_ns: int) -> None:
        """Count how long a reply took. A part of the replies is enough."""
        key = (campaign_id, phone_number_id)
        if (counts := self._replies.get(key)) is None:
            counts = self._replies[key] = [0] * BUCKETS
        counts[bucket_of(duration_ns)] += 1

    def count(self, batch: Sequence[Fact], cpu_s: float) -> list[AttemptCounts]:
        """Return the work of each number for each campaign, by the requests of a batch.

        `cpu_s` is the CPU seconds that the process has used so far.
        """
        self._batch += 1
        spent_s, self._cpu_s = cpu_s - self._cpu_s, cpu_s
        written: dict[tuple[int, str], list[Fact]] = {}
        for fact in batch:
            if fact.attempted_us is not None:
                written.setdefault((fact.campaign_id, fact.phone_number_id), []).append(fact)
            else:
                self.outcomes[fact.phone_number_id, _outcome_name(fact)] += 1
        total = sum(map(len, written.values()))
        return [self._count_pair(key, facts, spent_s * len(facts) / total) for key, facts in written.items()]

    def _count_pair(self, key: tuple[int, str], facts: list[Fact], cpu_s: float) -> AttemptCounts:
        _, _, _, _, _, _, kinds, _, _, _, times_us, _, _, _, throttled = zip(*facts, strict=True)
        accepted = kinds.count(FactKind.ACCEPTED)
        self.outcomes[key[1], "accepted"] += accepted
        if accepted < len(facts):
            self.outcomes.update(
                (key[1], _outcome_name(fact)) for fact in facts if fact.kind is not FactKind.ACCEPTED
            )
        return AttemptCounts(
            *key,
            self.limits_per_s.get(key[1], 0.0),
            len(facts),
            accepted=accepted,
            throttled=throttled.count(True),
            active_s=self._active_us(key, times_us) / 1e6,
            cpu_s=cpu_s,
            first_attempt_us=min(times_us),
            last_attempt_us=max(times_us),
            results_writer=self._name,
            batch=self._batch,
            reply_counts=self._replies.pop(key, None),
        )

    def _active_us(self, key: tuple[int, str], times_us: Sequence[int]) -> int:
        last_us = max(times_us)
        before_us = self._last_us.pop(key, min(times_us))
        if before_us - last_us > LATE_US_MAX:
            before_us = min(times_us)  # the wall clock was set back
        self._last_us[key] = max(before_us, last_us)  # at the end again, so that the first is the oldest
        if len(self._last_us) > LAST_MAX:
            del self._last_us[next(iter(self._last_us))]
        return active_us(before_us, times_us)


def _outcome_name(fact: Fact) -> str:
    """Return the name of the outcome of a message that was not accepted."""
    if fact.throttled:
        return "throttled"
    if fact.kind is FactKind.DEFERRED and fact.attempted_us is None:
        return "not_sent"
    return "in_doubt" if fact.kind is FactKind.UNKNOWN else str(fact.kind)


def active_us(before_us: int, times_us: Sequence[int]) -> int:
    """Return the microseconds spent sending since `before_us`, by the times of requests in any order."""
    if (span_us := max(times_us) - before_us) <= GAP_US_MAX:
        return max(0, span_us)  # no pause; or nothing newer, as after a step of the clock
    sorted_us = [before_us, *sorted(time_us for time_us in times_us if time_us > before_us)]
    return sum(min(later - earlier, GAP_US_MAX) for earlier, later in pairwise(sorted_us))
