"""The shapes of requests and replies about uploaded lists."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from drumbeat.campaigns.audience.check.bad_rows import KEPT_MAX
from drumbeat.campaigns.audience.open.reader import COLUMNS_MAX
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.new.list_check import FoundList
from drumbeat.campaigns.options.sources import HiddenRowsChoice


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class CreateUpload(_Request):
    """The parts of the form that creates a campaign, in this order."""

    spec: CreateRequest  # type: ignore[valid-type]  # a class that is made from the options
    audience: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class ListUpload(_Request):
    audience: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class ListCheckRequest(_Request):
    """The options for reading the rows, as `audience check` takes them. `param`: columns that may not be
    empty.
    """

    sheet: str | None = None
    hidden_rows: HiddenRowsChoice | None = None
    phone_column: str = "phone"
    param: list[str] = []
    region: str | None = None
    map: dict[str, str] = {}
    default: dict[str, str] = {}
    as_mobile: list[str] = []


class CorrectedRow(_Request):
    """A corrected row. `cells`: all cells of the row, in the order of the header."""

    line: Annotated[int, Field(ge=1, le=2**62)]
    cells: Annotated[list[str], Field(min_length=1, max_length=COLUMNS_MAX)]


class CorrectionsRequest(_Request):
    rows: Annotated[list[CorrectedRow], Field(min_length=1, max_length=KEPT_MAX)]


class UploadedList(TypedDict):
    """An uploaded list. `sheets`: the sheets of a workbook that have rows. `columns` is empty while a sheet
    must be chosen.
    """

    reference: str
    name: str
    sheets: list[str]
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
