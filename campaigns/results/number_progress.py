"""The part of a campaign's status that is about its numbers and about recipients who wait."""

from dataclasses import dataclass
from datetime import datetime

from drumbeat.engine.core.limits.recipient_reasons import RecipientReason


@dataclass(frozen=True, slots=True)
class NumberProgress:
    """The progress of one number of a campaign. `rate_per_s` is the rate that its owner allows; None without
    an owner.

    `attempts` and `throttled` count requests for this campaign; `last_attempt_at` is the time of the last
    one. `quota_limit` is to how many people it may write in 24 hours, `quota_used` to how many it did, and
    `quota_more_at` when it may write to more. All three are None without a messaging limit, and
    `quota_more_at` also while some are left. `slowed_since` is the time since when throttles keep its rate
    below its limit. `held_by` is the campaign whose `campaign run` has the number for itself.
    """

    phone_number_id: str
    limit_per_s: float
    rate_per_s: float | None
    owner: str | None
    attempts: int
    throttled: int
    last_attempt_at: datetime | None
    stopped: bool
    suspended_until: datetime | None
    suspended_reason: str | None
    quota_limit: int | None = None
    quota_used: int | None = None
    quota_more_at: datetime | None = None
    display_phone_number: str | None = None
    slowed_since: datetime | None = None
    held_by: str | None = None

    @property
    def label(self) -> str:
        """Return the phone number as people know it, or else its id."""
        return self.display_phone_number or self.phone_number_id


@dataclass(frozen=True, slots=True)
class WaitingGroup:
    """A group of recipients who wait for the hours of their time zones. `code` is that of the reason."""

    reason: str
    code: RecipientReason | None
    until: datetime
    recipients: int
