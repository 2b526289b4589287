"""The plan of a campaign: who gets a message, by which number, until when, and at what cost."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.options.identity import NOTED, UNMATCHED
from drumbeat.campaigns.phones.countries import PREFIX_DIGITS, by_country
from drumbeat.campaigns.preview.days import days_of, number_limits
from drumbeat.campaigns.preview.recipient import SCAN_TIMEOUT_S
from drumbeat.campaigns.prices import Cost, PriceTable, cost_of, sum_of
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.stored_recipients import require_kept
from drumbeat.campaigns.template_shares import TemplateShare, shares_in, shares_json, template_text
from drumbeat.engine.core.forecast import NumberShare, first_send, last_send, sending_s, shares
from drumbeat.engine.core.limits.quota import COUNTED_S, GATHER_S, QuotaScope
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.sending.campaign_guards import stored_guards
from drumbeat.engine.store.database import Pool


@dataclass(frozen=True, slots=True)
class Timing:
    """The times at which a campaign sends. `ends_at` is None if it takes more than ten years; `expires_at` is
    the campaign's own end.
    """

    sending_s: float
    starts_at: datetime
    ends_at: datetime | None
    expires_at: datetime | None

    @property
    def expires_before_end(self) -> bool:
        """Return whether the campaign expires before everybody is sent to."""
        return self.expires_at is not None and (self.ends_at is None or self.ends_at > self.expires_at)


@dataclass(frozen=True, slots=True)
class CampaignPlan:
    """A plan. `recipients` counts those to whom the campaign sends. `left_out` counts rows of the audience
    that get nothing, by reason. `unmatched` counts rows by a language that no template has. `category` names
    the categories of all templates, if they differ.
    """

    name: str
    template: str
    language: str
    templates: Sequence[TemplateShare]
    unmatched: dict[str, int]
    category: str | None
    recipients: int
    countries: dict[str, int]
    numbers: list[NumberShare]
    timing: Timing
    left_out: dict[str, int]
    cost: Cost | None

    @property
    def days(self) -> int:
        """Return how many periods of 24 hours the messaging limits require."""
        return days_of(self.numbers)

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": 1,
            "name": self.name,
            "template": self.template,
            "language": self.language,
            "templates": shares_json(self.templates, self.recipients),
            "unmatched_languages": self.unmatched,
            "category": self.category,
            "recipients": self.recipients,
            "countries": self.countries,
            "numbers": [asdict(number) for number in self.numbers],
            "days": self.days,
            **asdict(self.timing),
            "expires_before_end": self.timing.expires_before_end,
            "left_out": self.left_out,
            "cost": None if self.cost is None else _cost_json(self.cost),
        }


def _cost_json(cost: Cost) -> dict[str, Any]:
    return {**asdict(cost), "totals": {currency: str(total) for currency, total in cost.totals.items()}}


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The facts from which a plan is computed.

    `row` has the columns of a campaign's schedule and guards. `groups` has a phone for each template and
    beginning of phones, and how many `recipients` share them. `zones` counts recipients by their time zones,
    if a rule is in the recipient's zone.
    """

    name: str
    phone_number_ids: Sequence[str]
    templates: Sequence[TemplateShare]
    unmatched: Mapping[str, int]
    groups: Sequence[Mapping[str, Any]]
    zones: Mapping[str, int]
    row: Mapping[str, Any]
    left_out: Mapping[str, int]


async def plan_of(
    pool: Pool, name: str, prices: PriceTable | None, now: datetime, scope: QuotaScope = QuotaScope.NUMBER
) -> CampaignPlan:
    """Read a campaign's recipients and numbers, and compute its plan as if it started `now` or at its start.

    Raise ConfigurationError if the campaign does not exist, was pruned, or if prices are asked for and the
    category of its template is not known.
    """
    campaign = await find_campaign(pool, name)
    require_planned(campaign)
    campaign_id = campaign.campaign_id
    await require_kept(pool, campaign_id, name)
    sql = statements("preview")
    row = await pool.fetchrow(sql["campaign"], campaign_id)
    assert row is not None, "a campaign's row is never deleted once it is planned"
    counted = await pool.fetch(
        sql["recipients_by_prefix"], campaign_id, PREFIX_DIGITS, timeout=SCAN_TIMEOUT_S
    )
    zones = await pool.fetch(sql["time_zones"], campaign_id, timeout=SCAN_TIMEOUT_S)
    facts = PlanFacts(
        name=campaign.name,
        phone_number_ids=campaign.phone_number_ids,
        templates=shares_in(row["template"]),
        unmatched=row["options"].get(NOTED, {}).get(UNMATCHED, {}),
        groups=[dict(group) for group in counted],
        zones={each["time_zones"]: each["recipients"] for each in zones},
        row=dict(row),
        left_out=await _left_out(pool, campaign_id, dict(row)),
    )
    return await plan_from(pool, facts, prices, now, scope)


