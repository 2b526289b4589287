"""Facts and messages made without the constructors of their tuples have every field. What an outcome means
for the pace, the number, the campaign and the account.
"""

import time
from types import SimpleNamespace
from typing import cast

import pytest

from drumbeat.engine.clock import SECOND_NS, monotonic_ns, wall_offset_ns
from drumbeat.engine.core.classify import classify
from drumbeat.engine.core.outcome import (
    Accepted,
    NotSent,
    Outcome,
    Rejected,
    Scope,
    Throttled,
    Transient,
    Unknown,
)
from drumbeat.engine.core.pace.circuit_breaker import CircuitBreaker
from drumbeat.engine.core.pace.rate_governor import RateGovernor
from drumbeat.engine.core.refusal_runs import IN_A_ROW_MAX, RefusalRuns
from drumbeat.engine.core.retry import Budget
from drumbeat.engine.core.states import ReasonCode
from drumbeat.engine.core.stops import AccountStop, CampaignPause, NumberRest, StopRequest
from drumbeat.engine.core.tag import Tag, encode
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.flow_context import FlowContext, PeerNumber
from drumbeat.engine.sending.messages import ClaimedMessage, GrantedClaims
from drumbeat.engine.sending.outcome_policy import OutcomePolicy, fact_of
from drumbeat.engine.sending.quotas import Quotas
from drumbeat.engine.store.claims import Candidate
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.leases import Lease
from tests.sending.fakes import claimed

LEASE = Lease("1055", epoch=7, wait_s=0.0)
SPENT = Budget(pair_throttles=2)


def test_an_acceptance_becomes_a_fact_with_every_field() -> None:
    written_ns = monotonic_ns()
    message = ClaimedMessage(3, 1 << 50, 12, 2, b"{}", written_ns, SPENT)
    fact = fact_of(message, Accepted("wamid.A"), LEASE, written_ns, wall_offset_ns())
    assert fact == Fact(
        campaign_id=3,
        range_id=1 << 50,
        seq=12,
        attempt_no=2,
        epoch=7,
        phone_number_id="1055",
        kind=FactKind.ACCEPTED,
        wamid="wamid.A",
        attempted_us=fact.attempted_us,
        spent=SPENT,
    )
    assert fact.attempted_us is not None
    assert 0 <= time.time_ns() // 1_000 - fact.attempted_us < 60_000_000


def test_a_recipient_becomes_a_message_of_its_template_with_every_field() -> None:
    def payload(to: int, variables: list[str], tag: str | None) -> bytes:
        return repr((to, variables, tag)).encode()

    running = SimpleNamespace(payloads_of=lambda _number: [lambda *_: b"another template", payload])
    context = object.__new__(FlowContext)
    context.installation = "abcdefgh"
    context.campaign_cache = cast("CampaignCache", {3: running})
    context.service = cast("ServiceSettings", SimpleNamespace(tag=True))
    candidate = Candidate(3, 9, 12, 5511980000001, ["Ana"], 1, attempt_no=1, spent=SPENT)
    messages = context.messages(GrantedClaims([candidate], [2], claimed_ns=0), LEASE, 99)
    tag = encode(Tag("abcdefgh", range_id=9, seq=12, attempt_no=2, epoch=7))
    body = payload(5511980000001, ["Ana"], tag)
    assert messages == [
        ClaimedMessage(
            campaign_id=3, range_id=9, seq=12, attempt_no=2, payload=body, expires_ns=99, spent=SPENT
        )
    ]


