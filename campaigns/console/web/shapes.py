"""The shapes that requests and replies of every subject share."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

Limit = Annotated[int, Field(ge=1, le=1_000, description="Rows of the page, at most")]


class Asked(BaseModel):
    """The base of what a request asks. Other members are refused."""

    model_config = ConfigDict(extra="forbid")


class NoQuery(Asked):
    """A query without parameters."""


class RejectedRow(TypedDict):
    line: int
    code: str
    column: str
    reason: str
    value: str


class Removed(TypedDict):
    name: str


class Job(TypedDict):
    """A job that goes on after a reply of 202. Once it has `ended`, `reply` or `problem` is the answer that
    the request would have got.
    """

    ended: bool
    stage: str | None
    rows: int
    reply: dict[str, Any] | None
    problem: dict[str, Any] | None
