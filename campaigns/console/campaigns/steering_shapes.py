"""The shapes of requests and replies of the actions on a campaign."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.campaigns.shapes import FirstMessage, SamePeople, Share
from drumbeat.campaigns.console.web.shapes import Asked
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.results.export_files import ExportForm, Separator
from drumbeat.campaigns.stored_recipients import ExportFilter
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.store.in_doubt import InDoubtGroup

Code = Annotated[int, Field(ge=0, le=2**31 - 1)]
VALUES_MAX = 100  # of one filter


class Matching(Asked):
    """The recipients whom an action concerns. An empty list admits everybody."""

    state: Annotated[list[RecipientState], Field(max_length=VALUES_MAX)] = []
    code: Annotated[list[Code], Field(max_length=VALUES_MAX)] = []
    number: Annotated[list[str], Field(max_length=VALUES_MAX)] = []
    country: Annotated[list[str], Field(max_length=VALUES_MAX)] = []
    language: Annotated[list[str], Field(max_length=VALUES_MAX)] = []
    variant: Annotated[list[str], Field(max_length=VALUES_MAX)] = []

    @property
    def wanted(self) -> ExportFilter:
        """Return the filter as the export takes it. A code is that of a failed recipient."""
        states = self.state or ([RecipientState.FAILED] if self.code else [])
        return ExportFilter(
            frozenset(states),
            frozenset(self.code),
            frozenset(self.number),
            frozenset(map(str.upper, self.country)),
            frozenset(self.language),
            frozenset(self.variant),
        )


class ExportQuery(Matching):
    """The options of `campaign export`."""

    format: ExportForm = ExportForm.CSV
    separator: Annotated[Separator, Field(description="Between the cells of CSV")] = Separator.COMMA


class ResumeQuery(Asked):
    now: Annotated[bool, Field(description="Send at once if its start time has passed")] = False


class TestSendRequest(Asked):
    """A test send. If `region` is null, national numbers are read like those of the campaign's list."""

    phones: Annotated[list[str], Field(min_length=1, max_length=20)]
    region: str | None = None
    row: Annotated[int | None, Field(ge=1, le=2**62)] = None


class RetryRequest(Asked):
    """The options of `campaign retry`. `code`: retry only recipients who failed with one of these codes.
    `all_codes`: also those who failed with a code that a retry does not help.
    """

    name: str | None = None
    code: Annotated[list[Code], Field(max_length=VALUES_MAX)] = []
    all_codes: bool = False
    start_at: str | None = None
    expires_at: str | None = None
    dry_run: bool = False


class EditRequest(Asked):
    """The changes to a campaign. `changes`: options by the keys of a manifest, without those that name files
    or databases. `unset`: keys to leave out. For an uploaded list, the stored recipients are planned anew.
    `now`: a scheduled campaign whose new start has passed may send at once.
    """

    changes: dict[str, Any] = {}
    unset: list[str] = []
    dry_run: bool = False
    now: bool = False


class CloneRequest(Asked):
    """A copy of a campaign. `name`: the name of the new campaign. The other members are those of an edit."""

    name: str
    changes: dict[str, Any] = {}
    unset: list[str] = []
    dry_run: bool = False


class SettleRequest(Asked):
    """The decision about recipients in doubt. `resend`: send again to all of them; some may get the message
    twice. `assume-sent`: count them as sent.
    """

    action: Literal["resend", "assume-sent"]


class Change(TypedDict):
    """The state of a campaign after a command. `held_numbers`: the numbers that the run of another
    campaign has for itself. `note`: a remark about the change, or empty.
    """

    name: str
    state: CampaignState
    changed: bool
    skipped: int
    nobody_sends: bool
    stopped_numbers: list[dict[str, str]]
    held_numbers: list[dict[str, str]]
    note: str


class TestSends(TypedDict):
    """The tests that were created. `campaigns`: each test is a campaign of its own. `nobody_sends`: no worker
    runs, so the tests wait for one.
    """

    campaigns: list[str]
    nobody_sends: bool


class OptionChange(TypedDict):
    option: str
    old: Any
    new: Any
    effect: str


class Planned(TypedDict):
    """A campaign after a retry, clone or edit. `changes`: the options that an edit changed or would
    change. `note`: a remark, such as that another person must approve, or empty.
    """

    name: str
    state: CampaignState
    unchanged: bool
    dry_run: bool
    audience_kept: bool
    audience_rows: int
    recipients: int
    rejected: int
    duplicates: int
    suppressed: int | None
    without_hours: int
    same_people: list[SamePeople]
    templates: list[Share]
    unmatched_languages: dict[str, int]
    findings: list[ListFinding]
    countries: dict[str, int]
    kinds: dict[str, int]
    left_out_codes: dict[str, int]
    first_messages: list[FirstMessage]
    changes: list[OptionChange]
    note: str


class AgreedCategories(TypedDict):
    """The categories that the campaign is started with, by `name (language)` of its templates."""

    categories: dict[str, str]


class Deleted(TypedDict):
    name: str
    recipients: int


class Doubts(TypedDict):
    """The recipients in doubt, as `campaign settle --json` writes them. `recipients`: those whom the action
    concerned. `may_resend`: whether a resend would send to any of those who are left. `note`: a remark,
    such as that another person must approve, or empty.
    """

    name: str
    action: str | None
    recipients: int
    in_doubt: int
    probably_not_sent: int
    since: datetime | None
    all_silent_at: datetime | None
    groups: list[InDoubtGroup]
    may_resend: bool
    note: str
