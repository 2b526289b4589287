"""The result of a create, or of a change of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Any

import asyncpg

from drumbeat.campaigns.planning.change import KnownCampaign
from drumbeat.campaigns.planning.change_rules import Change
from drumbeat.campaigns.planning.counts import PlanCounts
from drumbeat.campaigns.planning.staged.recent import RecentCampaign
from drumbeat.campaigns.planning.staged.step import NOT_READ, AudienceFound
from drumbeat.campaigns.template_shares import TemplateShare, shares_in, shares_json
from drumbeat.engine.core.states import CampaignState


class Outcome(Enum):
    """The fate of the campaign. The same create again leaves it UNCHANGED."""

    STORED = auto()
    UNCHANGED = auto()
    DRY_RUN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCampaign:
    """The campaign itself. `campaign_id` is 0 if it does not exist. `templates` have the recipients of each,
    if there are several.
    """

    campaign_id: int
    name: str
    state: CampaignState
    phone_number_ids: Sequence[str]
    templates: Sequence[TemplateShare]
    start_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierCampaigns:
    """The other campaigns that reach the same people. `same_audience` have the same file, except those
    cancelled before they sent anything. `recent_campaigns` explains `same_people`.
    """

    same_audience: Sequence[str] = ()
    same_people: Sequence[RecentCampaign] = ()


NO_EARLIER = EarlierCampaigns()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedCampaign:
    """A campaign that now exists, or that a dry run checked: then it says what a create would say.

    `audience` is what was found in it; nothing if it was not read again. `changes` are those of a campaign
    that existed. `audience_kept`: it is no draft any more, so its people stay, and the
    audience was not opened.
    """

    campaign: PlannedCampaign
    counts: PlanCounts
    outcome: Outcome
    audience: AudienceFound = NOT_READ
    earlier: EarlierCampaigns = NO_EARLIER
    changes: Sequence[Change] = ()
    audience_kept: bool = False

    @property
    def campaign_id(self) -> int:
        return self.campaign.campaign_id

    @property
    def name(self) -> str:
        return self.campaign.name

    @property
    def state(self) -> CampaignState:
        return self.campaign.state

    @property
    def unchanged(self) -> bool:
        """Return whether the campaign existed before, and nothing was done."""
        return self.outcome is Outcome.UNCHANGED

    @property
    def dry_run(self) -> bool:
        return self.outcome is Outcome.DRY_RUN

    def as_json(self) -> dict[str, Any]:
        """Return the document that the command line and the console both show."""
        counts, encoding = self.counts, self.audience.encoding
        return {
            "name": self.name,
            "state": self.campaign.state,
            "unchanged": self.unchanged,
            "dry_run": self.dry_run,
            "audience_kept": self.audience_kept,
            "audience_rows": counts.audience_rows,
            "recipients": counts.recipients,
            "rejected": counts.rejected,
            "duplicates": counts.duplicates,
            "suppressed": counts.suppressed,
            "without_hours": counts.without_hours,
            "reject_codes": dict(self.audience.reject_codes),
            "encoding": None if encoding is None else encoding.label,
            "encoding_guessed": encoding is not None and encoding.is_guess,
            "same_audience": list(self.earlier.same_audience),
            "same_people": [earlier.as_json() for earlier in self.earlier.same_people],
            "templates": shares_json(self.campaign.templates, counts.recipients),
            "unmatched_languages": dict(self.audience.unmatched),
            "findings": list(self.audience.findings),
            "countries": dict(self.audience.countries),
            "kinds": dict(self.audience.kinds),
            "left_out_codes": dict(self.audience.left_out_codes),
            "first_messages": [message.as_json() for message in self.audience.first_messages],
        }


def known_campaign(row: asyncpg.Record) -> KnownCampaign:
    return KnownCampaign(
        campaign_id=row["campaign_id"],
        name=row["name"],
        state=CampaignState(row["state"]),
        content_hash=row["content_hash"],
        options=row["options"],
    )


def existing_campaign(row: asyncpg.Record, outcome: Outcome = Outcome.UNCHANGED) -> CreatedCampaign:
    """Return the result for a stored campaign."""
    return CreatedCampaign(
        campaign=PlannedCampaign(
            campaign_id=row["campaign_id"],
            name=row["name"],
            state=CampaignState(row["state"]),
            phone_number_ids=tuple(row["phone_number_ids"]),
            templates=shares_in(row["template"]),
            start_at=row["start_at"],
        ),
        counts=PlanCounts(
            audience_rows=row["audience_rows"],
            recipients=row["recipients"],
            rejected=row["rejected"],
            duplicates=row["duplicates"],
        ),
        outcome=outcome,
    )
