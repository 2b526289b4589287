"""The states, in an earlier campaign, of the recipients of a retry campaign."""

from collections.abc import Sequence

from drumbeat.engine.core.limits.guard import PASS, Defer, Refuse, Verdict
from drumbeat.engine.core.limits.retry_guard import EarlierRecipient, check_retry
from drumbeat.engine.store.claims import Candidate
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries


async def retry_verdicts(
    connection: Connection, candidates: Sequence[Candidate]
) -> dict[tuple[int, int], Defer | Refuse]:
    """Return the verdict on each candidate that may not be sent to now, by (range_id, seq)."""
    rows = await connection.fetch(
        queries("retried")["earlier"],
        [candidate.range_id for candidate in candidates],
        [candidate.seq for candidate in candidates],
    )
    found: dict[tuple[int, int], Defer | Refuse] = {}
    for row in rows:
        key = row["range_id"], row["seq"]
        earlier = EarlierRecipient(row["campaign"], row["state"], row["code"], row["failed_for_s"])
        verdict = strictest(found.get(key, PASS), check_retry(earlier))
        if isinstance(verdict, Defer | Refuse):
            found[key] = verdict
    return found


def strictest(one: Verdict, other: Verdict) -> Verdict:
    """Return the stricter verdict. A refusal is stricter than a wait, a longer wait than a shorter one."""
    return max(one, other, key=_strictness)


def _strictness(verdict: Verdict) -> float:
    if isinstance(verdict, Refuse):
        return float("inf")
    return verdict.wait_s if isinstance(verdict, Defer) else -1.0
