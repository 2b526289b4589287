"""The settlement of recipients in doubt, as a person decides: sent to again, or taken as sent."""

from dataclasses import asdict, dataclass
from typing import Any

from drumbeat.campaigns.campaign import Campaign, find_campaign
from drumbeat.campaigns.results.status import CampaignStatus
from drumbeat.engine.core.limits.guard import OPTED_OUT
from drumbeat.engine.core.states import CampaignState
from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.abandoned_numbers import recover_abandoned_numbers
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.in_doubt import InDoubtSummary, assume_sent, resend, summarise_in_doubt
from drumbeat.engine.store.lost_time import doubt_lost_time


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of `campaign settle`. `action` None means that nothing was changed. `recipients` is how many
    the action concerned. `left` says who is still in doubt. `status` is the campaign's, if this process sent.
    """

    campaign: Campaign
    action: str | None
    recipients: int
    left: InDoubtSummary
    status: CampaignStatus | None = None

    @property
    def may_resend(self) -> bool:
        """Return whether a resend would send to anybody who is left. Who opted out stays in doubt."""
        may_send = self.campaign.state not in (CampaignState.CANCELLED, CampaignState.EXPIRED)
        return may_send and not all(group.reason.startswith(OPTED_OUT) for group in self.left.groups)

    def as_json(self) -> dict[str, Any]:
        """Return the document of `--json`."""
        return {
            "schema": 1,
            "name": self.campaign.name,
            "action": self.action,
            "recipients": self.recipients,
            "in_doubt": self.left.recipients,
            "probably_not_sent": self.left.probably_not_sent,
            "since": self.left.since,
            "all_silent_at": self.left.all_silent_at,
            "groups": [asdict(group) for group in self.left.groups],
            "status": None if self.status is None else self.status.as_json(),
        }


async def settle_campaign(
    pool: Pool, name: str, action: str | None, silence_s: float, *, actor: str, lost_s: int = 0
) -> Settled:
    """Do the action (`resend`, `assume-sent`, `lost-time`, or None), then read who is left in doubt. Send
    nothing.

    `lost_s` is the length of the lost time, for `lost-time`.
    """
    async with pool.acquire() as connection:
        campaign = await find_campaign(connection, name)
        recipients = 0
        await recover_abandoned_numbers(connection, this_process())  # puts in doubt what a killed sender left
        if action == "resend":
            recipients = await resend(connection, campaign.campaign_id, actor)
        elif action == "assume-sent":
            recipients = await assume_sent(connection, campaign.campaign_id, actor)
        elif action == "lost-time":
            recipients = await doubt_lost_time(connection, campaign.campaign_id, lost_s, actor)
        left = await summarise_in_doubt(connection, campaign.campaign_id, silence_s=silence_s)
    return Settled(campaign, action, recipients, left)
