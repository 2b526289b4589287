"""The actions on events about templates, numbers and accounts, once for each event.

Law: one transaction acts on one event and marks it as done. With several events it would lock rows in the
order of the events, while senders and syncs lock them in key order. A template that the service stopped
pauses its campaigns. A template that is approved again changes only its own row: a person resumes the
campaigns. After each of its events, a sending process compares it with them (`sending/template_watch.py`).
"""

import re
from typing import Any

from drumbeat.engine.core.events.records import TemplateStatus
from drumbeat.engine.core.limits.tier import known_word
from drumbeat.engine.core.service_news import (
    CATEGORY_FIELD,
    Fact,
    account_holds,
    account_words,
    facts_in,
    new_category,
)
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.core.template.events import read_template_word
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.store.account_events import (
    note_template_change,
    refresh_number,
    refresh_numbers,
    set_template_category,
    set_template_status,
    take_oldest,
)
from drumbeat.engine.store.campaign_states import pause_all_campaigns, pause_campaigns_of_template
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.service_facts import store_facts
from drumbeat.engine.webhooks.parse import (
    COMPONENTS_FIELD,
    TEMPLATE_FIELD,
    read_template,
    read_template_status,
)

EVENTS_AT_ONCE = 100
NUMBER_FIELD = "phone_number_quality_update"
# The fields whose events may make the stored numbers outdated.
ACCOUNT_FIELDS = frozenset({"account_update", "account_alerts", "business_capability_update"})

_log = get_logger(__name__)


async def act(connection: Connection) -> int:
    """Act on the oldest unprocessed events. Return how many; 0 also while another process acts."""
    acted = 0
    while acted < EVENTS_AT_ONCE and await _act_on_oldest(connection):
        acted += 1
    return acted


async def _act_on_oldest(connection: Connection) -> bool:
    async with connection.transaction():
        event = await take_oldest(connection)
        if event is None:
            return False
        if not event.is_stale:
            await _act_on(connection, event.field, event.value)
    return True


async def _act_on(connection: Connection, field: str, value: dict[str, Any]) -> None:
    await _note_facts(connection, field, value)
    template = read_template(value)
    if field == TEMPLATE_FIELD:
        status = read_template_status(value)
        if status is not None:
            await _set_template(connection, status)
    elif field == COMPONENTS_FIELD and template is not None:
        await note_template_change(connection, *template)
    elif field == CATEGORY_FIELD and template is not None:
        await set_template_category(connection, *template, new_category(value))
    elif field == NUMBER_FIELD:
        await _refresh_number(connection, value)
    elif field in ACCOUNT_FIELDS:
        await refresh_numbers(connection)


async def _note_facts(connection: Connection, field: str, value: dict[str, Any]) -> None:
    """Store what the event says for people. An account that cannot send holds its campaigns at once."""
    facts = facts_in(field, value)
    if facts:
        await store_facts(connection, facts)
    for fact in facts:
        if fact.fact is Fact.ACCOUNT and account_holds(fact.word):
            await _hold_account(connection, account_words(fact.word))


async def _hold_account(connection: Connection, words: str) -> None:
    """Pause every campaign that could send: each message would be refused."""
    paused = await pause_all_campaigns(connection, words, ReasonCode.ACCOUNT_REFUSED)
    _log.warning("account_stopped", reason=words, campaigns=paused)


async def _set_template(connection: Connection, status: TemplateStatus) -> None:
    reason = None if not status.reason or status.reason.upper() == "NONE" else status.reason
    word = read_template_word(status.event)
    await set_template_status(connection, status.name, status.language, word.status, reason)
    if not word.stopped:
        return
    why = f": {reason}" if reason else ""
    words = f"template {status.name} ({status.language}) was {word.stopped} by the service{why}"
    paused = await pause_campaigns_of_template(connection, status.name, status.language, words)
    _log.warning("template_stopped", template=status.name, language=status.language, campaigns=paused)


async def _refresh_number(connection: Connection, value: dict[str, Any]) -> None:
    digits = re.sub(r"\D", "", str(value.get("display_phone_number") or ""))
    limit = value.get("current_limit")
    tier = limit if isinstance(limit, str) and limit.upper().startswith("TIER_") else None
    if digits:
        await refresh_number(connection, digits, tier, known_word(tier))
    else:
        await refresh_numbers(connection)
