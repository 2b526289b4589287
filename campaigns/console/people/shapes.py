"""The shapes of requests and replies about recipients, replies, people and the suppression list."""

from datetime import datetime
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.campaigns.steering_shapes import Matching
from drumbeat.campaigns.console.web.shapes import Asked, Limit, RejectedRow
from drumbeat.engine.core.states import RecipientState

PHONES_MAX = 1_000  # of one request; a file is for more


class RecipientsQuery(Asked):
    after: str | None = None
    limit: Limit = 100
    state: RecipientState | None = None
    code: Annotated[int | None, Field(ge=0, le=2**31 - 1)] = None


class PhoneQuery(Asked):
    region: str | None = None


class RepliesQuery(Asked):
    before: str | None = None
    limit: Annotated[int, Field(ge=1, le=100, description="Rows of the page, at most")] = 50


class AllRepliesQuery(RepliesQuery):
    likely_opt_outs: Annotated[
        bool, Field(description="Only those that probably ask for no more messages, of people not suppressed")
    ] = False


class SuppressionsQuery(Asked):
    after: Annotated[int, Field(ge=0, le=10**15)] = 0
    limit: Limit = 100


class SuppressRequest(Asked):
    phones: Annotated[list[str], Field(min_length=1, max_length=PHONES_MAX)]
    reason: str = "added in the console"
    region: str | None = None


class SuppressMatching(Matching):
    """The recipients to suppress. At least one member is required; `state` may list every state."""

    reason: str = "added in the console"


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


class SuppressionImport(Asked):
    """The options for reading the file. If `phone_column` is null, the column that holds phones is read; if
    several do, the request is refused. `country_column` has the country of each row.
    """

    reason: str = "imported"
    phone_column: str | None = None
    country_column: str | None = None
    region: str | None = None


class SuppressionUpload(Asked):
    """The parts of the form, in this order."""

    spec: SuppressionImport
    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class SuppressionImported(SuppressionChange):
    """The result of an import. `rejects`: the first rows without a phone that can be read. The people of
    these rows are not suppressed: they may still be sent to. `hidden`: rows that a workbook hides; they
    were read like all others.
    """

    rejected: int
    hidden: int
    rejects: list[RejectedRow]
