"""The comparison of templates with campaigns, after an event about a template, or when a scheduled campaign
starts.

It pauses campaigns whose messages no longer fit, and those whose template the service does not send. An event
or a start sets `compare_at` of a template. A process that finds it due moves it into the future. So the
others leave it alone meanwhile, and a comparison that failed comes due again. After a comparison it is NULL.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime
from typing import NamedTuple

import asyncpg

from drumbeat.engine.core.states import CampaignEvent, CampaignState, ReasonCode
from drumbeat.engine.core.template.campaign_template import frozen_templates
from drumbeat.engine.core.template.changes import Definitions, misfit_text, template_changes
from drumbeat.engine.core.template.status import stopped_templates
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.listed_templates import stored_statuses
from drumbeat.engine.store.campaign_states import apply_if_allowed
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.queries import queries

LOOK_PERIOD_S = 1.0
# Campaigns that send, or will send without a person. A paused one is compared when it is resumed.
_WITHOUT_A_PERSON = (CampaignState.SCHEDULED, CampaignState.RUNNING)

log = get_logger(__name__)


class _Due(NamedTuple):
    """A template to compare. `compare_at` is the value that this process stored; a later event changes it."""

    name: str
    language: str
    compare_at: datetime


class TemplateWatch:
    """The watch of one process. `read` reads the templates of these names from the service."""

    def __init__(self, pool: Pool, read: Callable[[Collection[str]], Awaitable[Definitions]]) -> None:
        self._pool = pool
        self._read = read
        self._look_after_s = 0.0
        self._due: list[_Due] = []

    async def find_due(self, connection: Connection) -> bool:
        """Return whether there is something to compare."""
        if time.monotonic() >= self._look_after_s:
            self._look_after_s = time.monotonic() + LOOK_PERIOD_S
            rows = await connection.fetch(queries("templates")["take_changed"])
            self._due += [_Due(row["name"], row["language"], row["compare_at"]) for row in rows]
        return bool(self._due)

    async def run(self) -> None:
        """Compare once. A failure is logged."""
        due, self._due = self._due, []
        try:
            names = {template.name for template in due}
            now = await self._read(names)
            statuses = await stored_statuses(self._pool, names)
            async with self._pool.acquire(timeout=5) as connection:
                for row in await connection.fetch(queries("templates")["campaigns_in"], _WITHOUT_A_PERSON):
                    await _compare(connection, row, due, now, statuses)
                columns = [list(column) for column in zip(*due, strict=True)]
                await connection.execute(queries("templates")["compared"], *columns)
        except Exception as problem:  # whatever the service lists must not end the process
            log.warning("templates_not_read", problem=f"{type(problem).__name__}: {problem}"[:200])


async def _compare(
    connection: Connection,
    row: asyncpg.Record,
    due: Collection[_Due],
    now: Definitions,
    statuses: Mapping[tuple[str, str], str],
) -> None:
    try:
        frozen = frozen_templates(row["template"])
    except (KeyError, TypeError):
        return  # the reader pauses a campaign that cannot be read
    keys = {(template.name, template.language) for template in due}
    concerned = [each for each in frozen if (each.name, each.language) in keys]
    changes = template_changes(concerned, now)
    campaign = {"campaign": row["name"], "campaign_id": row["campaign_id"]}
    if changes.texts:
        log.info("template_text_changed", **campaign, templates=list(changes.texts))
    if changes.misfits:
        reason, code = misfit_text(changes), ReasonCode.TEMPLATE_CHANGED
        await apply_if_allowed(connection, row["campaign_id"], CampaignEvent.PAUSE, reason, code)
        log.warning("template_changed", **campaign, reason=reason)
    elif stopped := stopped_templates(concerned, statuses):
        code = ReasonCode.TEMPLATE_REFUSED
        await apply_if_allowed(connection, row["campaign_id"], CampaignEvent.PAUSE, stopped.text, code)
        log.warning("campaign_paused", **campaign, reason=stopped.text)
