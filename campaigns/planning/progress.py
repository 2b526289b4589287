"""A plan: from an audience to frozen recipients, staged, without duplicates, cut into ranges.

Law: audience rows = recipients + rejected + duplicates; a suppressed row is a recipient that is skipped.
A plan is complete when `planned_at` stands; whatever was killed before leaves a campaign that nothing sends
and that the next create of its name removes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# One statement may sort or count ten million staged rows.
STATEMENT_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """How far a plan is. `stage` reading: `done` of `total` bytes; checking, freezing: of rows."""

    stage: str
    done: int
    total: int
    rows: int


ProgressCallback = Callable[[PlanProgress], None]


def no_progress(progress: PlanProgress) -> None:
    """For callers that show none."""


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """Rows of an audience by what became of them.

    `suppressed` are among the recipients; None where the plan was made by an earlier call.
    """

    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None
