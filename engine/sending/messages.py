"""The values of the sending flow: granted claims, their messages, and a running campaign."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from zoneinfo import ZoneInfo

from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.retry import Budget
from drumbeat.engine.core.template.campaign_template import MakePayload
from drumbeat.engine.sending.header_files import HeaderFiles
from drumbeat.engine.sending.recipient_hours import ALWAYS, RecipientHours
from drumbeat.engine.store.claims import Candidate


class GrantedClaims(NamedTuple):
    """The claims that are committed: their recipients, and the attempt number of each (from 1).

    `claimed_ns`, on the suspend-aware clock, is no later than the claiming statement.
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

    `hours` hold for the whole campaign, in `time_zone`; `recipient_hours` for each range, in its zones.
    `sending` is False while it is blocked (`blocked_reason`, as stored) or `stopped` by this process.
    `payloads` makes the message of a recipient, by its `template_index`.

    Two times are on the monotonic clock. `expires_ns` is computed from the time left that the database last
    reported (its clock and ours may differ). Until `none_free_until_ns`, no number asks for a free range of
    it.

    `is_watched`: it has an error budget, or a canary that has not passed: see `CampaignHealth`. `is_retry`:
    before each claim, the earlier campaign is asked whether its recipient is still failed. `failed`: a part
    of it could not be read. If it runs again, it is read anew.
    """

    campaign_id: int
    name: str
    payloads: Sequence[MakePayload]
    variable_count: int
    phone_number_ids: Sequence[str]
    hours: SendingHours
    time_zone: ZoneInfo
    recipient_hours: RecipientHours = ALWAYS
    cap: FrequencyCap | None = None
    sending: bool = True
    stopped: bool = False
    failed: bool = False
    blocked_reason: str = ""
    none_free_until_ns: int = 0
    expires_ns: int | None = None
    priority: Priority = Priority.NORMAL
    share_percent: int | None = None
    is_watched: bool = False
    is_retry: bool = False
    files: HeaderFiles | None = None  # None: no header has media that differ by recipient

    def payloads_of(self, phone_number_id: str) -> Sequence[MakePayload]:
        """Return `payloads` for messages of one number: the id of a file is valid for that number only."""
        return self.payloads if self.files is None else self.files.payloads[phone_number_id]
