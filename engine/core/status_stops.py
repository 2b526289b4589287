"""The stops that failed statuses ask for.

Law: a code stops the same as in a reply, with the same words. A person's resume ends the effect of earlier
messages, so each stop has the time of the last message that asked for it.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from drumbeat.engine.core.classify import classify_failure
from drumbeat.engine.core.error_codes import remedy_of
from drumbeat.engine.core.outcome import Scope
from drumbeat.engine.core.refusal_runs import RefusalRuns
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest, StopRequest, stop_after


class Reported(NamedTuple):
    """The news of a message that a status brings. `failed` False: it reached a phone.

    `attempted_at` is when it was written. `template_name` is None if it has no template.
    """

    campaign_id: int
    phone_number_id: str
    failed: bool
    code: int | None
    detail: str | None
    attempted_at: datetime
    template_name: str | None = None
    template_language: str | None = None


class StatusStop(NamedTuple):
    """A stop, and the time of the last message that asked for it.

    `template` has name and language, if every campaign of this template pauses.
    """

    stop: StopRequest
    attempted_at: datetime
    template: tuple[str, str] | None = None


def stops_of(reports: Iterable[Reported], runs: RefusalRuns) -> list[StatusStop]:
    """Return one stop for each campaign, template, number or account. `reports` are in the order of arrival.

    `runs` counts failures in a row. A run that led to a stop begins anew: only a person ends the stop.
    """
    found: dict[tuple[StopRequest, tuple[str, str] | None], StatusStop] = {}
    for report in reports:
        if not report.failed:
            runs.accepted(report.campaign_id, report.phone_number_id)
        elif (asked := _stop_of(report, runs)) is not None:
            _begin_anew(asked.stop, runs)
            key = asked.stop, asked.template
            earlier = found.get(key)
            if earlier is None or earlier.attempted_at < asked.attempted_at:
                found[key] = asked
    return list(found.values())


def _stop_of(report: Reported, runs: RefusalRuns) -> StatusStop | None:
    refusal = classify_failure(report.code, report.detail or "")
    if refusal is None:
        return None
    stop = stop_after(refusal, report.campaign_id, report.phone_number_id, runs)
    if stop is None:
        return None
    if isinstance(stop, AccountStop) and stop.code is ReasonCode.AUTHENTICATION_FAILED:
        stop = replace(stop, reason=f"{stop.reason}; {remedy_of(refusal.name)}")
    template = None
    if refusal.scope is Scope.TEMPLATE and report.template_name and report.template_language:
        template = report.template_name, report.template_language
    return StatusStop(stop, report.attempted_at, template)


def _begin_anew(stop: StopRequest, runs: RefusalRuns) -> None:
    match stop:
        case CampaignPause(campaign_id):
            runs.forget_campaign(campaign_id)
        case NumberRest(phone_number_id):
            runs.forget_number(phone_number_id)
        case AccountStop():
            runs.lengths.clear()
