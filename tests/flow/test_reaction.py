"""What becomes a fact, made without the constructors of its tuples: as whole as with them."""

import time
from types import SimpleNamespace
from typing import cast

from engine.campaign_board import CampaignBoard
from engine.clock import monotonic_ns
from engine.core.outcome import Accepted
from engine.core.retry import Budget
from engine.core.tag import Tag, encode
from engine.flow import Claimed
from engine.reaction import fact_of
from engine.settings import ServiceSettings
from engine.shared import Shared
from engine.store.claims import Candidate
from engine.store.facts import Fact, FactKind
from engine.store.leases import Lease

LEASE = Lease("1055", epoch=7, wait_s=0.0)
SPENT = Budget(pair_throttles=2)


def test_an_acceptance_becomes_a_fact_with_every_field() -> None:
    written_ns = monotonic_ns()
    message = Claimed(3, 1 << 50, 12, 2, b"{}", written_ns, SPENT)
    fact = fact_of(message, Accepted("wamid.A"), LEASE, written_ns)
    assert fact == Fact(
        campaign_id=3,
        range_id=1 << 50,
        seq=12,
        attempt_try=2,
        epoch=7,
        phone_number_id="1055",
        kind=FactKind.ACCEPTED,
        wamid="wamid.A",
        attempted_us=fact.attempted_us,
        spent=SPENT,
    )
    assert fact.attempted_us is not None
    assert 0 <= time.time_ns() // 1_000 - fact.attempted_us < 60_000_000


def test_a_recipient_becomes_a_message_with_every_field() -> None:
    def payload(to: int, variables: list[str], tag: str | None) -> bytes:
        return repr((to, variables, tag)).encode()

    running = SimpleNamespace(template=SimpleNamespace(payload=payload))
    shared = object.__new__(Shared)
    shared.installation = "abcdefgh"
    shared.board = cast("CampaignBoard", {3: running})
    shared.service = cast("ServiceSettings", SimpleNamespace(tag=True))
    candidate = Candidate(3, 9, 12, 5511980000001, ["Ana"], attempt_try=1, spent=SPENT)
    messages = shared.messages([candidate], [2], LEASE, 99)
    tag = encode(Tag("abcdefgh", range_id=9, seq=12, attempt_try=2, epoch=7))
    body = payload(5511980000001, ["Ana"], tag)
    assert messages == [
        Claimed(campaign_id=3, range_id=9, seq=12, attempt_try=2, payload=body, expires_ns=99, spent=SPENT)
    ]