@pytest.mark.parametrize(
    ("outcome", "kind", "reason", "spent"),
    [
        (Unknown("reset"), FactKind.UNKNOWN, "reset", SPENT),
        (Rejected(Scope.RECIPIENT, 131026, "131026", "why"), FactKind.FAILED, "131026", SPENT),
        (Rejected(Scope.NUMBER, 131045, "131045", "why"), FactKind.DEFERRED, "131045", SPENT),
        (Throttled(Scope.NUMBER, None, None, "slow"), FactKind.DEFERRED, "throttled", SPENT),
        (Throttled(Scope.PAIR, 131056, None, "slow"), FactKind.DEFERRED, "131056", Budget(3)),
        (Transient(None, "down"), FactKind.DEFERRED, "transient", Budget(2, 1)),
        (NotSent("drained"), FactKind.DEFERRED, "drained", SPENT),
        (NotSent("refused", unreachable=True), FactKind.DEFERRED, "refused", Budget(2, 0, 1)),
    ],
)
def test_every_outcome_becomes_a_fact_with_its_reason(
    outcome: Outcome, kind: FactKind, reason: str, spent: Budget
) -> None:
    message = ClaimedMessage(3, 1 << 50, 12, 2, b"{}", 0, SPENT)
    fact = fact_of(message, outcome, LEASE, None, 0)
    assert (fact.kind, fact.reason, fact.wamid, fact.attempted_us) == (kind, reason, None, None)
    assert fact.spent == spent
    assert (fact.wait_s > 0) <= (kind is FactKind.DEFERRED)
    assert fact.throttled == isinstance(outcome, Throttled)


@pytest.mark.parametrize("downtime", [False, True])
def test_nobody_is_tried_again_sooner_than_the_service_asks(downtime: bool) -> None:
    message = ClaimedMessage(3, 1 << 50, 12, 2, b"{}", 0, SPENT)
    fact = fact_of(message, Transient(131016, "down", 7200.0), LEASE, None, 0, downtime=downtime)
    assert (fact.kind, fact.wait_s) == (FactKind.DEFERRED, 7200)


class Around:
    """A context that keeps what the outcome policy of a number asks for."""

    def __init__(self) -> None:
        self.breaker = CircuitBreaker(float)
        self.service_away = ThrottledLog("away", "back")
        self.descriptors_short = ThrottledLog("short", "enough")
        self.stopped: list[int] = []
        self.campaign_cache = SimpleNamespace(refusal_runs=RefusalRuns(), stop=self.stopped.append)
        self.requested: list[tuple[StopRequest, str]] = []
        self.stop_requests = SimpleNamespace(
            add=lambda request: self.requested.append((request, request.reason))
        )
        self.slowed: list[float | None] = []
        self.token_replaced = False
        self.access_token = SimpleNamespace(
            cure="get another", is_replaced_since=lambda _: self.token_replaced
        )
        self.quotas = Quotas()
        self.governor = RateGovernor(80, 0)
        self.policy = OutcomePolicy(cast("FlowContext", self), "1055", self.governor)

    def slow_account(self, now_ns: int, written_ns: int, wait_s: float | None) -> None:
        self.slowed.append(wait_s)

    def react(self, *outcomes: Outcome) -> None:
        for outcome in outcomes:
            self.policy.react(claimed(1), outcome, monotonic_ns())


@pytest.fixture
def around() -> Around:
    return Around()


ODD = Rejected(Scope.RECIPIENT, 132000, "132000", "odd", systematic=True)


def test_what_every_recipient_shares_pauses_the_campaign_only_in_a_row(around: Around) -> None:
    most = IN_A_ROW_MAX - 1
    around.react(*[ODD] * most, Accepted("w"), *[ODD] * most)
    plain = Rejected(Scope.RECIPIENT, 131026, "131026", "nobody")
    around.react(*[plain] * 2 * most)
    assert around.requested == around.stopped == []
    around.react(ODD)
    assert around.stopped == [1]
    assert around.requested == [
        (
            CampaignPause(1, "", ReasonCode.RECIPIENTS_REFUSED),
            f"{IN_A_ROW_MAX} recipients in a row were refused: odd (132000); check what fills them",
        )
    ]


