"""The checks of what the receiver has stored: the last event, refusals, and what could not be read."""

from datetime import UTC, datetime

from drumbeat.campaigns.doctor.finding import Finding, ok, warn
from drumbeat.campaigns.duration import duration
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.limits.opt_out import read_word
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.opt_out_words import Words
from drumbeat.engine.webhooks.refusals import Refusal

REMEDIES = {
    Refusal.SIGNATURE: "set DRUMBEAT_APP_SECRET to the secret of the app, or find out who else posts there",
    Refusal.NO_SIGNATURE: "let the proxy pass X-Hub-Signature-256, or find out who else posts there",
    Refusal.HANDSHAKE: "set DRUMBEAT_VERIFY_TOKEN to the token with which the callback was registered",
    Refusal.PATH: "register the address that `webhooks serve` prints, or give it the path with --path",
    Refusal.METHOD: "find out who calls it: the service uses GET and POST",
    Refusal.CODING: "let the proxy pass bodies as they come, or packed with gzip",
    Refusal.TOO_LARGE: "find out who posts it: the service's bodies are smaller",
    Refusal.NOT_HTTP: "find out who calls it: these are no HTTP requests",
    Refusal.BUSY: "see whether the database answers in time; the service repeats these events",
}


async def check_receiving(pool: Pool) -> list[Finding]:
    """Check when the last event came, what was refused in the last hour, and what was set aside."""
    sql = statements("doctor")
    row = await pool.fetchrow(sql["receiving"])
    assert row is not None
    refused = [
        _refusal(each["reason"], each["refused"], each["last_at"])
        for each in await pool.fetch(sql["refusals"])
    ]
    aside = [_set_aside(each["problem"], each["events"]) for each in await pool.fetch(sql["set_aside"])]
    untied = row["untied"] + await _stops_of_nobody(pool)
    return [_last_event(row["last_event_at"]), *refused, *aside, *_untied(untied)]


async def _stops_of_nobody(pool: Pool) -> int:
    """Count the messages that opt out and whose senders have no phone that is known."""
    async with pool.acquire() as connection:
        words = (await Words.read(connection)).out
        rows = await connection.fetch(statements("doctor")["untied_messages"])
    return sum(read_word(row["body"], words) is not None for row in rows)


def _last_event(last_at: datetime | None) -> Finding:
    if last_at is None:
        return ok("events", "none came yet; the first message that is sent shows whether they arrive")
    return ok("events", f"the last one that was verified came {_ago(last_at)} ago")


def _refusal(reason: str, refused: int, last_at: datetime) -> Finding:
    requests, ago = pluralise(refused, "request"), _ago(last_at)
    found = f"{reason}: {requests} refused in the last hour, the last one {ago} ago"
    return warn("callback", found, REMEDIES.get(Refusal(reason), "see the log of the receiver"))


def _set_aside(problem: str, events: int) -> Finding:
    found = f"{pluralise(events, 'event')} could not be read: {sanitise(problem)}"
    return warn("set aside", found, "upgrade, then `drumbeat webhooks reread`; `db prune` drops old ones")


def _untied(people: int) -> list[Finding]:
    if not people:
        return []
    name = pluralise(people, "opt-out names", "opt-outs name")
    found = f"{name} no phone that is known, so nobody is suppressed"
    return [warn("opt-outs", found, "see `drumbeat replies`; they are tied when the person's phone is seen")]


def _ago(moment: datetime) -> str:
    return duration(max(0.0, (datetime.now(UTC) - moment).total_seconds()))
