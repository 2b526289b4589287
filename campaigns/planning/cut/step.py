"""The step that cuts the staged recipients into ranges. It stores nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from drumbeat.campaigns.options.order import canary_of
from drumbeat.campaigns.planning.checked.step import Checked
from drumbeat.campaigns.planning.cut.range_cut import RangeCut
from drumbeat.campaigns.planning.cut.range_size import RangePlan, plan_ranges, range_size
from drumbeat.campaigns.planning.cut.zoned_cut import OpenZones, ZonedCut
from drumbeat.campaigns.planning.opened.step import Opened
from drumbeat.campaigns.planning.staged.step import Staged


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The way in which a campaign is cut into ranges. `plan` has the ranges without zones. `zones` are those
    that allow sending; None means that ranges have no zones.
    """

    plan: RangePlan
    zones: OpenZones | None

    @property
    def canary_below(self) -> int:
        """Return the ordinal below which all ranges of the canary are, and no others."""
        return self.plan.canary_ranges if self.zones is None else sum(self.plan.canaries)

    def of_chunk(
        self,
        new_id: Callable[[], int],
        sizes: Sequence[int],
        canary: int,
        left_out: Sequence[int],
        suppressed: Sequence[int],
    ) -> RangeCut | ZonedCut:
        """Cut one chunk into ranges of these sizes, or by zones. `new_id` makes the id of a range.

        `canary` is how many recipients of the chunk, the first ones, are of the canary.
        """
        if self.zones is None:
            return RangeCut([new_id() for _ in sizes], sizes, left_out, suppressed)
        return ZonedCut(new_id, self.plan, self.zones, canary, left_out, suppressed)


def cut_ranges(opened: Opened, checked: Checked, staged: Staged) -> Cut:
    """Return how the staged rows are cut. Sending begins at the start time, or now."""
    asked, rows, limits_per_s = opened.asked, staged.rows, checked.limits_per_s
    canary, hours, now = canary_of(asked.spec), asked.guards.recipient_hours, datetime.now(UTC)
    plan = plan_ranges(
        [chunk.recipients for chunk in rows.chunks],
        range_size(rows.recipients, limits_per_s),
        0 if canary is None else canary.recipients,
        len(limits_per_s),
    )
    begins = max(now, asked.guards.schedule.start_at or now).astimezone(UTC)
    return Cut(plan=plan, zones=None if hours is None else OpenZones(hours, begins))
