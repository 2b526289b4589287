"""The shapes of requests and replies about templates to submit and lists to suppress."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from drumbeat.campaigns.console.api.shapes import RejectedRow, SuppressionChange


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
    """The service may have changed the category. The template waits for its review."""

    name: str
    language: str
    template_id: str
    status: str
    category: str


class TemplateToDelete(_Request):
    """`language` null: all of them."""

    language: str | None = None


class DeletedTemplate(TypedDict):
    name: str
    languages: list[str]


class SuppressionImport(_Request):
    """How to read the file. `phone_column` null: the column that looks like phones."""

    reason: str = "imported"
    phone_column: str | None = None
    region: str | None = None


class SuppressionUpload(_Request):
    """The parts of the form, in this order."""

    spec: SuppressionImport
    file: Annotated[str, Field(json_schema_extra={"format": "binary"})]


class SuppressionImported(SuppressionChange):
    """`rejects`: the first rows without a phone that can be read. Their people may still be sent to."""

    rejected: int
    rejects: list[RejectedRow]
