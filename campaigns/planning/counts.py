"""The counts of a plan.

Law: audience rows = recipients + rejected + duplicates; a suppressed row is a recipient that is skipped.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCounts:
    """The rows of an audience, by what became of them.

    `suppressed` rows are among the recipients; None if an earlier call made the plan. The rows
    `without_hours` are among them too: their time zones never allow sending.
    """

    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None = None
    without_hours: int = 0
