"""The interactive messages: reply buttons, lists, a button that opens a URL, a form (flow)."""

from collections.abc import Callable, Iterable
from typing import Any

from drumbeat.emulator.content.media import check_source
from drumbeat.emulator.content.rules import MediaKinds, object_of, objects_of, optional_text, text_of
from drumbeat.emulator.errors import Refused

BUTTON_LIMIT = 3
ROW_LIMIT = 10
BODY_LIMIT_CHARACTERS = 1024
SMALL_LIMIT_CHARACTERS = 60
TITLE_LIMIT_CHARACTERS = 20
ROW_TITLE_LIMIT_CHARACTERS = 24
ROW_DESCRIPTION_LIMIT_CHARACTERS = 72
ID_LIMIT_CHARACTERS = 256
ROW_ID_LIMIT_CHARACTERS = 200
LINK_LIMIT_CHARACTERS = 2000


def check_interactive(content: dict[str, Any], media: MediaKinds) -> None:
    """Check `{"type", "body": {"text"}, "action", "header"?, "footer"?}`. The type decides which members the
    action has.
    """
    kind = content.get("type")
    if kind is None:
        raise Refused(131008, "interactive.type is required")
    check_action = _ACTIONS.get(kind) if isinstance(kind, str) else None
    if check_action is None:
        raise Refused(131009, f"interactive.type is one of {', '.join(_ACTIONS)}")
    body = object_of(content, "body", "interactive")
    text_of(body, "text", "interactive.body", BODY_LIMIT_CHARACTERS)
    if content.get("header") is not None:
        _check_header(object_of(content, "header", "interactive"), media)
    if content.get("footer") is not None:
        footer = object_of(content, "footer", "interactive")
        text_of(footer, "text", "interactive.footer", SMALL_LIMIT_CHARACTERS)
    check_action(object_of(content, "action", "interactive"))


def _check_header(header: dict[str, Any], media: MediaKinds) -> None:
    kind = header.get("type")
    if kind == "text":
        text_of(header, "text", "interactive.header", SMALL_LIMIT_CHARACTERS)
    elif kind in ("image", "video", "document"):
        check_source(str(kind), object_of(header, str(kind), "interactive.header"), media)
    else:
        raise Refused(131009, "interactive.header.type is text, image, video or document")


def _check_buttons(action: dict[str, Any]) -> None:
    path = "interactive.action.buttons"
    ids = []
    for button in objects_of(action, "buttons", "interactive.action", BUTTON_LIMIT):
        if button.get("type") != "reply":
            raise Refused(131009, f"{path}[].type is reply")
        reply = object_of(button, "reply", f"{path}[]")
        ids.append(text_of(reply, "id", f"{path}[].reply", ID_LIMIT_CHARACTERS))
        text_of(reply, "title", f"{path}[].reply", TITLE_LIMIT_CHARACTERS)
    _check_unique(ids, path)


def _check_list(action: dict[str, Any]) -> None:
    text_of(action, "button", "interactive.action", TITLE_LIMIT_CHARACTERS)
    ids = []
    path = "interactive.action.sections"
    sections = objects_of(action, "sections", "interactive.action", ROW_LIMIT)
    for section in sections:
        if len(sections) > 1:
            text_of(section, "title", f"{path}[]", ROW_TITLE_LIMIT_CHARACTERS)
        for row in objects_of(section, "rows", f"{path}[]", ROW_LIMIT):
            ids.append(text_of(row, "id", f"{path}[].rows[]", ROW_ID_LIMIT_CHARACTERS))
            text_of(row, "title", f"{path}[].rows[]", ROW_TITLE_LIMIT_CHARACTERS)
            optional_text(row, "description", f"{path}[].rows[]", ROW_DESCRIPTION_LIMIT_CHARACTERS)
    if len(ids) > ROW_LIMIT:
        raise Refused(131009, f"a list has at most {ROW_LIMIT} rows in all its sections")
    _check_unique(ids, path)


def _check_url(action: dict[str, Any]) -> None:
    parameters = _named_parameters(action, "cta_url")
    text_of(parameters, "display_text", "interactive.action.parameters", TITLE_LIMIT_CHARACTERS)
    url = text_of(parameters, "url", "interactive.action.parameters", LINK_LIMIT_CHARACTERS)
    if not url.startswith(("https://", "http://")):
        raise Refused(131009, "interactive.action.parameters.url is a web address")


def _check_flow(action: dict[str, Any]) -> None:
    """Check a flow, which is named by its id or by its name (open point)."""
    parameters = _named_parameters(action, "flow")
    by_name = parameters.get("flow_name") is not None
    if by_name and parameters.get("flow_id") is not None:
        raise Refused(131009, "interactive.action.parameters has either flow_id or flow_name")
    for name in ("flow_message_version", "flow_name" if by_name else "flow_id", "flow_cta", "flow_token"):
        text_of(parameters, name, "interactive.action.parameters", ID_LIMIT_CHARACTERS)


def _named_parameters(action: dict[str, Any], name: str) -> dict[str, Any]:
    if action.get("name") != name:
        raise Refused(131009, f"interactive.action.name is {name}")
    return object_of(action, "parameters", "interactive.action")


def _check_unique(ids: Iterable[str], path: str) -> None:
    every = list(ids)
    if len(set(every)) != len(every):
        raise Refused(131009, f"{path}: each id may occur once")


_ACTIONS: dict[str, Callable[[dict[str, Any]], None]] = {
    "button": _check_buttons,
    "list": _check_list,
    "cta_url": _check_url,
    "flow": _check_flow,
}
