"""The interactive messages: reply buttons, a list menu, a button that opens a URL, a form (flow)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from drumbeat.engine.core.message_types.media import MediaFile
from drumbeat.engine.core.message_types.rules import given, require_count, require_text, require_unique
from drumbeat.engine.errors import UsageError

BUTTONS_MAX, ROWS_MAX = 3, 10  # the interface, "Limits"
TITLE_CHARACTERS_MAX, ROW_TITLE_CHARACTERS_MAX = 20, 24  # limits of services of this family
BODY_CHARACTERS_MAX = 1024
SMALL_CHARACTERS_MAX = 60  # a header in text, or a footer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Interactive:
    """The parts that every interactive message has. `header` is a text, or a picture, video or document."""

    body: str
    header: str | MediaFile | None = None
    footer: str | None = None
    kind: ClassVar[str] = "interactive"
    interactive_type: ClassVar[str]

    def content(self) -> dict[str, Any]:
        body = require_text("the body", self.body, BODY_CHARACTERS_MAX)
        content: dict[str, Any] = {"type": self.interactive_type, "body": {"text": body}}
        if self.header is not None:
            content["header"] = _header(self.header)
        if self.footer is not None:
            content["footer"] = {"text": require_text("the footer", self.footer, SMALL_CHARACTERS_MAX)}
        return {**content, "action": self._action()}

    def _action(self) -> dict[str, Any]:
        raise NotImplementedError


def _header(header: str | MediaFile) -> dict[str, Any]:
    if isinstance(header, str):
        return {"type": "text", "text": require_text("the header", header, SMALL_CHARACTERS_MAX)}
    if header.kind not in ("image", "video", "document"):
        raise UsageError(f"the header can be a text, an image, a video or a document, not {header.kind}")
    return {"type": header.kind, header.kind: header.content()}


@dataclass(frozen=True, slots=True)
class ReplyButton:
    """A reply button. Its `button_id` comes back when the recipient presses it."""

    button_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyButtons(_Interactive):
    """A message with up to three reply buttons."""

    buttons: Sequence[ReplyButton]
    interactive_type: ClassVar[str] = "button"

    def _action(self) -> dict[str, Any]:
        require_count("reply buttons", self.buttons, BUTTONS_MAX)
        require_unique("reply buttons", [button.button_id for button in self.buttons])
        return {"buttons": [_reply(button) for button in self.buttons]}


def _reply(button: ReplyButton) -> dict[str, Any]:
    title = require_text("the title of a button", button.title, TITLE_CHARACTERS_MAX)
    return {"type": "reply", "reply": {"id": button.button_id, "title": title}}


@dataclass(frozen=True, slots=True)
class ListRow:
    """A row of a list menu. Its `row_id` comes back when the recipient chooses it."""

    row_id: str
    title: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ListSection:
    """A section of rows under a title. If a list has only one section, the section needs no title."""

    rows: Sequence[ListRow]
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListMenu(_Interactive):
    """A menu that opens with `button`. It has up to ten rows in all its sections."""

    button: str
    sections: Sequence[ListSection]
    interactive_type: ClassVar[str] = "list"

    def _action(self) -> dict[str, Any]:
        rows = [row for section in self.sections for row in section.rows]
        require_count("rows of a list", rows, ROWS_MAX)
        require_unique("rows of a list", [row.row_id for row in rows])
        if len(self.sections) > 1 and not all(section.title for section in self.sections):
            raise UsageError("a list with several sections needs a title for each")
        button = require_text("the button of a list", self.button, TITLE_CHARACTERS_MAX)
        return {"button": button, "sections": [_section(section) for section in self.sections]}


def _section(section: ListSection) -> dict[str, Any]:
    return {**given(title=section.title), "rows": [_row(row) for row in section.rows]}


def _row(row: ListRow) -> dict[str, Any]:
    title = require_text("the title of a row", row.title, ROW_TITLE_CHARACTERS_MAX)
    return {"id": row.row_id, "title": title, **given(description=row.description)}


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlButton(_Interactive):
    """A message with one button that opens a web page."""

    display_text: str
    url: str
    interactive_type: ClassVar[str] = "cta_url"

    def _action(self) -> dict[str, Any]:
        if not self.url.startswith(("https://", "http://")):
            raise UsageError(f"the button's address is not a URL: {self.url}")
        text = require_text("the button", self.display_text, TITLE_CHARACTERS_MAX)
        return {"name": "cta_url", "parameters": {"display_text": text, "url": self.url}}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowForm(_Interactive):
    """A form. It needs exactly one of `flow_id` and `flow_name`. `token` comes back with the answers.

    `more` holds further parameters, such as `flow_action` and `mode`.
    """

    button: str
    token: str
    flow_id: str | None = None
    flow_name: str | None = None
    version: str = "3"
    more: Mapping[str, Any] | None = None
    interactive_type: ClassVar[str] = "flow"

    def _action(self) -> dict[str, Any]:
        if (self.flow_id is None) == (self.flow_name is None):
            raise UsageError("a flow is named by its id or by its name, not both")
        named = given(flow_id=self.flow_id, flow_name=self.flow_name)
        fixed = {"flow_message_version": self.version, "flow_cta": self.button, "flow_token": self.token}
        return {"name": "flow", "parameters": {**fixed, **named, **(self.more or {})}}
