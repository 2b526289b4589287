"""The progress of long work."""

from collections.abc import Callable
from dataclasses import dataclass

# One statement may sort or count ten million staged rows.
STATEMENT_TIMEOUT_S = 900.0


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """The progress of planning. `done` and `total` are bytes in the stage `reading`, else rows. A `total` of
    0 means that the total is not known.
    """

    stage: str
    done: int
    total: int
    rows: int


ProgressCallback = Callable[[PlanProgress], None]


def no_progress(progress: PlanProgress) -> None:
    """Show nothing."""
