"""The cache of running campaigns in one process. It answers without the database, at any time.

`CampaignReader` keeps it up to date. `StopRequests` and the outcome policy stop campaigns in it at once.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.refusal_runs import RefusalRuns
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.messages import RunningCampaign
from drumbeat.engine.sending.recipient_hours import Closed
from drumbeat.engine.store.ranges import HeldRange

# The number of campaigns kept. Those that ended longest ago are removed first.
KNOWN_MAX = 200
# After one number found no free range, no other number asks for this long. Towards the end of a campaign all
# of them would ask, several times a second each: with 64 numbers for 40 ranges that was a seventh of the time
# of all statements.
NONE_FREE_NS = SECOND_NS // 5
# The time for which a range is put off if its hours cannot be read. Its campaign is paused meanwhile.
UNREADABLE_FOR = timedelta(minutes=1)

log = get_logger(__name__)


class CampaignCache:
    """The running campaigns, and those that ended a short time ago: their claimed messages are still sent."""

    def __init__(self) -> None:
        self._known: dict[int, RunningCampaign] = {}
        self._running: set[int] = set()
        self.refusal_runs = RefusalRuns()
        self.starts = 0  # how often a campaign was started or resumed
        self.has_priorities = False  # the running campaigns have different priorities
        self.failures: dict[int, Exception] = {}  # campaigns to pause, and the failures that are the reason

    def __getitem__(self, campaign_id: int) -> RunningCampaign:
        return self._known[campaign_id]

    def get(self, campaign_id: int) -> RunningCampaign | None:
        return self._known.get(campaign_id)

    def log_fields(self, campaign_id: int) -> dict[str, Any]:
        """Return the fields that name a campaign in logs: its name, whose digits may be
        masked, and its id.
        """
        campaign = self._known.get(campaign_id)
        return {"campaign": campaign.name if campaign else "", "campaign_id": campaign_id}

    @property
    def running(self) -> list[int]:
        return sorted(self._running)

    def sends(self, campaign_id: int) -> bool:
        """Return whether recipients of the campaign may be claimed at this moment."""
        return campaign_id in self._running and self._known[campaign_id].sending

    def closed(self, held: HeldRange) -> Closed | None:
        """Return why a range may not be claimed now although its campaign sends: the hours of its recipients.

        A range whose zones cannot be read may not be claimed, and its campaign fails.
        """
        campaign = self._known.get(held.campaign_id)
        if campaign is None:
            return None
        if not campaign.failed:
            try:
                return campaign.recipient_hours.closed(held.time_zones)
            except Exception as error:  # computed from stored values: the error concerns only this range
                self.fail(held.campaign_id, error)
        return Closed(datetime.now(UTC) + UNREADABLE_FOR, "the campaign cannot be read")

    def sending_with(self, phone_number_id: str) -> list[int]:
        """Return the campaigns that may send through a number at this moment."""
        return [
            campaign_id
            for campaign_id in self.running
            if self.sends(campaign_id) and phone_number_id in self._known[campaign_id].phone_number_ids
        ]

    def with_free_ranges(self, phone_number_id: str) -> list[int]:
        """Return the campaigns of `sending_with`, without those in which a number of this process just found
        no free range.
        """
        now_ns = monotonic_ns()
        return [
            campaign_id
            for campaign_id in self.sending_with(phone_number_id)
            if now_ns >= self._known[campaign_id].none_free_until_ns
        ]

    def note_free(self, campaign_id: int, *, is_free: bool) -> None:
        """Note that a range of the campaign was released, or that a number got none.

        After a release, idle numbers may ask at once. If a number got none, the others do not ask for a
        while. They also skip one query if the number got none because this process lost its lease.
        """
        if campaign := self._known.get(campaign_id):
            campaign.none_free_until_ns = 0 if is_free else monotonic_ns() + NONE_FREE_NS

    def stop(self, campaign_id: int) -> None:
        """Claim nothing more from a campaign, at once. Its state in the database follows."""
        if campaign := self._known.get(campaign_id):
            campaign.sending = False
            campaign.stopped = True

    def fail(self, campaign_id: int, error: Exception) -> None:
        """Stop a campaign that cannot be read or worked on. Call it where the error is handled."""
        if campaign_id not in self.failures:
            log.error("campaign_failed", **self.log_fields(campaign_id), exc_info=error)
        self.failures[campaign_id] = error
        if campaign := self._known.get(campaign_id):
            campaign.failed = True
        self.stop(campaign_id)

    def start(self, campaign: RunningCampaign) -> bool:
        """Add a campaign that the database says is running. True if it is new or was resumed by a person."""
        self._known[campaign.campaign_id] = campaign
        if campaign.campaign_id in self._running:
            return False
        self._running.add(campaign.campaign_id)
        self.starts += 1
        campaign.stopped = False
        self.refusal_runs.forget_campaign(campaign.campaign_id)
        return True

    def end(self, campaign_id: int) -> None:
        """Note that the stored campaign no longer runs. If it runs at the next read, a person resumed it."""
        self._running.discard(campaign_id)
        if campaign := self._known.pop(campaign_id, None):
            self._known[campaign_id] = campaign  # placed behind those that ended before

    def remove_ended(self) -> None:
        """Keep at most KNOWN_MAX campaigns, and count refusals of running ones only."""
        self.has_priorities = len({self._known[campaign_id].priority for campaign_id in self._running}) > 1
        self.refusal_runs.keep(self._running)
        for campaign_id in list(self._known)[: max(0, len(self._known) - KNOWN_MAX)]:
            if campaign_id not in self._running:
                del self._known[campaign_id]
