"""The audit in pages: who did what, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Pool

PAGE_MAX = 100


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit. `campaign` is its name, if the action concerns one. `detail` has values such as
    the number of recipients.
    """

    audit_id: int
    at: datetime
    actor: str
    action: str
    campaign: str | None
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of the audit. `next` continues the list as `before`; None at its end."""

    entries: list[AuditEntry]
    next: int | None


async def audit_page(pool: Pool, *, before: int | None = None, limit: int = PAGE_MAX) -> AuditPage:
    """Return the newest entries with an id below `before`."""
    limit = max(1, min(limit, PAGE_MAX))
    rows = await pool.fetch(statements("results_pages")["audits"], before, limit)
    entries = [
        AuditEntry(row["audit_id"], row["at"], row["actor"], row["action"], row["campaign"], row["detail"])
        for row in rows
    ]
    return AuditPage(entries, entries[-1].audit_id if len(entries) == limit else None)


async def campaign_audits(pool: Pool, campaign_id: int) -> list[AuditEntry]:
    """Return what people did with a campaign, and with its numbers since it exists, the oldest first."""
    rows = await pool.fetch(statements("report")["audits"], campaign_id)
    return [AuditEntry(0, row["at"], row["actor"], row["action"], None, row["detail"]) for row in rows]
