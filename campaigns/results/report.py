"""What became of a campaign: who got it, who did not and why, how fast, and whether everything adds up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from campaigns.results.status import CampaignStatus, campaign_status
from engine.core.states import RecipientState
from engine.store.database import Pool
from engine.store.queries import queries

SCHEMA = 1
REASONS_MAX = 500  # of a state, the most frequent; a line sums up the others, so that all add up
REASONS_TIMEOUT_S = 900.0  # each recipient with a reason is looked up, at 20 µs, and there may be millions

UNLISTED = "an error that the interface does not list"
_EXPIRED = "the access token is expired or not valid"
_PERMISSION = "the access token lacks a permission"
_FAILED = "the service failed, and said so"
_ACCOUNT_THROTTLED = "rate limit of the app or the account: it waits for its turn again"
_NUMBER_STOPPED = "the number cannot send: not registered, or not usable by this token"
# What a failure means, in words. Source: the interface's table of errors, and open point "Errors".
MEANINGS = {
    **dict.fromkeys(("0", "104", "190"), _EXPIRED),
    **dict.fromkeys(("3", "10", *map(str, range(200, 300))), _PERMISSION),
    **dict.fromkeys(("1", "2", "131000", "131016", "131057", "133004"), _FAILED),
    **dict.fromkeys(("4", "17", "80007"), _ACCOUNT_THROTTLED),
    **dict.fromkeys(("33", "131045", "133000", "133010"), _NUMBER_STOPPED),
    "100": "a parameter of the request is not valid",
    "368": "the account is blocked for a while, for a violation of the service's policies",
    "130472": "the recipient takes part in an experiment of the service and gets no marketing",
    "130497": "the business may not message this country",
    "130429": "rate limit of the number: it waits for its turn again",
    "131008": "a required parameter is missing",
    "131009": "a parameter has a value that is not valid",
    "131021": "the recipient is the sending number itself",
    "131026": "undeliverable: not on the network, or the recipient has blocked the business",
    "131030": "the recipient is not in the allowed list of a test number",
    "131031": "the account is locked",
    "131042": "the account cannot be charged",
    "131047": "the 24-hour window is closed and this is no template",
    "131048": "the number is flagged for spam",
    "131049": "held back by the service: the recipient got much marketing lately",
    "131050": "the recipient asked for no more marketing",
    "131051": "a type of message that the service does not know",
    "131052": "the media could not be fetched",
    "131053": "the media could not be uploaded",
    "131056": "too many messages to the same recipient in a short time",
    "132000": "the number of parameters is not that of the template",
    "132001": "the template does not exist in this language",
    "132012": "the parameters do not match the placeholders of the template",
    "132015": "the template is paused",
    "132016": "the template is disabled",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Recipients in one state for one reason. `meaning` is empty where the reason says it all."""

    reason: str
    meaning: str
    recipients: int


@dataclass(frozen=True, slots=True)
class NumberReport:
    """What one number did. `achieved_per_s`: requests over `active_s`, the seconds spent sending; None where
    they are too few to say.
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


@dataclass(frozen=True, slots=True)
class Audit:
    """What a person did with the campaign after it was planned."""

    at: datetime
    actor: str
    action: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """A campaign's end, or how far it is. `reasons`: of failed, skipped, unknown and deferred recipients.

    `options`: what `campaign create` was given, by the spelling on the command line; None where it was not.
    `pruned`: its recipients are gone, and with them their reasons; its counts are kept.
    """

    status: CampaignStatus
    template: str
    language: str
    options: dict[str, Any]
    audience_rows: int
    rejected: int
    duplicates: int
    reasons: dict[RecipientState, list[Reason]]
    numbers: tuple[NumberReport, ...]
    audits: tuple[Audit, ...]
    pruned: bool

    @property
    def audience_adds_up(self) -> bool:
        """Nobody is forgotten: every row of the file became a recipient, a reject or a duplicate."""
        return self.audience_rows == self.status.recipients + self.rejected + self.duplicates

    @property
    def counts_add_up(self) -> bool:
        counts = self.status.counts.values()
        return sum(counts) == self.status.recipients and min(counts) >= 0

    @property
    def cpu_us_per_message(self) -> float | None:
        """CPU time of the sending processes for each accepted message; None before the first."""
        accepted = sum(number.accepted for number in self.numbers)
        return 1e6 * sum(number.cpu_s for number in self.numbers) / accepted if accepted else None

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
            "reasons": {state.value: [asdict(one) for one in found] for state, found in self.reasons.items()},
            "numbers": [_number_json(number) for number in self.numbers],
            "cpu_us_per_message": None if cpu_us is None else round(cpu_us, 1),
            "audits": [asdict(audit) for audit in self.audits],
            "pruned": self.pruned,
        }


async def campaign_report(pool: Pool, campaign_id: int) -> Report:
    """Read a campaign's report; LookupError where there is no such campaign."""
    sql = queries("report")
    status = await campaign_status(pool, campaign_id)
    campaign = await pool.fetchrow(sql["campaign"], campaign_id)
    assert campaign is not None, "a campaign's row is never deleted once it is planned"
    numbers = await pool.fetch(sql["numbers"], campaign_id)
    audits = await pool.fetch(sql["audits"], campaign_id)
    return Report(
        status=status,
        template=campaign["template"],
        language=campaign["language"],
        options=campaign["options"],
        audience_rows=campaign["audience_rows"],
        rejected=campaign["rejected"],
        duplicates=campaign["duplicates"],
        reasons=await _reasons(pool, campaign_id),
        numbers=tuple(NumberReport(**dict(number)) for number in numbers),
        audits=tuple(Audit(**dict(audit)) for audit in audits),
        pruned=not await pool.fetchval(sql["has_ranges"], campaign_id),
    )


def meaning_of(reason: str) -> str:
    """A failure's name in words; empty for what is in words already."""
    if reason.startswith("http_"):
        return f"HTTP {reason.removeprefix('http_')} without an error code"
    return MEANINGS.get(reason, UNLISTED if reason.isdecimal() else "")


async def _reasons(pool: Pool, campaign_id: int) -> dict[RecipientState, list[Reason]]:
    found: dict[RecipientState, list[Reason]] = {}
    sql = queries("report")["reasons"]
    for row in await pool.fetch(sql, campaign_id, REASONS_MAX, timeout=REASONS_TIMEOUT_S):
        if row["rank"] > REASONS_MAX:
            reason = Reason(f"({row['reasons']:,} more reasons)", "", row["recipients"])
        else:
            reason = Reason(row["reason"], meaning_of(row["reason"]), row["recipients"])
        found.setdefault(RecipientState(row["state"]), []).append(reason)
    return found


def _number_json(number: NumberReport) -> dict[str, Any]:
    achieved = number.achieved_per_s
    return {
        **asdict(number),
        "achieved_per_s": None if achieved is None else round(achieved, 2),
        "share_of_limit": None if achieved is None else round(achieved / number.limit_per_s, 4),
    }
