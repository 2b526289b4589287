"""The shapes of requests and replies about uploaded lists and the campaigns that are made of them."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from drumbeat.campaigns.audience.check.bad_rows import KEPT_MAX
from drumbeat.campaigns.audience.open.reader import COLUMNS_MAX
from drumbeat.campaigns.console.campaigns.shapes import FirstMessage, Plan, SamePeople, Share
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.new.list_check import FoundList
from drumbeat.campaigns.console.web.shapes import Asked, RejectedRow
from drumbeat.campaigns.finding import ListFinding
from drumbeat.campaigns.options.sources import HiddenRowsChoice, PhoneKind
from drumbeat.engine.core.states import CampaignState


class CreateUpload(Asked):
    """The parts of the form that creates a campaign, in this order."""

    spec: CreateRequest  # type: ignore[valid-type]  # a class that is made from the options
    audience: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class ListUpload(Asked):
    audience: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class ListCheckRequest(Asked):
    """The options for reading the rows, as `audience check` takes them. `param`: columns that may not be
    empty.
    """

    sheet: str | None = None
    hidden_rows: HiddenRowsChoice | None = None
    header_row: Annotated[int, Field(ge=1)] | None = None
    phone_column: str = "phone"
    param: list[str] = []
    region: str | None = None
    map: dict[str, str] = {}
    default: dict[str, str] = {}
    repair_old: list[str] = []
    country_column: str | None = None
    first_number: bool = False
    leave_out: list[PhoneKind] = []
    only_mobile: bool = False
    encoding: str | None = None
    keep_spaces: bool = False
    repair: bool = False
    empty_words: bool = False


class CorrectedRow(Asked):
    """A corrected row. `cells`: all cells of the row, in the order of the header."""

    line: Annotated[int, Field(ge=1, le=2**62)]
    cells: Annotated[list[str], Field(min_length=1, max_length=COLUMNS_MAX)]


class CorrectionsRequest(Asked):
    rows: Annotated[list[CorrectedRow], Field(min_length=1, max_length=KEPT_MAX)]


class MessageRequest(Asked):
    """One message: a `template` with `language` and the texts `params` of its placeholders, a `text`, or the
    object `message` of any other type. `number`: the phone number ID to send with. `reply_to`: the id of the
    message that it answers. Members with `header` are for a template whose header shows a file.
    """

    to: str
    number: str
    template: str | None = None
    language: str | None = None
    params: Annotated[list[str], Field(max_length=100)] = []
    text: str | None = None
    message: dict[str, Any] | None = None
    reply_to: str | None = None
    region: str | None = None
    header_link: str | None = None
    header_media_id: str | None = None
    header_filename: str | None = None


class AcceptedMessage(TypedDict):
    """A stored message. `name`: the campaign of one recipient that records it. `nobody_sends`: no worker runs
    with its number, so it waits for one.
    """

    name: str
    state: CampaignState
    nobody_sends: bool


class UploadedList(TypedDict):
    """An uploaded list. `sheets`: the sheets of a workbook that have rows. `columns` is empty while a sheet
    or the row of the header must be chosen; `header_row` is the row that seems to be it.
    """

    reference: str
    name: str
    sheets: list[str]
    header_row: int | None
    columns: list[str]


class CheckedList(TypedDict):
    """The state of a check. `found` is null until the check has `ended`: until then, ask again. `checked`:
    the rows checked so far.
    """

    ended: bool
    checked: int
    found: FoundList | None


class CorrectedCount(TypedDict):
    corrected: int


class RemovedList(TypedDict):
    reference: str


class Created(TypedDict):
    """The created campaign, as `campaign create --json` writes it. `rejects`: the first rejected and
    duplicate rows. `plan`: only after a dry run.
    """

    name: str
    state: str
    unchanged: bool
    dry_run: bool
    audience_kept: bool
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
    countries: dict[str, int]
    kinds: dict[str, int]
    left_out_codes: dict[str, int]
    first_messages: list[FirstMessage]
    plan: Plan | None
