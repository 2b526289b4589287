"""The shapes of requests and replies about what can be done with a campaign."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.api.shapes import SamePeople, Share
from drumbeat.campaigns.results.export_files import ExportForm
from drumbeat.campaigns.stored_recipients import ExportFilter
from drumbeat.engine.core.states import CampaignState, RecipientState
from drumbeat.engine.store.in_doubt import InDoubtGroup

Code = Annotated[int, Field(ge=0, le=2**31 - 1)]
VALUES_MAX = 100  # of one filter


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Matching(_Request):
    """Whom an action concerns; an empty list admits everybody."""

    state: Annotated[list[RecipientState], Field(max_length=VALUES_MAX)] = []
    code: Annotated[list[Code], Field(max_length=VALUES_MAX)] = []
    number: Annotated[list[str], Field(max_length=VALUES_MAX)] = []
    country: Annotated[list[str], Field(max_length=VALUES_MAX)] = []
    language: Annotated[list[str], Field(max_length=VALUES_MAX)] = []
    variant: Annotated[list[str], Field(max_length=VALUES_MAX)] = []

    @property
    def wanted(self) -> ExportFilter:
        """As the export takes it. A code is that of a failed recipient."""
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
    """As the options of `campaign export`."""

    format: ExportForm = ExportForm.CSV


class SuppressMatching(Matching):
    """At least one member says whom; `state` may list every state."""

    reason: str = "added in the console"


class RepliesQuery(_Request):
    before: str | None = None
    limit: Annotated[int, Field(ge=1, le=100, description="Rows of the page, at most")] = 50


class RetryRequest(_Request):
    """As the options of `campaign retry`. `code`: only of those who failed with one of these."""

    name: str | None = None
    code: Annotated[list[Code], Field(max_length=VALUES_MAX)] = []
    start_at: str | None = None
    expires_at: str | None = None
    dry_run: bool = False


class EditRequest(_Request):
    """`changes`: options by the keys of a manifest, without those that name files or databases. `unset`: keys
    to leave out. Of an uploaded list, the stored recipients are planned anew. `now`: a scheduled campaign
    whose new start has passed may send at once.
    """

    changes: dict[str, Any] = {}
    unset: list[str] = []
    dry_run: bool = False
    now: bool = False


class CloneRequest(_Request):
    """`name`: of the new campaign. The rest as of an edit."""

    name: str
    changes: dict[str, Any] = {}
    unset: list[str] = []
    dry_run: bool = False


class SettleRequest(_Request):
    """`resend`: send again to everybody in doubt, perhaps twice. `assume-sent`: take them as sent."""

    action: Literal["resend", "assume-sent"]


class OptionChange(TypedDict):
    option: str
    old: Any
    new: Any
    effect: str


class Planned(TypedDict):
    """A campaign after a retry, clone or edit. `changes`: what an edit changed, or would change."""

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
    changes: list[OptionChange]


class Job(TypedDict):
    """Work that goes on after a reply of 202. Once it has `ended`, `reply` or `problem` is what the request
    would have been answered.
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
    """As `campaign settle --json`. `recipients`: whom the action concerned. `may_resend`: whether a resend
    would send to anybody who is left.
    """

    name: str
    action: str | None
    recipients: int
    in_doubt: int
    probably_not_sent: int
    since: datetime | None
    groups: list[InDoubtGroup]
    may_resend: bool
