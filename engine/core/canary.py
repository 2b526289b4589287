"""The verdict on a canary: the first recipients of a campaign, whose statuses decide about the rest.

Law: the rest is sent only if statuses show that the canary arrived. No status is no good sign: a receiver
that is down looks like that.
"""

from dataclasses import dataclass
from enum import StrEnum

from drumbeat.engine.core.max_failed import exceeds_max_failed

# Of those who were sent to, when the wait is over. The others may have their phone switched off.
REPORTED_SHARE_MIN = 0.5


class CanaryVerdict(StrEnum):
    """SENDING: some have no attempt yet. WAITING: for statuses. SILENT: too few came in time."""

    SENDING = "sending"
    WAITING = "waiting"
    HEALTHY = "healthy"
    FAILED = "failed"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class CanaryCounts:
    """The canary's recipients by what is known of them. `unsent`: no attempt yet; `on_the_way`: status
    `sent`; `arrived`: delivered or read. The others were attempted, and have no status.
    """

    recipients: int
    unsent: int
    skipped: int
    on_the_way: int
    arrived: int
    failed: int

    @property
    def sent_to(self) -> int:
        return self.recipients - self.unsent - self.skipped

    @property
    def reported(self) -> int:
        return self.on_the_way + self.arrived + self.failed


def judge(counts: CanaryCounts, max_failed: str, waited_s: float, wait_s: float) -> CanaryVerdict:
    """`waited_s`: since nobody was left without an attempt.

    Too many failures end it at once. It is healthy as soon as all have arrived or failed, or after the wait.
    """
    if exceeds_max_failed(counts.failed, counts.recipients - counts.skipped, max_failed):
        return CanaryVerdict.FAILED
    if counts.unsent:
        return CanaryVerdict.SENDING
    if counts.arrived + counts.failed == counts.sent_to:
        return CanaryVerdict.HEALTHY
    if waited_s < wait_s:
        return CanaryVerdict.WAITING
    is_reported = counts.reported >= REPORTED_SHARE_MIN * counts.sent_to
    return CanaryVerdict.HEALTHY if is_reported else CanaryVerdict.SILENT


def in_words(counts: CanaryCounts) -> str:
    """`500 sent to, 430 arrived, 12 failed (2.4 %)`."""
    share = f" ({100 * counts.failed / counts.sent_to:.1f} %)" if counts.sent_to else ""
    return f"{counts.sent_to:,} sent to, {counts.arrived:,} arrived, {counts.failed:,} failed{share}"
