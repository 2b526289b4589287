"""The plan of a campaign that a dry run checked, and that is not stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from drumbeat.campaigns.options.guards import Guards
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.phones.zones import RecipientZones
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.preview.plan import CampaignPlan, PlanFacts, plan_from
from drumbeat.campaigns.prices import PriceTable
from drumbeat.engine.core.limits.quota import QuotaScope
from drumbeat.engine.store.database import Pool


async def plan_of_draft(
    pool: Pool,
    spec: CampaignSpec,
    created: CreatedCampaign,
    prices: PriceTable | None,
    now: datetime,
    scope: QuotaScope,
) -> CampaignPlan:
    """Return the plan of a draft. `created` is the result of a dry run that counted heads. Raise the errors
    of `plan_of`.

    Recipients have the time zones of the one whose phone stands for their head. Therefore times in
    recipients' zones are less exact than those of a stored campaign.
    """
    guards, counts = spec.checked_guards(), created.counts
    facts = PlanFacts(
        name=created.name,
        phone_number_ids=created.campaign.phone_number_ids,
        templates=created.campaign.templates,
        unmatched=created.audience.unmatched,
        groups=created.audience.heads,
        zones=_zones(created.audience.heads) if guards.recipient_hours is not None else {},
        row=_row(guards),
        left_out={
            "rejected": counts.rejected,
            "duplicate": counts.duplicates,
            "suppressed": counts.suppressed or 0,
        },
    )
    return await plan_from(pool, facts, prices, now, scope)


def _row(guards: Guards) -> dict[str, Any]:
    """Return the columns that a stored campaign would have."""
    schedule = guards.schedule
    days, quiet_from, quiet_until, cap_messages, cap_period_s = guards.columns()
    return {
        "window_opens": schedule.window_opens,
        "window_closes": schedule.window_closes,
        "time_zone": schedule.time_zone,
        "start_at": schedule.start_at,
        "expires_at": schedule.expires_at,
        "days": days,
        "quiet_from": quiet_from,
        "quiet_until": quiet_until,
        "cap_messages": cap_messages,
        "cap_period_s": cap_period_s,
    }


def _zones(heads: Sequence[Mapping[str, Any]]) -> Mapping[str, int]:
    zones_of, found = RecipientZones(), Counter[str]()
    for head in heads:
        if (zones := zones_of.of(str(head["phone"]))) is not None:
            found[zones] += head["recipients"]
    return found