@pytest.mark.parametrize(
    ("code", "status", "stop", "words"),
    [
        (131030, 400, NumberRest("1055", "", None), "use another number"),
        (132012, 400, CampaignPause(1, "", ReasonCode.RECIPIENTS_REFUSED), "check what fills them"),
        (None, 404, AccountStop("", ReasonCode.ADDRESS_REFUSED), "check DRUMBEAT_BASE_URL"),
        (None, 407, AccountStop("", ReasonCode.ADDRESS_REFUSED), "DRUMBEAT_PROXY_URL"),
    ],
)
def test_the_twentieth_refusal_in_a_row_stops_what_the_table_names_and_says_what_ends_it(
    around: Around, code: int | None, status: int, stop: StopRequest, words: str
) -> None:
    refusal = classify(status, code, "no", None, None)
    around.react(*[refusal] * (IN_A_ROW_MAX - 1))
    assert around.requested == []
    around.react(refusal)
    [(request, reason)] = around.requested
    assert type(request) is type(stop) and request == stop
    assert getattr(request, "code", None) == getattr(stop, "code", None)
    assert "20 recipients in a row were refused" in reason and words in reason


@pytest.mark.parametrize(
    ("outcome", "stop", "wait_s"),
    [
        (
            Rejected(Scope.ACCOUNT, 190, "190", "expired"),
            AccountStop("expired (190); get another", ReasonCode.AUTHENTICATION_FAILED),
            0,
        ),
        (
            Rejected(Scope.ACCOUNT, 131031, "131031", "locked"),
            AccountStop("locked (131031)", ReasonCode.ACCOUNT_REFUSED),
            0,
        ),
        (
            Rejected(Scope.TEMPLATE, 132015, "132015", "paused"),
            CampaignPause(1, "paused (132015)", ReasonCode.TEMPLATE_REFUSED),
            0,
        ),
        (
            Rejected(Scope.NUMBER, 131045, "131045", "", wait_s=60.0),
            NumberRest("1055", "131045", 0),
            None,
        ),
        (
            Rejected(Scope.NUMBER, 131048, "131048", "spam", wait_s=60.0, suspend=True),
            NumberRest("1055", "spam (131048)", 0),
            60.0,
        ),
    ],
)
def test_a_refusal_beyond_the_recipient_requests_a_stop_with_its_reason(
    around: Around, outcome: Outcome, stop: StopRequest, wait_s: float | None
) -> None:
    around.react(outcome)
    assert around.requested == [(stop, stop.reason)]
    given = around.requested[0][0]
    assert getattr(given, "wait_s", 0) == wait_s
    assert getattr(given, "code", None) == getattr(stop, "code", None)
    assert around.policy.rest_requested == isinstance(stop, NumberRest), "nothing more is claimed from here"
    assert around.stopped == ([1] if isinstance(stop, CampaignPause) else [])


def test_a_refused_token_that_is_replaced_already_stops_nothing(around: Around) -> None:
    around.token_replaced = True
    around.react(Rejected(Scope.ACCOUNT, 190, "190", "expired"))
    assert around.requested == []
    around.react(Rejected(Scope.ACCOUNT, 131031, "131031", "locked"))
    assert len(around.requested) == 1


@pytest.mark.parametrize(
    ("scope", "holds", "slowed"),
    [(Scope.NUMBER, True, []), (Scope.ACCOUNT, False, [5.0]), (Scope.PAIR, False, [])],
)
def test_a_throttle_slows_whom_it_is_about(
    around: Around, scope: Scope, holds: bool, slowed: list[float]
) -> None:
    around.react(Throttled(scope, None, 5.0, ""))
    assert (around.governor.hold_until_ns > 0) == holds
    assert around.slowed == slowed


def test_a_throttle_of_the_account_slows_all_numbers_of_the_process() -> None:
    governors = [RateGovernor(80, 0) for _ in range(2)]
    context = object.__new__(FlowContext)
    context.numbers = {
        str(at): cast("PeerNumber", SimpleNamespace(governor=one)) for at, one in enumerate(governors)
    }
    now_ns = monotonic_ns()
    later_ns = now_ns + 2 * SECOND_NS
    for _ in range(40):
        context.slow_account(now_ns, now_ns, 5.0)
    for governor in governors:
        assert governor.hold_until_ns == now_ns + 5 * SECOND_NS
        governor.decide(later_ns)
        assert governor.rate_per_s(later_ns) < 60
