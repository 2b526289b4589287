"""The values of a plan: its progress and its counts.

Law: audience rows = recipients + rejected + duplicates; a suppressed row is a recipient that is skipped. A
plan is complete when the campaign's `planned_at` is set. If planning is killed before, nothing sends the
campaign, and the next create of its name removes it.
"""

from collections.abc import Callable
from dataclasses import dataclass

# One statement may sort or count ten million staged rows.
STATEMENT_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """How far planning is. `done` and `total` are bytes in the stage `reading`, else rows; a
    `total` of 0 is not known.
    """

    stage: str
    done: int
    total: int
    rows: int


ProgressCallback = Callable[[PlanProgress], None]


def no_progress(progress: PlanProgress) -> None:
    """A callback that shows nothing."""


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """The rows of an audience, by what became of them.

    `suppressed` rows are among the recipients; None if an earlier call made the plan. So are those
    `without_hours`: their time zones never allow sending.
    """

    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None
    without_hours: int = 0
