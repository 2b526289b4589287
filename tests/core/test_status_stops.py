"""Failed statuses stop what the same code stops in a reply: the smallest scope, once, with the same words."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.classify import classify, classify_failure
from drumbeat.engine.core.error_codes import ERROR_CODES, QUIET_CODES
from drumbeat.engine.core.outcome import Rejected
from drumbeat.engine.core.refusal_runs import IN_A_ROW_MAX, RefusalRuns
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.core.status_stops import Reported, StatusStop, stops_of
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest, StopRequest, stop_after

NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)
TEMPLATE = "offer", "pt_BR"
REST_S = 24 * 3600.0


def failed(code: int | None, *, campaign_id: int = 1, number: str = "A", second: int = 0) -> Reported:
    at = NOON + timedelta(seconds=second)
    return Reported(campaign_id, number, True, code, "why", at, *TEMPLATE)


def reached(campaign_id: int = 1, number: str = "A") -> Reported:
    return Reported(campaign_id, number, False, None, None, NOON)


def stops(*reports: Reported, runs: RefusalRuns | None = None) -> list[StopRequest]:
    return [asked.stop for asked in stops_of(reports, runs or RefusalRuns())]


@pytest.mark.parametrize(
    ("code", "stop", "words"),
    [
        (131031, AccountStop("", ReasonCode.ACCOUNT_REFUSED), "why (131031)"),
        (131042, AccountStop("", ReasonCode.ACCOUNT_REFUSED), "why (131042)"),
        (368, AccountStop("", ReasonCode.ACCOUNT_REFUSED), "why (368)"),
        (10, AccountStop("", ReasonCode.PERMISSION_MISSING), "why (10)"),
        (190, AccountStop("", ReasonCode.AUTHENTICATION_FAILED), "why (190); set a valid access token"),
        (131048, NumberRest("A", "", REST_S), "why (131048)"),
        (131045, NumberRest("A", "", None), "why (131045)"),
        (133010, NumberRest("A", "", None), "why (133010)"),
        (132001, CampaignPause(1, "", ReasonCode.TEMPLATE_REFUSED), "why (132001)"),
        (132015, CampaignPause(1, "", ReasonCode.TEMPLATE_REFUSED), "why (132015)"),
        (132016, CampaignPause(1, "", ReasonCode.TEMPLATE_REFUSED), "why (132016)"),
    ],
)
def test_a_code_of_more_than_its_recipient_stops_at_once(code: int, stop: StopRequest, words: str) -> None:
    (found,) = stops(failed(code))
    assert (found, found.reason) == (stop, words)
    if isinstance(found, NumberRest) and isinstance(stop, NumberRest):
        assert found.wait_s == stop.wait_s


@pytest.mark.parametrize("code", [131026, 131047, 131049, 131050, 131000, 130429, 131056, 80007])
def test_what_concerns_one_recipient_or_a_moment_stops_nothing_however_often(code: int) -> None:
    assert code in QUIET_CODES
    assert stops(*[failed(code)] * 300) == []


@pytest.mark.parametrize("code", [131053, 131008, 100, 132000, 999_777, None])
def test_what_may_be_the_campaigns_fault_pauses_it_in_a_row(code: int | None) -> None:
    """An unlisted code, and a failure without one, never mean that nothing happened."""
    assert stops(*[failed(code)] * (IN_A_ROW_MAX - 1)) == []
    assert stops(*[failed(code)] * (IN_A_ROW_MAX - 1), reached(), failed(code)) == []
    (pause,) = stops(*[failed(code)] * IN_A_ROW_MAX)
    assert pause == CampaignPause(1, "", ReasonCode.RECIPIENTS_REFUSED)
    assert pause.reason.startswith(
        f"{IN_A_ROW_MAX} recipients in a row were refused: why ({code or 'failed'})"
    )


def test_a_run_goes_on_from_batch_to_batch_and_begins_anew_after_its_stop() -> None:
    runs = RefusalRuns()
    assert stops(*[failed(131053)] * (IN_A_ROW_MAX - 1), runs=runs) == []
    assert len(stops(failed(131053), runs=runs)) == 1
    assert stops(failed(131053), runs=runs) == [], "a person resumed it, and one more failed"


def test_many_failures_ask_for_one_stop_with_the_time_of_the_last_message() -> None:
    reports = [failed(132015, second=second) for second in (3, 9, 5)]
    others = [failed(132015, campaign_id=2), failed(131031), failed(131031, campaign_id=2, number="B")]
    assert stops_of([*reports, *others], RefusalRuns()) == [
        StatusStop(CampaignPause(1, "", ReasonCode.TEMPLATE_REFUSED), NOON + timedelta(seconds=9), TEMPLATE),
        StatusStop(CampaignPause(2, "", ReasonCode.TEMPLATE_REFUSED), NOON, TEMPLATE),
        StatusStop(AccountStop("", ReasonCode.ACCOUNT_REFUSED), NOON),
    ]


@given(
    code=st.sampled_from(sorted(ERROR_CODES)) | st.integers(0, 2**31 - 1),
    times=st.integers(1, 2 * IN_A_ROW_MAX),
)
def test_a_status_asks_for_the_stop_of_a_reply(code: int, times: int) -> None:
    outcome, by_reply, by_status = classify(400, code, "why", None, None), RefusalRuns(), RefusalRuns()
    for _ in range(times):
        expected = stop_after(outcome, 1, "A", by_reply) if isinstance(outcome, Rejected) else None
        found = stops(failed(code), runs=by_status)
        if expected is None:
            assert found == []
        else:
            assert found == [expected]
            assert found[0].reason.startswith(expected.reason)
            return


@given(st.integers(0, 2**31 - 1) | st.sampled_from(sorted(ERROR_CODES)))
def test_the_quiet_codes_are_those_that_mean_nothing_to_others(code: int) -> None:
    assert (code in QUIET_CODES) == (classify_failure(code, "") is None)
