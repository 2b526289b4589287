"""What travels through the flow: what was granted, its messages, and what the flow knows of campaigns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo

from engine.core.guard import DailyWindow
from engine.core.message import CompiledTemplate
from engine.core.retry import Budget
from engine.store.claims import Candidate


class GrantedClaims(NamedTuple):
    """Recipients whose claim is committed, each with the attempt that it covers (from 1).

    `claimed_ns`, on the suspend-aware clock: no later than the claiming statement.
    """

    candidates: Sequence[Candidate]
    attempt_nos: Sequence[int]
    claimed_ns: int


class ClaimedMessage(NamedTuple):
    """A message that may be written until `expires_ns` (suspend-aware clock): its claim is committed."""

    campaign_id: int
    range_id: int
    seq: int
    attempt_no: int
    payload: bytes
    expires_ns: int
    spent: Budget


@dataclass(slots=True)
class RunningCampaign:
    """A campaign as the flow sees it.

    `sending` is False outside its window, and after this process stopped it (`stopped`).
    On the monotonic clock: `expires_ns`, by the time that the database last said was left (its clock and ours
    may differ), and `none_free_until_ns`, until when nobody looks for a free range of it.
    """

    campaign_id: int
    name: str
    template: CompiledTemplate
    phone_number_ids: Sequence[str]
    window: DailyWindow | None
    time_zone: ZoneInfo
    sending: bool = True
    stopped: bool = False
    blocked_reason: str = ""
    none_free_until_ns: int = 0
    expires_ns: int | None = None
