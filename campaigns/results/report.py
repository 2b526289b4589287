"""The report of a campaign: recipients by state and reason, rates by number, and whether counts add up."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from drumbeat.campaigns.options.identity import shown
from drumbeat.campaigns.results.limited import Limited, what_limited
from drumbeat.campaigns.results.status import CampaignStatus, campaign_status
from drumbeat.campaigns.results.variants import VariantResult, results_json, variant_results, verdicts
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.error_codes import meaning_of
from drumbeat.engine.core.reply_times import percentile_ms
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

SCHEMA = 1
PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
REASONS_MAX = 500  # the most frequent reasons of a state; one more line sums up the others
REASONS_TIMEOUT_S = 900.0  # reads every recipient with a reason, 20 µs each; there may be millions


@dataclass(frozen=True, slots=True)
class ReasonCount:
    """Recipients in one state for one reason. `meaning` is empty if the reason is not an error code."""

    reason: str
    meaning: str
    recipients: int


@dataclass(frozen=True, slots=True)
class NumberReport:
    """The part of a report about one number. `achieved_per_s` is requests divided by `active_s`, the seconds
    spent sending; None if they are too few. `reply_counts` is how long a part of the replies took, in the
    buckets of engine/core/reply_times.py.
    """

    phone_number_id: str
    limit_per_s: float
    achieved_per_s: float | None
    attempts: int
    accepted: int
    throttled: int
    active_s: float
    cpu_s: float
    first_attempt_at: datetime | None
    last_attempt_at: datetime | None
    reply_counts: list[int] | None = None

    @property
    def reply_ms(self) -> dict[str, float | None]:
        """Return how long replies took, in milliseconds, by percentile. None: too few were counted for it."""
        counts = self.reply_counts or []
        return {name: _rounded(percentile_ms(counts, share)) for name, share in PERCENTILES.items()}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


@dataclass(frozen=True, slots=True)
class Audit:
    """An action of a person on the campaign after it was planned."""

    at: datetime
    actor: str
    action: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """The results of a campaign so far. `reasons` are those of failed, skipped, unknown and deferred
    recipients.

    `options` has the options of a campaign by their keys, as `shown` returns them. `pruned`
    says that recipients and reasons were dropped; the counts are kept.
    """

    status: CampaignStatus
    template: str
    language: str
    options: dict[str, Any]
    audience_rows: int
    rejected: int
    duplicates: int
    reasons: dict[RecipientState, list[ReasonCount]]
    numbers: tuple[NumberReport, ...]
    audits: tuple[Audit, ...]
    pruned: bool
    variants: tuple[VariantResult, ...] = ()

    @property
    def audience_adds_up(self) -> bool:
        """Return whether every row of the file is a recipient, a reject or a duplicate."""
        return self.audience_rows == self.status.recipients + self.rejected + self.duplicates

    @property
    def counts_add_up(self) -> bool:
        counts = self.status.counts.values()
        return sum(counts) == self.status.recipients and min(counts) >= 0

    @property
    def cpu_us_per_message(self) -> float | None:
        """Return the CPU time of sending for each accepted message; None before the first one."""
        accepted = sum(number.accepted for number in self.numbers)
        return 1e6 * sum(number.cpu_s for number in self.numbers) / accepted if accepted else None

    @property
    def limited(self) -> Limited | None:
        """Return what limited the sending; None if too little was sent to tell."""
        return what_limited(self.numbers)

    def as_json(self) -> dict[str, Any]:
        cpu_us = self.cpu_us_per_message
        return {
            **self.status.as_json(),
            "schema": SCHEMA,
            "template": self.template,
            "language": self.language,
            "options": self.options,
            "audience": {
                "rows": self.audience_rows,
                "recipients": self.status.recipients,
                "rejected": self.rejected,
                "duplicates": self.duplicates,
                "adds_up": self.audience_adds_up,
            },
            "counts_add_up": self.counts_add_up,
            "reasons": {
                state.value: [asdict(reason) for reason in found] for state, found in self.reasons.items()
            },
            "numbers": [_number_json(number) for number in self.numbers],
            "cpu_us_per_message": None if cpu_us is None else round(cpu_us, 1),
            "limited": None if self.limited is None else asdict(self.limited),
            "audits": [asdict(audit) for audit in self.audits],
            "pruned": self.pruned,
            "variants": results_json(self.variants),
            "verdicts": verdicts(self.variants),
        }


async def campaign_report(pool: Pool, campaign_id: int) -> Report:
    """Read a campaign's report. Raise LookupError if the campaign does not exist."""
    sql = statements("report")
    status = await campaign_status(pool, campaign_id)
    campaign = await pool.fetchrow(sql["campaign"], campaign_id)
    assert campaign is not None, "a campaign's row is never deleted once it is planned"
    audits = await pool.fetch(sql["audits"], campaign_id)
    return Report(
        status=status,
        template=campaign["template"],
        language=campaign["language"],
        options=shown(campaign["options"]),
        audience_rows=campaign["audience_rows"],
        rejected=campaign["rejected"],
        duplicates=campaign["duplicates"],
        reasons=await _reasons(pool, campaign_id),
        numbers=await number_reports(pool, campaign_id),
        audits=tuple(Audit(**dict(audit)) for audit in audits),
        pruned=not await pool.fetchval(sql["is_kept"], campaign_id),
        variants=await variant_results(pool, campaign_id, status.templates),
    )


async def number_reports(pool: Pool, campaign_id: int) -> tuple[NumberReport, ...]:
    """Return what each number sent for a campaign."""
    rows = await pool.fetch(statements("report")["numbers"], campaign_id)
    return tuple(NumberReport(**dict(row)) for row in rows)


@dataclass(frozen=True, slots=True)
class CampaignReasons:
    """The reasons why recipients failed, were left out, are in doubt or wait, by a moment."""

    read_at: datetime
    status: CampaignStatus
    by_state: dict[RecipientState, list[ReasonCount]]


async def campaign_reasons(pool: Pool, campaign_id: int) -> CampaignReasons:
    """Read why recipients have their states. Each recipient with a reason takes 20 µs."""
    read_at = datetime.now(UTC)
    status = await campaign_status(pool, campaign_id)
    return CampaignReasons(read_at, status, await _reasons(pool, campaign_id))


async def _reasons(pool: Pool, campaign_id: int) -> dict[RecipientState, list[ReasonCount]]:
    found: dict[RecipientState, list[ReasonCount]] = {}
    sql = statements("report")["reasons"]
    for row in await pool.fetch(sql, campaign_id, REASONS_MAX, timeout=REASONS_TIMEOUT_S):
        if row["rank"] > REASONS_MAX:
            reason = ReasonCount(f"({row['reasons']:,} more reasons)", "", row["recipients"])
        else:
            reason = ReasonCount(row["reason"], meaning_of(row["reason"]), row["recipients"])
        found.setdefault(RecipientState(row["state"]), []).append(reason)
    return found


def _number_json(number: NumberReport) -> dict[str, Any]:
    achieved = number.achieved_per_s
    fields = {name: value for name, value in asdict(number).items() if name != "reply_counts"}
    return {
        **fields,
        "reply_ms": number.reply_ms,
        "achieved_per_s": None if achieved is None else round(achieved, 2),
        "share_of_limit": None if achieved is None else round(achieved / number.limit_per_s, 4),
    }
