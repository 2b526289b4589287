"""The status of a campaign: recipients by present state, and how fast its numbers send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import repeat
from typing import Any

from drumbeat.campaigns.account.numbers import quota_fields
from drumbeat.campaigns.campaign import stored_code
from drumbeat.campaigns.results.number_progress import NumberProgress, WaitingGroup
from drumbeat.campaigns.results.why import Person, Why, explain, reason_in_words, whys_json
from drumbeat.campaigns.sql import statements
from drumbeat.campaigns.template_shares import TemplateShare, shares_in, shares_json
from drumbeat.engine.core.limits.recipient_reasons import reason_code
from drumbeat.engine.core.max_failed import exceeds_max_failed
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.service_news import ACCOUNT, Fact, StoredFact
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.sending.number_sync import DEFAULT_LIMIT_PER_S
from drumbeat.engine.store.canaries import StoredCanary, read_canary
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.quota import read_number_standings

SCHEMA = 1
BY_HAND = frozenset({ReasonCode.PAUSED_BY_HAND, ReasonCode.CANCELLED_BY_HAND})
FINAL_STATES = frozenset({CampaignState.FINISHED, CampaignState.CANCELLED, CampaignState.EXPIRED})


NOBODY_SENDS = "no process sends it now"  # shown for a running campaign without an owner
SETTLE_HINT = "in doubt: see `campaign settle`"
PRUNED_IN_DOUBT = "in doubt when they were pruned"


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """A campaign at one moment. `counts` has the recipients by present state; they add up to `recipients`.

    `measured_per_s` is the number of messages per second between two readings, if there were two. Of
    `pruned_recipients`, only the counts are left; `pruned_unknown` are those of them who were in doubt.
    `stopped_by` says who paused or cancelled it, if a person did. `warnings` are what the service says of its
    numbers, its templates and the account.
    """

    name: str
    state: CampaignState
    reason: str
    reason_code: ReasonCode | None
    recipients: int
    counts: dict[RecipientState, int]
    start_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    numbers: tuple[NumberProgress, ...]
    measured_per_s: float | None = None
    pruned_recipients: int = 0
    pruned_unknown: int = 0
    waits: tuple[WaitingGroup, ...] = ()
    templates: Sequence[TemplateShare] = ()
    priority: str = Priority.NORMAL.word
    share_percent: int | None = None
    pause_at_failed: str | None = None
    canary: StoredCanary | None = None
    stopped_by: Person | None = None
    external_id: str | None = None
    warnings: Sequence[StoredFact] = ()

    @property
    def in_doubt(self) -> int:
        """Return how many recipients can still be settled."""
        return self.counts[RecipientState.UNKNOWN] - self.pruned_unknown

    @property
    def unsettled(self) -> int:
        """Return how many messages a status may still settle: they are accepted, sent or in doubt."""
        return self.counts[RecipientState.ACCEPTED] + self.counts[RecipientState.SENT] + self.in_doubt

    @property
    def nobody_sends(self) -> bool:
        """Return whether the campaign runs and none of its numbers has a living owner."""
        return self.state is CampaignState.RUNNING and not any(number.owner for number in self.numbers)

    @property
    def waiting(self) -> int:
        """Return how many recipients are still to be sent to."""
        return self.counts[RecipientState.PENDING] + self.counts[RecipientState.DEFERRED]

    @property
    def rate_per_s(self) -> float | None:
        """Return the messages per second sent lately; 0 while nobody sends, None if not measured."""
        is_sent = self.state is CampaignState.RUNNING and not self.nobody_sends
        return self.measured_per_s if is_sent else 0.0

    @property
    def eta_s(self) -> float | None:
        """Return the seconds until everything is sent at the present rate; None without a rate."""
        return self.waiting / self.rate_per_s if self.rate_per_s else None

    @property
    def reason_in_words(self) -> str:
        """Return why the campaign is in its state."""
        return reason_in_words(self.why, self.reason)

    @property
    def why(self) -> list[Why]:
        """Return what the campaign waits for or what slows it down, with who, where and until when."""
        return explain(
            self.state,
            self.reason,
            self.reason_code,
            self.numbers,
            self.waits,
            self.stopped_by,
            self.start_at,
            self.warnings,
        )

    def failed_above(self, max_failed: str | None) -> bool:
        """Return whether more recipients failed than `max_failed` allows; see `exceeds_max_failed`."""
        return exceeds_max_failed(self.counts[RecipientState.FAILED], self.recipients, max_failed)

    def as_json(self) -> dict[str, Any]:
        """Return the document that scripts rely on. Its shape is fixed; times are ISO 8601, rates are
        messages per second.
        """
        eta_s, rate_per_s = self.eta_s, self.rate_per_s
        return {
            "schema": SCHEMA,
            "name": self.name,
            "external_id": self.external_id,
            "state": self.state.value,
            "reason": self.reason,
            "reason_code": self.reason_code,
            "recipients": self.recipients,
            "counts": {state.value: self.counts[state] for state in RecipientState},
            "rate_per_s": None if rate_per_s is None else round(rate_per_s, 1),
            "eta_s": None if eta_s is None else round(eta_s, 1),
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "numbers": [asdict(number) for number in self.numbers],
            "nobody_sends": self.nobody_sends,
            "pruned_recipients": self.pruned_recipients,
            "pruned_unknown": self.pruned_unknown,
            "waits": [asdict(group) for group in self.waits],
            "templates": shares_json(self.templates, self.recipients),
            "priority": self.priority,
            "share_percent": self.share_percent,
            "pause_at_failed": self.pause_at_failed,
            "canary": None if self.canary is None else _canary_json(self.canary),
            "why": whys_json(self.why),
        }


def _canary_json(canary: StoredCanary) -> dict[str, Any]:
    counts = canary.counts
    return {
        "state": canary.state,
        "recipients": counts.recipients,
        "sent_to": counts.sent_to,
        "arrived": counts.arrived,
        "failed": counts.failed,
        "max_failed": canary.max_failed,
        "needs_approval": canary.needs_approval,
        "wait_s": canary.wait_s,
        "sent_at": canary.sent_at,
        "approved_at": canary.approved_at,
        "passed_at": canary.passed_at,
    }


def measured_per_s(before: CampaignStatus, after: CampaignStatus, elapsed_s: float) -> float:
    """Return the messages per second between two readings, never more than the true rate.

    Requests are counted in batches, which may include requests from before the first reading. So the time
    between the last requests counts if it is longer.
    """
    return sum(map(_measured_per_s, before.numbers, after.numbers, repeat(elapsed_s)))


def _measured_per_s(before: NumberProgress, after: NumberProgress, elapsed_s: float) -> float:
    if before.last_attempt_at and after.last_attempt_at:
        written_s = (after.last_attempt_at - before.last_attempt_at).total_seconds()
        elapsed_s = max(elapsed_s, written_s)
    return (after.attempts - before.attempts) / elapsed_s


async def campaign_status(pool: Pool, campaign_id: int) -> CampaignStatus:
    """Read a campaign's status, in 1 µs for each range. Raise LookupError if it does not exist."""
    row = await pool.fetchrow(queries("progress")["status"], campaign_id)
    if row is None:
        raise LookupError(f"no campaign {campaign_id}")
    code = stored_code(row["reason_code"])
    reason, code = present_reason(row["reason"], code, row["unknown"], row["pruned_unknown"])
    return CampaignStatus(
        name=row["name"],
        external_id=row["external_id"],
        state=CampaignState(row["state"]),
        reason=reason,
        reason_code=code,
        recipients=row["recipients"],
        counts=_counts(dict(row)),
        start_at=row["start_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        numbers=tuple(await number_progress(pool, campaign_id, row["phone_number_ids"])),
        pruned_recipients=row["pruned_recipients"],
        pruned_unknown=row["pruned_unknown"],
        waits=tuple(
            WaitingGroup(group["reason"], reason_code(group["reason"]), group["until"], group["recipients"])
            for group in await pool.fetch(statements("guards")["waiting"], campaign_id)
        ),
        templates=shares_in(row["template"]),
        priority=row["priority"],
        share_percent=row["share_percent"],
        pause_at_failed=row["pause_at_failed"],
        canary=None if row["pruned_recipients"] else await read_canary(pool, campaign_id),
        warnings=await _warnings(pool, row["phone_number_ids"], shares_in(row["template"])),
        stopped_by=(await read_stoppers(pool, [campaign_id])).get(campaign_id) if code in BY_HAND else None,
    )


async def _warnings(
    pool: Pool, numbers: Sequence[str], templates: Sequence[TemplateShare]
) -> Sequence[StoredFact]:
    subjects = [ACCOUNT, *numbers, *(f"{each.name} ({each.language})" for each in templates)]
    rows = await pool.fetch(queries("service_facts")["present"], subjects)
    return [StoredFact(row["subject"], Fact(row["fact"]), row["word"]) for row in rows]


async def number_progress(
    database: Pool | Connection, campaign_id: int | None, phone_number_ids: Sequence[str]
) -> list[NumberProgress]:
    """Return how these numbers send now, and what they did for the campaign. With `campaign_id` None, no
    campaign is asked about.
    """
    rows = await database.fetch(
        statements("progress")["numbers"], campaign_id, phone_number_ids, DEFAULT_LIMIT_PER_S
    )
    standings = await read_number_standings(database)
    return [
        NumberProgress(**dict(row), **quota_fields(standings.get(row["phone_number_id"]))) for row in rows
    ]


async def read_stoppers(database: Pool | Connection, campaign_ids: Sequence[int]) -> dict[int, Person]:
    """Return who paused or cancelled each campaign last. A campaign that nobody stopped is missing."""
    rows = await database.fetch(statements("progress")["stoppers"], campaign_ids)
    return {row["campaign_id"]: Person(row["actor"], row["at"]) for row in rows}


def present_reason(
    reason: str, code: ReasonCode | None, unknown: int, pruned: int = 0
) -> tuple[str, ReasonCode | None]:
    """Return the reason that holds now: statuses and people settle recipients in doubt after the run.

    `pruned` is how many of the `unknown` were pruned. Nobody can settle these any more.
    """
    if code is not ReasonCode.IN_DOUBT:
        return reason, code
    parts = [f"{unknown - pruned} {SETTLE_HINT}"] if unknown > pruned else []
    parts += [f"{pruned} {PRUNED_IN_DOUBT}"] if pruned else []
    return ("; ".join(parts), code) if parts else ("", None)


def _counts(row: dict[str, Any]) -> dict[RecipientState, int]:
    counts = {state: int(row.get(state.value, 0)) for state in RecipientState}
    counts[RecipientState.PENDING] = int(row["recipients"]) - sum(counts.values())
    return counts
