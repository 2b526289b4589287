"""The shapes of requests and replies about templates to submit and lists to suppress."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.campaigns.shapes import RejectedRow, SuppressionChange


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TemplateRequest(_Request):
    """A template as the service takes it."""

    name: str
    language: str
    category: str
    components: Annotated[list[dict[str, Any]], Field(min_length=1)]
    parameter_format: Literal["POSITIONAL", "NAMED"] = "POSITIONAL"


class SubmittedTemplate(TypedDict):
    """A template after it was submitted. It waits for its review. The service may have changed the
    category.
    """

    name: str
    language: str
    template_id: str
    status: str
    category: str


class TemplateToDelete(_Request):
    """A template to delete. If `language` is null, all its languages are deleted."""

    language: str | None = None


class DeletedTemplate(TypedDict):
    name: str
    languages: list[str]


class SuppressionImport(_Request):
    """The options for reading the file. If `phone_column` is null, the column that looks like phones
    is read.
    """

    reason: str = "imported"
    phone_column: str | None = None
    region: str | None = None


class SuppressionUpload(_Request):
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
