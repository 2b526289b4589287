"""The shapes of requests for a campaign and of what it is: its status, report, plan and message.

Replies are documented by their classes, and a test holds the server against the document.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.web.shapes import Asked, Limit
from drumbeat.campaigns.results.limited import Limited
from drumbeat.campaigns.results.number_progress import NumberProgress
from drumbeat.campaigns.results.report import Audit, ReasonCount
from drumbeat.engine.core.forecast import NumberShare
from drumbeat.engine.core.states import CampaignState, ReasonCode
from drumbeat.engine.core.template.rendering import RenderedMessage


class CampaignsQuery(Asked):
    before: int | None = None
    limit: Limit = 50
    state: CampaignState | None = None
    tests: bool = False
    q: Annotated[str | None, Field(max_length=100, description="A part of the name.")] = None


class RecipientQuery(Asked):
    row: Annotated[int | None, Field(ge=1, le=2**62)] = None
    phone: str | None = None


class Counts(TypedDict):
    pending: int
    deferred: int
    accepted: int
    sent: int
    delivered: int
    read: int
    failed: int
    unknown: int
    skipped: int


class Share(TypedDict):
    """A template of a campaign. `recipients`: how many get it."""

    template: str
    language: str
    variant: str | None
    recipients: int


class Waiting(TypedDict):
    """The recipients who wait for the hours of their time zones."""

    reason: str
    code: str | None
    until: datetime
    recipients: int


class WhyInWords(TypedDict):
    """The reason why the campaign waits or is slowed: with who, where and until when."""

    code: str
    words: str


class _Progress(TypedDict):
    """The members that status and report share. Their `numbers` differ."""

    schema: Literal[1]
    name: str
    external_id: str | None
    state: CampaignState
    reason: str
    reason_code: ReasonCode | None
    recipients: int
    counts: Counts
    rate_per_s: float | None
    eta_s: float | None
    started_at: datetime | None
    finished_at: datetime | None
    nobody_sends: bool
    pruned_recipients: int
    pruned_unknown: int
    waits: list[Waiting]
    templates: list[Share]
    priority: str
    share_percent: int | None
    pause_at_failed: str | None
    canary: dict[str, Any] | None
    why: list[WhyInWords]


class Status(_Progress):
    """The status of a campaign, as `campaign status --json` writes it."""

    numbers: list[NumberProgress]


class Cost(TypedDict):
    """The cost by the table of prices. `totals`: by currency. `unpriced`: recipients by country without a
    price.
    """

    category: str
    totals: dict[str, str]
    unpriced: dict[str, int]
    oldest: date | None
    newest: date | None


class Plan(TypedDict):
    """The plan of a campaign, as `campaign plan --json` writes it. `cost_problem`: the reason why there is no
    cost, or empty.
    """

    schema: Literal[1]
    name: str
    template: str
    language: str
    templates: list[Share]
    unmatched_languages: Any
    category: str | None
    recipients: int
    countries: dict[str, int]
    numbers: list[NumberShare]
    days: int
    sending_s: float
    starts_at: datetime
    ends_at: datetime | None
    expires_at: datetime | None
    expires_before_end: bool
    left_out: dict[str, int]
    cost: Cost | None
    cost_problem: str


class SamePeople(TypedDict):
    """A campaign of the last days, and the number of its recipients who are in this audience too."""

    name: str
    started: bool
    since: datetime
    recipients: int


class FirstMessage(TypedDict):
    """The message of one of the first recipients. `row`: the line of the audience."""

    row: int
    phone: str
    language: str
    message: RenderedMessage


class AudienceCounts(TypedDict):
    rows: int
    recipients: int
    rejected: int
    duplicates: int
    adds_up: bool


class ReportedNumber(TypedDict):
    phone_number_id: str
    limit_per_s: float
    achieved_per_s: float | None
    attempts: int
    accepted: int
    throttled: int
    active_s: float
    cpu_s: float
    first_attempt_at: datetime | None
    last_attempt_at: datetime | None
    reply_ms: dict[str, float | None]
    share_of_limit: float | None


class Report(_Progress):
    """The report of a campaign, as `campaign report --json` writes it. `reasons`: by the state of the
    recipients.
    """

    template: str
    language: str
    options: dict[str, Any]
    audience: AudienceCounts
    counts_add_up: bool
    reasons: dict[str, list[ReasonCount]]
    numbers: list[ReportedNumber]
    cpu_us_per_message: float | None
    limited: Limited | None
    audits: list[Audit]
    pruned: bool
    variants: list[dict[str, Any]]
    verdicts: dict[str, str]


class Preview(TypedDict):
    """The message of one recipient, as `campaign preview --json` writes it. `row`: the line of the
    audience.
    """

    schema: Literal[1]
    name: str
    template: str
    language: str
    variant: str | None
    phone: str
    row: int
    skip_reason: str | None
    message: RenderedMessage


class CountedSpending(TypedDict):
    """The messages that the service charges for. `billable`: messages by category. `cost`: by currency, null
    without a table of prices. `unpriced`: billable messages by country without a price.
    """

    billable: dict[str, int]
    free: int
    cost: dict[str, str] | None
    unpriced: dict[str, int] | None


class CountedResults(TypedDict):
    """The results of a campaign at the time `as_of`. `by`: the lines of `campaign report --by`, by property.
    Times have `p50`, `p90` and `p99`. `rates`: requests a second of each number, in slots of equal length
    from `begins` to `ends`.
    """

    as_of: datetime
    recipients: int
    counts: Counts
    accepted: int
    replied: int
    latest_reply_at: datetime | None
    delivery_s: dict[str, float] | None
    read_s: dict[str, float] | None
    variants: list[dict[str, Any]]
    verdicts: dict[str, str]
    by: dict[str, list[dict[str, Any]]]
    rates: dict[str, Any]
    spending: CountedSpending


class CampaignResults(TypedDict):
    """The results, if they are counted. If `results` is null, ask again. `counted`: how many recipients are
    counted so far while a count runs, else null.
    """

    counted: int | None
    results: CountedResults | None
