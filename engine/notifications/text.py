"""The words and the JSON of notifications. They hold no recipient's data: phones in reasons are masked."""

import shlex
from collections.abc import Sequence
from typing import Any

from drumbeat.engine.core.notification import Notification, NotificationEvent, advice_for
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.process.telemetry import mask_text

SCHEMA = 1
NAMED_MAX = 100  # campaigns that one mail names
SUBJECT_CHARACTERS_MAX = 150

_HEADLINES = {
    NotificationEvent.CAMPAIGN_FINISHED: "finished",
    NotificationEvent.CAMPAIGN_PAUSED: "paused",
    NotificationEvent.CAMPAIGN_EXPIRED: "expired",
    NotificationEvent.FAILURES_EXCEEDED: "too many failures",
    NotificationEvent.NUMBER_STOPPED: "stopped by the service",
    NotificationEvent.DATABASE_ROLLBACK_DETECTED: "restored, copied or failed over: every campaign is paused",
    NotificationEvent.WARNING: "the service warns",
    NotificationEvent.TEST: "this is a test",
}


def as_json(notification: Notification) -> dict[str, Any]:
    """Return the body of a webhook. Keys are added, never renamed."""
    return {
        "schema": SCHEMA,
        "id": notification.public_id,
        "event": notification.event.value,
        "at": notification.at,
        "campaign": notification.campaign,
        "external_id": notification.external_id,
        "number": notification.number,
        "state": notification.state,
        "reason": _safe(notification.reason),
        "reason_code": notification.reason_code,
        "recipients": notification.recipients,
        "counts": notification.counts,
        "needs_person": notification.needs_person,
        "commands": commands(notification),
    }


def commands(notification: Notification) -> list[str]:
    """Return the commands to run next, ready to copy."""
    name = notification.campaign or notification.number or ""
    return [
        shlex.join(["drumbeat", *(name if word == "NAME" else word for word in words)])
        for words in advice_for(notification).commands
    ]


def subject(told: Sequence[Notification]) -> str:
    """Return the subject of a mail about notifications of one cause."""
    first = told[0]
    about = _about(first) if len(told) == 1 else f"{len(told)} campaigns"
    return sanitise(f"[drumbeat] {about}: {_HEADLINES[first.event]}")[:SUBJECT_CHARACTERS_MAX]


def body(told: Sequence[Notification]) -> str:
    """Return the body of a mail about notifications of one cause."""
    first, named = told[0], told[:NAMED_MAX]
    lines = [f"{_about(first) if len(told) == 1 else f'{len(told)} campaigns'}: {_HEADLINES[first.event]}."]
    if first.reason:
        code = f" ({first.reason_code})" if first.reason_code else ""
        lines.append(f"Reason: {_safe(first.reason)}{code}")
    lines += [f"Time: {first.at:%Y-%m-%d %H:%M:%S %Z}", "", advice_for(first).sentence, ""]
    for notification in named:
        lines += [*_recipients(notification), *(f"    {line}" for line in commands(notification)), ""]
    if len(told) > len(named):
        lines += [f"and {len(told) - len(named)} more: drumbeat campaign list", ""]
    return "\n".join([*lines, f"Notification: {first.public_id}", ""])


def _about(notification: Notification) -> str:
    if notification.campaign is not None:
        return f"campaign {sanitise(notification.campaign)}"
    if notification.number is not None:
        return f"number {notification.number}"
    others = {NotificationEvent.TEST: "notifications", NotificationEvent.WARNING: "account"}
    return others.get(notification.event, "database")


def _recipients(notification: Notification) -> list[str]:
    if notification.counts is None:
        return []
    counts = ", ".join(f"{count:,} {state}" for state, count in notification.counts.items() if count)
    name = sanitise(notification.campaign or "")
    return [f"{name}: {notification.recipients:,} recipients, {counts}"]


def _safe(reason: str) -> str:
    return mask_text(sanitise(reason))
