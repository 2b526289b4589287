"""The division of a campaign's recipients into ranges: by number alone, or by time zones too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from drumbeat.campaigns.options.guards import Guards
from drumbeat.campaigns.phones.zones import RecipientZones
from drumbeat.campaigns.planning.range_cut import RangeCut
from drumbeat.campaigns.planning.range_size import RangePlan
from drumbeat.campaigns.planning.zoned_cut import ZonedCut
from drumbeat.engine.core.limits.sending_hours import SendingHours


@dataclass(slots=True)
class Cutting:
    """The way in which a campaign is cut into ranges. `plan` has the ranges without zones. `hours` are those
    in the zone of each recipient, from `begins`; None means that ranges have no zones.

    `zones` has all sets of zones that recipients had so far; None without `hours`.
    """

    plan: RangePlan
    hours: SendingHours | None
    begins: datetime
    _zones_of: RecipientZones = field(default_factory=RecipientZones)
    _ever_opens: dict[str, bool] = field(default_factory=dict)

    @property
    def zones(self) -> list[str] | None:
        return (
            None
            if self.hours is None
            else sorted(zones for zones, opens in self._ever_opens.items() if opens)
        )

    @property
    def canary_below(self) -> int:
        """Return the ordinal below which all ranges of the canary are, and no others."""
        return self.plan.canary_ranges if self.hours is None else sum(self.plan.canaries)

    def cut(
        self,
        range_ids: Sequence[int],
        sizes: Sequence[int],
        canary: int,
        new_id: Callable[[], int],
        left_out: Sequence[int],
        suppressed: Sequence[int],
    ) -> RangeCut | ZonedCut:
        """Cut one chunk into `range_ids` of these sizes, or into ranges that `new_id` names when they are
        needed.

        `canary` is how many recipients of the chunk, the first ones, are of the canary.
        """
        if self.hours is None:
            return RangeCut(range_ids, sizes, left_out, suppressed)
        return ZonedCut(
            new_id,
            self.plan.size,
            left_out,
            suppressed,
            self._zones_of,
            self._opens,
            canary,
            self.plan.canary_size,
        )

    def _opens(self, zones: str) -> bool:
        opens = self._ever_opens.get(zones)
        if opens is None:
            assert self.hours is not None
            opens = (
                self.hours.opens_at(self.begins, [ZoneInfo(zone) for zone in zones.split(",")]) is not None
            )
            self._ever_opens[zones] = opens
        return opens


def cutting_of(guards: Guards, now: datetime, plan: RangePlan) -> Cutting:
    start_at = guards.schedule.start_at
    return Cutting(plan, guards.recipient_hours, max(now, start_at or now).astimezone(UTC))
