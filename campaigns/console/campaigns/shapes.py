"""The shapes of requests and replies that no service has as a class of its own.

Replies are documented by their classes, and a test holds the server against the document.
"""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from drumbeat.campaigns.account.numbers import BusinessNumber
from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import Token, User
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.results.number_progress import NumberProgress
from drumbeat.campaigns.results.report import Audit, ReasonCount
from drumbeat.engine.core.forecast import NumberShare
from drumbeat.engine.core.pace.token_bucket import LIMIT_PER_S_MAX, LIMIT_PER_S_MIN
from drumbeat.engine.core.states import CampaignState, ReasonCode, RecipientState
from drumbeat.engine.core.template.rendering import RenderedMessage

PHONES_MAX = 1_000  # of one request; a file is for more
Limit = Annotated[int, Field(ge=1, le=1_000, description="Rows of the page, at most")]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NoQuery(_Request):
    """A query without parameters."""


class CampaignsQuery(_Request):
    before: int | None = None
    limit: Limit = 50
    state: CampaignState | None = None
    tests: bool = False


class RecipientsQuery(_Request):
    after: str | None = None
    limit: Limit = 100
    state: RecipientState | None = None
    code: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None


class RecipientQuery(_Request):
    row: Annotated[int | None, Field(ge=1, le=2**62)] = None
    phone: str | None = None


class SuppressionsQuery(_Request):
    after: Annotated[int, Field(ge=0, le=10**15)] = 0
    limit: Limit = 100


class AuditQuery(_Request):
    before: int | None = None
    limit: Limit = 100


class PhoneQuery(_Request):
    region: str | None = None


class SuppressRequest(_Request):
    phones: Annotated[list[str], Field(min_length=1, max_length=PHONES_MAX)]
    reason: str = "added in the console"
    region: str | None = None


class LimitRequest(_Request):
    """A limit for a number. `limit_per_s` null stands for the service's own limit."""

    limit_per_s: Annotated[float | None, Field(ge=LIMIT_PER_S_MIN, le=LIMIT_PER_S_MAX, allow_inf_nan=False)]


class ResumeQuery(_Request):
    now: Annotated[bool, Field(description="Send at once if its start time has passed")] = False


class TestSendRequest(_Request):
    """A test send. If `region` is null, national numbers are read like those of the campaign's list."""

    phones: Annotated[list[str], Field(min_length=1, max_length=20)]
    region: str | None = None
    row: Annotated[int | None, Field(ge=1, le=2**62)] = None


class UserRequest(_Request):
    """A user to store. If `password` is null, an existing user keeps the password, and a new one has none."""

    role: Role
    password: str | None = None


class TokenRequest(_Request):
    name: str
    role: Role


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


class Change(TypedDict):
    """The state of a campaign after a command. `note`: a remark about the change, or empty."""

    name: str
    state: CampaignState
    changed: bool
    skipped: int
    nobody_sends: bool
    stopped_numbers: list[dict[str, str]]
    note: str


class NumberList(TypedDict):
    numbers: list[BusinessNumber]


class TemplateList(TypedDict):
    templates: list[StoredTemplate]


class SuppressedPhone(TypedDict):
    phone: str
    reason: str
    added_at: datetime
    source: str


class SuppressionList(TypedDict):
    """A page of the suppression list. `next`: the value of `after` for the next page, null on the
    last one.
    """

    suppressions: list[SuppressedPhone]
    next: int | None


class SuppressionChange(TypedDict):
    changed: int
    unchanged: int


class NumberResumed(TypedDict):
    phone_number_id: str
    reason: str | None
    paused_campaigns: list[str]


class NumberLimit(TypedDict):
    phone_number_id: str
    limit_per_s: float | None


class TestSends(TypedDict):
    """The tests that were created. `campaigns`: each test is a campaign of its own. `nobody_sends`: no worker
    runs, so the tests wait for one.
    """

    campaigns: list[str]
    nobody_sends: bool


class UserList(TypedDict):
    users: list[User]


class StoredUser(TypedDict):
    name: str
    role: Role


class Removed(TypedDict):
    name: str


class TokenList(TypedDict):
    tokens: list[Token]


class NewToken(TypedDict):
    """A new token. `token`: the secret. It is not shown again."""

    name: str
    role: Role
    token: str


class RejectedRow(TypedDict):
    line: int
    code: str
    column: str
    reason: str
    value: str


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


class Created(TypedDict):
    """The created campaign, as `campaign create --json` writes it. `rejects`: the first rejected and
    duplicate rows. `plan`: only after a dry run.
    """

    name: str
    state: str
    unchanged: bool
    dry_run: bool
    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None
    without_hours: int
    reject_codes: dict[str, int]
    rejects: list[RejectedRow]
    encoding: str | None
    encoding_guessed: bool
    same_audience: list[str]
    same_people: list[SamePeople]
    templates: list[Share]
    unmatched_languages: dict[str, int]
    findings: list[ListFinding]
    plan: Plan | None


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
