"""The context of the sending flow: the parts that the numbers of one process share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Protocol

from drumbeat.engine.core.clock_skew import ClockSkew
from drumbeat.engine.core.pace.circuit_breaker import CircuitBreaker
from drumbeat.engine.core.pace.rate_governor import RateGovernor
from drumbeat.engine.core.tag import TagEncoder
from drumbeat.engine.core.tail import IdleNumber, is_left_to_faster, left_to_from
from drumbeat.engine.process.settings import ServiceSettings
from drumbeat.engine.process.throttled_log import ThrottledLog
from drumbeat.engine.sending.access_token import AccessToken
from drumbeat.engine.sending.campaign_cache import CampaignCache
from drumbeat.engine.sending.claim_batcher import ClaimBatcher
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.header_file_uploads import OpenUploads
from drumbeat.engine.sending.messages import ClaimedMessage, GrantedClaims
from drumbeat.engine.sending.quotas import Quotas
from drumbeat.engine.sending.results_writer import ResultsWriter
from drumbeat.engine.sending.stop_requests import StopRequests
from drumbeat.engine.sending.timing import Timing
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.leases import Lease

# Tag encoders kept, one for each range. A number makes messages of a few ranges at a time.
TAG_ENCODERS_MAX = 1_024


class NumberWaits(Protocol):
    """The campaigns that wait for the messaging limit of a number."""

    def waits_for(self, campaign_id: int) -> bool: ...


class PeerNumber(Protocol):
    """A number as the other numbers of its process know it."""

    @property
    def lease(self) -> Lease: ...
    @property
    def governor(self) -> RateGovernor: ...
    @property
    def feeder(self) -> Feeder: ...
    @property
    def idle(self) -> bool: ...
    @property
    def suspended_reason(self) -> str | None: ...
    @property
    def quota(self) -> "NumberWaits": ...
    @property
    def rate_per_s(self) -> float: ...


@lru_cache(maxsize=TAG_ENCODERS_MAX)
def _encoder(installation: str, range_id: int, epoch: int) -> TagEncoder:
    return TagEncoder(installation, range_id, epoch)


def _no_tag(_seq: int, _attempt_no: int) -> None:
    """Return no tag, for services without opaque callback data."""


@dataclass(slots=True)
class FlowContext:
    """The context of one process."""

    pool: Pool
    service: ServiceSettings
    timing: Timing
    installation: str
    campaign_cache: CampaignCache
    results_writer: ResultsWriter
    claim_batcher: ClaimBatcher
    breaker: CircuitBreaker
    stop_requests: StopRequests
    access_token: AccessToken
    open_uploads: OpenUploads
    quotas: Quotas = field(default_factory=Quotas)
    numbers: Mapping[str, PeerNumber] = field(default_factory=dict)  # the owned ones
    clock_skew: ClockSkew = field(default_factory=ClockSkew)
    idle_elsewhere: Sequence[IdleNumber] = ()  # numbers of other workers, as of a second or two ago
    database_away: ThrottledLog = field(
        default_factory=lambda: ThrottledLog("database_lost", "database_back")
    )
    service_away: ThrottledLog = field(
        default_factory=lambda: ThrottledLog("service_unreachable", "service_back")
    )
    descriptors_short: ThrottledLog = field(
        default_factory=lambda: ThrottledLog("descriptors_short", "descriptors_again")
    )

    def slow_account(self, now_ns: int, written_ns: int, wait_s: float | None) -> None:
        """Slow down every number, because the service throttles the account."""
        for number in self.numbers.values():
            number.governor.throttled(now_ns, written_ns, wait_s)

    def messages(self, granted: GrantedClaims, lease: Lease, expires_ns: int) -> list[ClaimedMessage]:
        """Return the messages of claimed recipients. Each carries the tag of its attempt, to find it by a
        status.

        One that cannot be made has an empty payload, and its campaign fails.
        """
        messages: list[ClaimedMessage] = []
        encoded_for = None
        for candidate, attempt_no in zip(granted.candidates, granted.attempt_nos, strict=True):
            campaign_id, range_id, seq, phone, variables, template_index, _, _, spent = candidate
            if range_id != encoded_for:
                encoded_for, campaign = range_id, self.campaign_cache[campaign_id]
                payloads = campaign.payloads_of(lease.phone_number_id)
                encode = self._tag_encoder(range_id, lease.epoch)
            tag = encode(seq, attempt_no)
            try:
                body = payloads[template_index](phone, variables, tag)
            except Exception as error:  # made from stored values: the error concerns only this campaign
                self.campaign_cache.fail(campaign_id, error)
                body = b""
            fields = (campaign_id, range_id, seq, attempt_no, body, expires_ns, spent)
            messages.append(tuple.__new__(ClaimedMessage, fields))  # not ClaimedMessage(…): saves a call each
        return messages

    def _tag_encoder(self, range_id: int, epoch: int) -> Callable[[int, int], str | None]:
        return _encoder(self.installation, range_id, epoch).encode if self.service.tag else _no_tag

    def idle_numbers(self, from_per_s: float = 0.0) -> Iterator[IdleNumber]:
        """Return the numbers of this process that could send at this moment and have nothing left to send."""
        return (
            IdleNumber(phone_number_id, number.rate_per_s)
            for phone_number_id, number in self.numbers.items()
            if number.idle
            and number.rate_per_s >= from_per_s
            and number.suspended_reason is None
            and not self.breaker.tripped
            and self.campaign_cache.sending_with(phone_number_id)
        )

    def all_idle(self, from_per_s: float = 0.0) -> Iterator[IdleNumber]:
        """Return the idle numbers of this process and of others."""
        return chain(self.idle_numbers(from_per_s), self.idle_elsewhere)

    def leaves_to_faster(self, number: PeerNumber, campaign_id: int) -> bool:
        """Return whether `number` is idle and leaves free ranges of a campaign to a faster idle number."""
        if not number.idle:
            return False
        rate_per_s = number.rate_per_s
        idle = self.all_idle(left_to_from(rate_per_s))
        return is_left_to_faster(rate_per_s, campaign_id, idle, self.campaign_cache.sending_with)
