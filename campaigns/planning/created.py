"""The result of a create, or of a change of a campaign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

from drumbeat.campaigns.audience.open.encoding import Encoding
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.planning.change import (
    KnownCampaign,
)
from drumbeat.campaigns.planning.change_rules import Change
from drumbeat.campaigns.planning.plan import PlanCounts
from drumbeat.campaigns.planning.recent import RecentCampaign
from drumbeat.campaigns.template_shares import TemplateShare, shares_in, shares_json
from drumbeat.engine.core.states import CampaignState


@dataclass(frozen=True, slots=True)
class CreatedCampaign:
    """A campaign that now exists. `unchanged` says that it existed before, and that nothing was done.

    `rejects_path` is the list of rejected and duplicate rows, if there are any; `reject_codes` counts them.
    `encoding` is how the audience was decoded; None if it was not read again. `same_audience` are other
    campaigns with the same file, except those cancelled before they sent anything. `recent_campaigns`
    explains `same_people`. `changes` are those of a campaign that existed. `dry_run` says that it does not
    exist: its `campaign_id` is 0, and the rest is what a create would say now. `templates` have the
    recipients of each if there are several. `unmatched` counts rows by a language that no template has; they
    get the fallback. `findings` warn of what good rows hold; `countries` and `kinds` count their
    phones, as `PhoneCounts` does. `heads` are those of a dry run that counts them,
    see `create_campaign`.
    """

    campaign_id: int
    name: str
    state: str
    unchanged: bool
    counts: PlanCounts
    rejects_path: Path | None
    reject_codes: Mapping[str, int]
    phone_number_ids: Sequence[str]
    encoding: Encoding | None = None
    same_audience: Sequence[str] = ()
    dry_run: bool = False
    templates: Sequence[TemplateShare] = ()
    unmatched: Mapping[str, int] = field(default_factory=dict)
    findings: Sequence[ListFinding] = ()
    countries: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    same_people: Sequence[RecentCampaign] = ()
    heads: Sequence[Mapping[str, Any]] = ()
    start_at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the document that the command line and the console both show."""
        counts = self.counts
        return {
            "name": self.name,
            "state": self.state,
            "unchanged": self.unchanged,
            "dry_run": self.dry_run,
            "audience_rows": counts.audience_rows,
            "recipients": counts.recipients,
            "rejected": counts.rejected,
            "duplicates": counts.duplicates,
            "suppressed": counts.suppressed,
            "without_hours": counts.without_hours,
            "reject_codes": dict(self.reject_codes),
            "encoding": None if self.encoding is None else self.encoding.label,
            "encoding_guessed": self.encoding is not None and self.encoding.is_guess,
            "same_audience": list(self.same_audience),
            "same_people": [earlier.as_json() for earlier in self.same_people],
            "templates": shares_json(self.templates, counts.recipients),
            "unmatched_languages": dict(self.unmatched),
            "findings": list(self.findings),
            "countries": dict(self.countries),
            "kinds": dict(self.kinds),
        }


def known_campaign(row: asyncpg.Record) -> KnownCampaign:
    state = CampaignState(row["state"])
    return KnownCampaign(row["campaign_id"], row["name"], state, row["content_hash"], row["options"])


def existing_campaign(
    row: asyncpg.Record, changes: Sequence[Change] = (), *, dry_run: bool = False
) -> CreatedCampaign:
    counts = PlanCounts(row["audience_rows"], row["recipients"], row["rejected"], row["duplicates"], None)
    unchanged = not changes
    return CreatedCampaign(
        row["campaign_id"],
        row["name"],
        row["state"],
        unchanged,
        counts,
        None,
        {},
        tuple(row["phone_number_ids"]),
        changes=changes,
        dry_run=dry_run and not unchanged,
        templates=shares_in(row["template"]),
        start_at=row["start_at"],
    )
