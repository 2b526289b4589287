"""What the flows of one process share, and the orders that they give to it."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from engine.breaker import Breaker
from engine.core.governor import Governor
from engine.core.states import ReasonCode
from engine.core.tag import TagEncoder
from engine.process.settings import ServiceSettings
from engine.process.throttled_log import ThrottledLog
from engine.sending.campaign_cache import CampaignCache
from engine.sending.claim_batcher import ClaimBatcher
from engine.sending.feeder import Feeder
from engine.sending.messages import Claimed
from engine.sending.results_writer import ResultsWriter
from engine.store.claims import Candidate
from engine.store.database import Pool
from engine.store.leases import Lease

# Handing a tail over costs a drain: not worth it for less than this much of the slow number's time.
TAIL_S_MIN = 2.0
# Ranges of which messages are made at a time; a number works on a few.
RANGES_IN_HAND_MAX = 1_024


@dataclass(frozen=True, slots=True)
class CampaignPause:
    """The service refuses a campaign as a whole."""

    campaign_id: int
    reason: str = field(compare=False)
    code: ReasonCode = field(compare=False)


@dataclass(frozen=True, slots=True)
class AccountStop:
    """The service refuses the token or the account: every campaign stops."""

    reason: str = field(compare=False)
    code: ReasonCode = field(compare=False)


@dataclass(frozen=True, slots=True)
class NumberRest:
    """The service, or the governor, sends a number to rest. `wait_s` None: until a person resumes it."""

    phone_number_id: str
    reason: str = field(compare=False)
    wait_s: float | None = field(compare=False)

    def is_longer_than(self, other: "NumberRest") -> bool:
        return other.wait_s is not None and (self.wait_s is None or self.wait_s > other.wait_s)


Order = CampaignPause | AccountStop | NumberRest


class Number(Protocol):
    """What the numbers of a process see of each other."""

    @property
    def lease(self) -> Lease: ...
    @property
    def governor(self) -> Governor: ...
    @property
    def feeder(self) -> Feeder: ...
    @property
    def idle(self) -> bool: ...
    @property
    def suspended_reason(self) -> str | None: ...
    @property
    def rate_per_s(self) -> float: ...


@lru_cache(maxsize=RANGES_IN_HAND_MAX)
def _encoder(installation: str, range_id: int, epoch: int) -> TagEncoder:
    return TagEncoder(installation, range_id, epoch)


def _no_tag(_seq: int, _attempt_no: int) -> None:
    """For services that know no opaque data."""


@dataclass(slots=True)
class Shared:
    """One for a process."""

    pool: Pool
    service: ServiceSettings
    installation: str
    campaign_cache: CampaignCache
    results_writer: ResultsWriter
    claim_batcher: ClaimBatcher
    breaker: Breaker
    orders: dict[Order, Order] = field(
        default_factory=dict
    )  # each once, whatever its reason; the key is the order
    ordered: asyncio.Event = field(default_factory=asyncio.Event)
    numbers: dict[str, Number] = field(default_factory=dict)
    database_away: ThrottledLog = field(
        default_factory=lambda: ThrottledLog("database_lost", "database_back")
    )
    service_away: ThrottledLog = field(
        default_factory=lambda: ThrottledLog("service_unreachable", "service_back")
    )
    descriptors_short: ThrottledLog = field(
        default_factory=lambda: ThrottledLog("descriptors_short", "descriptors_again")
    )

    def order(self, order: Order) -> None:
        """Have the worker do something in the database. An order that waits already is not given twice, but a
        longer rest replaces a shorter one.
        """
        waits = self.orders.setdefault(order, order)
        if isinstance(waits, NumberRest) and isinstance(order, NumberRest) and order.is_longer_than(waits):
            self.orders[order] = order
        self.ordered.set()
        if isinstance(order, AccountStop):
            for campaign_id in self.campaign_cache.running:
                self.campaign_cache.stop(campaign_id)

    def has_order_for(self, phone_number_id: str) -> bool:
        """Whether a rest of the number is ordered and not yet in the database."""
        return NumberRest(phone_number_id, "", 0.0) in self.orders

    def slow_account(self, now_ns: int, written_ns: int, wait_s: float | None) -> None:
        """The service throttles the account: all its numbers slow down."""
        for number in self.numbers.values():
            number.governor.throttled(now_ns, written_ns, wait_s)

    def messages(
        self, candidates: Sequence[Candidate], attempt_nos: Sequence[int], lease: Lease, expires_ns: int
    ) -> list[Claimed]:
        """The payloads of claimed recipients, each with the tag of its attempt, which its statuses bring
        back.
        """
        made: list[Claimed] = []
        encoded_for = None
        for one, attempt_no in zip(candidates, attempt_nos, strict=True):
            campaign_id, range_id, seq, phone, variables, _, _, spent = one
            if range_id != encoded_for:
                encoded_for, payload = range_id, self.campaign_cache[campaign_id].template.payload
                encode = self._tag_encoder(range_id, lease.epoch)
            body = payload(phone, variables, encode(seq, attempt_no))
            claimed = (campaign_id, range_id, seq, attempt_no, body, expires_ns, spent)
            made.append(tuple.__new__(Claimed, claimed))  # not Claimed(…): a call less a message
        return made

    def _tag_encoder(self, range_id: int, epoch: int) -> Callable[[int, int], str | None]:
        return _encoder(self.installation, range_id, epoch).encode if self.service.tag else _no_tag

    def faster_idle(self, number: Number) -> bool:
        """Whether an idle number of this process would finish what `number` holds sooner."""
        if number.feeder.unclaimed < number.rate_per_s * TAIL_S_MIN:
            return False
        campaigns = {
            held.campaign_id for held in number.feeder.held.values() if held.claimed_through < held.last_seq
        }
        return any(
            other.idle
            and other.suspended_reason is None
            and other.rate_per_s > number.rate_per_s
            and campaigns.intersection(self.campaign_cache.sending_with(other.lease.phone_number_id))
            for other in self.numbers.values()
        )
