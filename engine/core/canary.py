"""The verdict on a canary: the first recipients of a campaign, whose statuses decide about the rest.

Law: the rest is sent only if statuses show that the canary arrived. Silence is no good sign: a receiver that
is down causes it too.
"""

from dataclasses import dataclass
from enum import StrEnum

from drumbeat.engine.core.max_failed import exceeds_max_failed

# The share of those who were sent to that must have a status when the wait is over. The phones of the others
# may be switched off.
REPORTED_SHARE_MIN = 0.5


class CanaryVerdict(StrEnum):
    """The verdict. SENDING: some recipients have no attempt yet. WAITING: statuses may still come. SILENT:
    too few came in time.
    """

    SENDING = "sending"
    WAITING = "waiting"
    HEALTHY = "healthy"
    FAILED = "failed"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class CanaryCounts:
    """The canary's recipients by what is known of them.

    `unsent` have no attempt yet. `on_the_way` have the status `sent`. `arrived` are delivered or read. The
    others were attempted, and have no status.
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
    """Return the verdict. `waited_s` counts from when the last recipient was attempted.

    Too many failures end the canary at once. It is healthy as soon as all have arrived or failed, or, if
    enough have a status, after the wait of `wait_s`.
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
    """Return the counts in words: `500 sent to, 430 arrived, 12 failed (2.4 %)`."""
    share = f" ({100 * counts.failed / counts.sent_to:.1f} %)" if counts.sent_to else ""
    return f"{counts.sent_to:,} sent to, {counts.arrived:,} arrived, {counts.failed:,} failed{share}"
