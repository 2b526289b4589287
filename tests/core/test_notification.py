"""Which changes are told, what a person can do about them, and what an answer of a receiver means."""

from datetime import UTC, datetime
from typing import Any

import pytest

from drumbeat.engine.backoff import notification_wait_s
from drumbeat.engine.core.max_failed import exceeds_max_failed
from drumbeat.engine.core.notification import (
    GIVE_UP_S,
    Notification,
    NotificationEvent,
    Verdict,
    advice_for,
    event_of,
    verdict_of_status,
)
from drumbeat.engine.core.states import REASONS, CampaignState, ReasonCode

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "code", "event"),
    [
        (CampaignState.FINISHED, None, "campaign_finished"),
        (CampaignState.FINISHED, ReasonCode.IN_DOUBT, "campaign_finished"),
        (CampaignState.EXPIRED, ReasonCode.EXPIRED, "campaign_expired"),
        (CampaignState.PAUSED, ReasonCode.AUTHENTICATION_FAILED, "campaign_paused"),
        (CampaignState.PAUSED, ReasonCode.NUMBERS_STOPPED, "campaign_paused"),
        (CampaignState.PAUSED, ReasonCode.UNREADABLE, "campaign_paused"),
        (CampaignState.PAUSED, ReasonCode.PAUSED_BY_HAND, None),
        (CampaignState.PAUSED, ReasonCode.DATABASE_ROLLED_BACK, None),
        (CampaignState.CANCELLED, ReasonCode.CANCELLED_BY_HAND, None),
        (CampaignState.RUNNING, None, None),
        (CampaignState.RUNNING, ReasonCode.RESENDING, None),
        (CampaignState.SCHEDULED, None, None),
        (CampaignState.DRAFT, None, None),
    ],
)
def test_what_a_change_of_state_tells(
    state: CampaignState, code: ReasonCode | None, event: str | None
) -> None:
    assert event_of(state, code) == event


def told(event: NotificationEvent, **fields: Any) -> Notification:
    return Notification("id", event, NOW, **fields)


@pytest.mark.parametrize(
    ("notification", "needs_person"),
    [
        (told(NotificationEvent.CAMPAIGN_PAUSED, reason_code="authentication_failed"), True),
        (told(NotificationEvent.NUMBER_STOPPED), True),
        (told(NotificationEvent.DATABASE_ROLLBACK_DETECTED), True),
        (told(NotificationEvent.CAMPAIGN_FINISHED, reason_code="in_doubt", on_unknown="hold"), True),
        (told(NotificationEvent.CAMPAIGN_FINISHED, reason_code="in_doubt", on_unknown="resend"), False),
        (told(NotificationEvent.CAMPAIGN_FINISHED, on_unknown="hold"), False),
        (told(NotificationEvent.CAMPAIGN_EXPIRED), False),
        (told(NotificationEvent.FAILURES_EXCEEDED), False),
    ],
)
def test_who_waits_for_a_person(notification: Notification, needs_person: bool) -> None:
    assert notification.needs_person is needs_person


def test_recipients_in_doubt_are_to_be_settled() -> None:
    held = told(NotificationEvent.CAMPAIGN_FINISHED, reason_code="in_doubt", on_unknown="hold")
    assert advice_for(held).commands[0] == ("campaign", "settle", "NAME")


@pytest.mark.parametrize("event", NotificationEvent)
def test_there_is_advice_for_every_event(event: NotificationEvent) -> None:
    for code in (None, *REASONS):
        assert advice_for(told(event, reason_code=code)).sentence.endswith(".")


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (200, Verdict.DELIVERED),
        (204, Verdict.DELIVERED),
        (301, Verdict.REFUSED),
        (307, Verdict.REFUSED),
        (400, Verdict.REFUSED),
        (401, Verdict.UNAUTHORISED),
        (403, Verdict.UNAUTHORISED),
        (404, Verdict.REFUSED),
        (408, Verdict.UNREACHABLE),
        (410, Verdict.GONE),
        (429, Verdict.UNREACHABLE),
        (500, Verdict.UNREACHABLE),
        (503, Verdict.UNREACHABLE),
    ],
)
def test_what_an_answer_means(status: int, verdict: Verdict) -> None:
    assert verdict_of_status(status) is verdict


@pytest.mark.parametrize(
    ("failed", "recipients", "limit", "exceeds"),
    [
        (1_000_000, 1_000_000, None, False),
        (10, 100, "10", False),
        (11, 100, "10", True),
        (10, 100, "10%", False),
        (11, 100, "10%", True),
        (1, 1_000, "0", True),
        (0, 1_000, "0", False),
        (1, 1_000, "0.1%", False),
        (2, 1_000, "0.1%", True),
        (0, 0, "5%", False),
    ],
)
def test_when_too_many_failed(failed: int, recipients: int, limit: str | None, exceeds: bool) -> None:
    assert exceeds_max_failed(failed, recipients, limit) is exceeds


def test_waits_grow_to_an_hour_and_a_day_has_some_thirty_attempts() -> None:
    waits_s = [notification_wait_s(attempt_no) for attempt_no in range(1, 50)]
    assert 10 <= waits_s[0] <= 15
    assert 30 <= waits_s[1] <= 35
    assert 3600 <= min(waits_s[6:]) <= max(waits_s) <= 3605
    attempts = next(n for n in range(1, 50) if sum(waits_s[:n]) > GIVE_UP_S)
    assert 25 < attempts < 35


@pytest.mark.parametrize("limit", ["nan", "inf", "NaN%", "many", ""])
def test_a_limit_that_limits_no_failures_is_no_limit_of_failures(limit: str) -> None:
    with pytest.raises(ValueError):
        exceeds_max_failed(1, 10, limit)


def test_of_a_message_to_one_person_only_a_pause_is_told() -> None:
    told = {state: event_of(state, None, to_one=True) for state in CampaignState}
    assert {state for state, event in told.items() if event} == {CampaignState.PAUSED}
