"""The values of the sending flow: granted claims, their messages, and a running campaign."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo

from engine.core.campaign_template import MakePayload
from engine.core.daily_window import DailyWindow
from engine.core.order import Priority
from engine.core.retry import Budget
from engine.store.claims import Candidate


class GrantedClaims(NamedTuple):
    """Recipients whose claim is committed, and the attempt number of each (from 1).

    `claimed_ns`, on the suspend-aware clock: a moment no later than the claiming statement.
    """

    candidates: Sequence[Candidate]
    attempt_nos: Sequence[int]
    claimed_ns: int


class ClaimedMessage(NamedTuple):
    """A message whose claim is committed. It may be written until `expires_ns` (suspend-aware clock)."""

    campaign_id: int
    range_id: int
    seq: int
    attempt_no: int
    payload: bytes
    expires_ns: int
    spent: Budget


@dataclass(slots=True)
class RunningCampaign:
    """A campaign that the database says is running.

    `sending` is False while it is blocked (`blocked_reason`, as stored) or `stopped` by this process.
    `payloads` makes the message of a recipient, by its `template_index`.
    On the monotonic clock: `expires_ns`, from the time left that the database last reported (its clock and
    ours may differ), and `none_free_until_ns`, until when no number asks for a free range of it.
    `is_watched`: it has an error budget, or a canary that has not passed: see `CampaignHealth`.
    """

    campaign_id: int
    name: str
    payloads: Sequence[MakePayload]
    variable_count: int
    phone_number_ids: Sequence[str]
    window: DailyWindow | None
    time_zone: ZoneInfo
    sending: bool = True
    stopped: bool = False
    blocked_reason: str = ""
    none_free_until_ns: int = 0
    expires_ns: int | None = None
    priority: Priority = Priority.NORMAL
    share_percent: int | None = None
    is_watched: bool = False
