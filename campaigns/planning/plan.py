"""The values of a plan: its progress and its counts.

Law: audience rows = recipients + rejected + duplicates; a suppressed row is a recipient that is skipped. A
plan is complete when the campaign's `planned_at` is set. If planning is killed before, nothing sends the
campaign, and the next create of its name removes it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlanCounts:
    """The rows of an audience, by what became of them.

    `suppressed` rows are among the recipients; None if an earlier call made the plan. The rows
    `without_hours` are among them too: their time zones never allow sending.
    """

    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None
    without_hours: int = 0