async def plan_from(
    pool: Pool, facts: PlanFacts, prices: PriceTable | None, now: datetime, scope: QuotaScope
) -> CampaignPlan:
    """Return the plan of a campaign, which need not be stored. Raise as `plan_of` for prices."""
    countries = _countries(facts.groups)
    recipients = sum(countries.values())
    numbers = await number_limits(pool, facts.phone_number_ids)
    divided = shares(recipients, numbers, scope)
    categories = await _categories(pool, facts.templates)
    seconds = sending_s(recipients, numbers)
    return CampaignPlan(
        name=facts.name,
        template=facts.templates[0].name,
        language=facts.templates[0].language,
        templates=facts.templates,
        unmatched=dict(facts.unmatched),
        category=", ".join(sorted({category for category in categories if category})) or None,
        recipients=recipients,
        countries=countries,
        numbers=divided,
        timing=timing(facts.row, seconds, now, facts.zones, days_of(divided)),
        left_out=dict(facts.left_out),
        cost=None if prices is None else _cost(facts.groups, facts.templates, categories, prices),
    )


def timing(
    row: Mapping[str, Any],
    seconds: float,
    now: datetime,
    zones: Mapping[str, int] = MappingProxyType({}),
    days: int = 1,
) -> Timing:
    """Return when a campaign with this row sends, if it starts now or at its own start.

    `zones` counts its recipients by their time zones, if a rule is in them. Then the end is the earliest
    possible one: it assumes that each zone is sent to in its own hours, and that the numbers do nothing else
    meanwhile. `days` is the number of periods of 24 hours in which the messaging limits allow it; the rest is
    sent in the last one.
    """
    guards, begins = stored_guards(row), max(now, row["start_at"] or now).astimezone(UTC)
    parts = [(seconds, guards.hours, [guards.time_zone])]
    for names, recipients in zones.items():
        share = seconds * recipients / max(1, sum(zones.values()))
        parts.append((share, guards.recipient_hours, [ZoneInfo(name) for name in names.split(",")]))
    starts = [first_send(begins, hours, in_zones) or begins for _, hours, in_zones in parts]
    before_last_day = (days - 1) * timedelta(seconds=COUNTED_S + GATHER_S)
    ends = [
        last_send(start + before_last_day, part_s / days, hours, in_zones)
        for start, (part_s, hours, in_zones) in zip(starts, parts, strict=True)
    ]
    starts_at = max(starts[0], min(starts[1:], default=starts[0]))
    known = [end for end in ends if end is not None]
    ends_at = max(known) if len(known) == len(ends) else None
    return Timing(round(seconds, 1), starts_at, ends_at, row["expires_at"])


async def _left_out(pool: Pool, campaign_id: int, row: Mapping[str, Any]) -> dict[str, int]:
    skipped = await pool.fetch(statements("preview")["skipped"], campaign_id, timeout=SCAN_TIMEOUT_S)
    found = {"rejected": row["rejected"], "duplicate": row["duplicates"]}
    return {**found, **{group["reason"]: group["recipients"] for group in skipped}}


async def _categories(pool: Pool, templates: Sequence[TemplateShare]) -> list[str | None]:
    """Return the category of each template; None if it is not known."""
    keys = [template.name for template in templates], [template.language for template in templates]
    rows = await pool.fetch(statements("preview")["categories"], *keys)
    found = {(row["name"], row["language"]): row["category"] for row in rows}
    return [found.get((template.name, template.language)) for template in templates]


def _countries(groups: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return by_country((group["phone"], group["recipients"]) for group in groups)


def _cost(
    groups: Sequence[Mapping[str, Any]],
    templates: Sequence[TemplateShare],
    categories: Sequence[str | None],
    prices: PriceTable,
) -> Cost:
    """Return the cost. `groups` are recipients by `template_index` and phone, from the statement
    `recipients_by_prefix`.
    """
    by_category: dict[str, list[Mapping[str, Any]]] = {}
    for group in groups:
        template, category = templates[group["template_index"]], categories[group["template_index"]]
        if category is None:
            raise ConfigurationError(
                f"the category of {template_text(template)} is not known, so it has no price",
                remedy="run `drumbeat templates sync`",
            )
        by_category.setdefault(category.upper(), []).append(group)
    return sum_of(
        [cost_of(_countries(found), category, prices) for category, found in sorted(by_category.items())]
    )
