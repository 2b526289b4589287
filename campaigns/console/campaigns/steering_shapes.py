"""The shapes of requests and replies of the actions on a campaign."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.campaigns.shapes import SamePeople, Share
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.results.export_files import ExportForm, Separator
from drumbeat.campaigns.stored_recipients import ExportFilter
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.store.in_doubt import InDoubtGroup

Code = Annotated[int, Field(ge=0, le=2**31 - 1)]
VALUES_MAX = 100  # of one filter


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Matching(_Request):
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


class SuppressMatching(Matching):
    """The recipients to suppress. At least one member is required; `state` may list every state."""

    reason: str = "added in the console"


class RepliesQuery(_Request):
    before: str | None = None
    limit: Annotated[int, Field(ge=1, le=100, description="Rows of the page, at most")] = 50


class RetryRequest(_Request):
    """The options of `campaign retry`. `code`: retry only recipients who failed with one of these codes."""

    name: str | None = None
    code: Annotated[list[Code], Field(max_length=VALUES_MAX)] = []
    start_at: str | None = None
    expires_at: str | None = None
    dry_run: bool = False


class EditRequest(_Request):
    """The changes to a campaign. `changes`: options by the keys of a manifest, without those that name files
    or databases. `unset`: keys to leave out. For an uploaded list, the stored recipients are planned anew.
    `now`: a scheduled campaign whose new start has passed may send at once.
    """

    changes: dict[str, Any] = {}
    unset: list[str] = []
    dry_run: bool = False
    now: bool = False


class CloneRequest(_Request):
    """A copy of a campaign. `name`: the name of the new campaign. The other members are those of an edit."""

    name: str
    changes: dict[str, Any] = {}
    unset: list[str] = []
    dry_run: bool = False


class SettleRequest(_Request):
    """The decision about recipients in doubt. `resend`: send again to all of them; some may get the message
    twice. `assume-sent`: count them as sent.
    """

    action: Literal["resend", "assume-sent"]


class OptionChange(TypedDict):
    option: str
    old: Any
    new: Any
    effect: str


class Planned(TypedDict):
    """A campaign after a retry, clone or edit. `changes`: the options that an edit changed or would
    change.
    """

    name: str
    state: CampaignState
    unchanged: bool
    dry_run: bool
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
    changes: list[OptionChange]


class Job(TypedDict):
    """A job that goes on after a reply of 202. Once it has `ended`, `reply` or `problem` is the answer that
    the request would have got.
    """

    ended: bool
    stage: str | None
    rows: int
    reply: dict[str, Any] | None
    problem: dict[str, Any] | None


class Deleted(TypedDict):
    name: str
    recipients: int


class Doubts(TypedDict):
    """The recipients in doubt, as `campaign settle --json` writes them. `recipients`: those whom the action
    concerned. `may_resend`: whether a resend would send to any of those who are left.
    """

    name: str
    action: str | None
    recipients: int
    in_doubt: int
    probably_not_sent: int
    since: datetime | None
    groups: list[InDoubtGroup]
    may_resend: bool
