"""The check that the components of a send fill a template: every placeholder once, with an allowed text."""

import re
from collections.abc import Sequence
from typing import Any

from drumbeat.emulator.content.media import check_source
from drumbeat.emulator.content.rules import MediaKinds
from drumbeat.emulator.content.small import check_location
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.templates.lengths import COUPON_LIMIT_CHARACTERS, check_length
from drumbeat.emulator.templates.template import Needs, Template

# A parameter has no new lines, no tabs and at most four spaces in a row.
_FORBIDDEN = re.compile(r"[\n\t]| {5}")
# The one parameter of each button but a URL: its type, which is also the name of its value (open point).
_BUTTON_PARAMETERS = {
    "quick_reply": "payload",
    "copy_code": "coupon_code",
    "flow": "action",
    "catalog": "action",
}


def fill(template: Template, components: Any, media: MediaKinds) -> list[Any]:
    """Return the values of the body's parameters in order. `Refused` (132012) if it is not filled exactly,
    132005 if a filled text is too long.

    The media of a header follow the rules of media messages.
    """
    needs = template.needs
    if components is None:
        components = ()
    if not isinstance(components, list | tuple):
        raise Refused(100, "template.components must be an array")
    if template.body_alone and len(components) == 1:
        plain = _plain_body(needs, components[0])
        if plain is not None:
            return plain
    body: list[Any] = []
    filled = set()
    for component in components:
        kind, values = _fill_component(needs, component, media)
        if kind in filled:
            raise Refused(132012, f"{kind} is filled twice")
        filled.add(kind)
        if kind == "body":
            body = values
    _check_nothing_missing(needs, filled)
    needs.body_room.check("body", body)
    return body


def beside_body(components: Sequence[Any]) -> list[Any]:
    """Return the values of the header and the buttons, as they were sent."""
    return [component for component in components if component["type"].lower() != "body"]


def _plain_body(needs: Needs, component: Any) -> list[Any] | None:
    """Return the values of a component in the usual form, or None if it needs the full check."""
    try:
        parameters = component["parameters"]
        if component["type"] != "body" or len(parameters) != len(needs.body):
            return None
        values = []
        free = needs.body_room.free
        for parameter in parameters:
            value = parameter["text"]
            if parameter["type"] != "text" or not (value.__class__ is str and value.isprintable()):
                return None
            if "parameter_name" in parameter:
                return None
            if "     " in value or not value:
                return None
            free -= len(value)
            values.append(value)
    except (KeyError, TypeError):
        return None
    return values if free >= 0 else None


def _fill_component(needs: Needs, component: Any, media: MediaKinds) -> tuple[str, list[Any]]:
    if not isinstance(component, dict):
        raise Refused(100, "each of template.components must be an object")
    kind = component.get("type")
    parameters = component.get("parameters", [])
    if not isinstance(parameters, list):
        raise Refused(100, "parameters of a component must be an array")
    match kind.lower() if isinstance(kind, str) else kind:
        case "body":
            return "body", _texts("body", parameters, needs.body, named=needs.named)
        case "header":
            return "header", _header(needs, parameters, media)
        case "button":
            return _button(needs, component, parameters)
    raise Refused(100, f"template.components[].type is body, header or button, not {kind!r}")


def _texts(path: str, parameters: list[Any], wanted: Sequence[str], *, named: bool) -> list[Any]:
    if len(parameters) != len(wanted):
        raise Refused(
            132012,
            f"{path}: number of localizable_params ({len(parameters)}) "
            f"does not match the expected number of params ({len(wanted)})",
        )
    names = [each.get("parameter_name") for each in parameters if isinstance(each, dict)]
    if named and sorted(map(str, names)) != sorted(wanted):
        raise Refused(132012, f"{path}: the parameters are named {', '.join(wanted)}")
    if not named and any(name is not None for name in names):
        raise Refused(132012, f"{path}: the parameters of this template have no names")
    if named:
        parameters = sorted(parameters, key=lambda each: wanted.index(str(each["parameter_name"])))
    return [_value(path, parameter) for parameter in parameters]


def _value(path: str, parameter: Any) -> Any:
    if not isinstance(parameter, dict):
        raise Refused(100, f"{path}: a parameter must be an object")
    kind = parameter.get("type")
    if kind in ("currency", "date_time"):
        return _fallback(path, kind, parameter)
    text = parameter.get("text")
    if kind != "text" or not isinstance(text, str):
        raise Refused(132012, f"{path}: a parameter is of type text and has a text")
    if not text or _FORBIDDEN.search(text):
        raise Refused(
            100,
            f"{path}: a parameter is not empty, has no new line, no tab and at most four spaces in a row",
        )
    return text


def _fallback(path: str, kind: str, parameter: dict[str, Any]) -> Any:
    value = parameter.get(kind)
    if not isinstance(value, dict) or not isinstance(value.get("fallback_value"), str):
        raise Refused(132012, f"{path}: a parameter of type {kind} has a fallback_value")
    return value["fallback_value"]


def _header(needs: Needs, parameters: list[Any], media: MediaKinds) -> list[Any]:
    kind = needs.header_kind
    if kind is None:
        values = _texts("header", parameters, needs.header, named=needs.named)
        needs.header_room.check("header", values)
        return values
    parameter = parameters[0] if len(parameters) == 1 and isinstance(parameters[0], dict) else {}
    source = parameter.get(kind)
    if parameter.get("type") != kind or not isinstance(source, dict):
        raise Refused(132012, f"header: one parameter of type {kind} is expected")
    if kind == "location":
        check_location(source, media)
    else:
        check_source(kind, source, media)
    return []


def _button(needs: Needs, component: dict[str, Any], parameters: list[Any]) -> tuple[str, list[Any]]:
    index, sub_type = str(component.get("index")), str(component.get("sub_type")).lower()
    path = f"button {index}"
    if needs.buttons.get(index, needs.optional_buttons.get(index)) != sub_type:
        raise Refused(132012, f"{path}: the template has no such {sub_type} button to fill")
    if sub_type == "url":
        values = _texts(path, parameters, ("1",), named=False)
        if index in needs.url_rooms:
            needs.url_rooms[index].check(path, values)
        return path, values
    parameter = parameters[0] if len(parameters) == 1 and isinstance(parameters[0], dict) else {}
    kind = _BUTTON_PARAMETERS[sub_type]
    if parameter.get("type") != kind or not isinstance(
        parameter.get(kind), dict if kind == "action" else str
    ):
        raise Refused(132012, f"{path}: one parameter of type {kind} is expected")
    if sub_type == "copy_code":
        check_length(path, len(parameter[kind]), COUPON_LIMIT_CHARACTERS)
    if sub_type == "flow" and not isinstance(parameter[kind].get("flow_token"), str):
        raise Refused(132012, f"{path}: action.flow_token is expected")
    return path, []


def _check_nothing_missing(needs: Needs, filled: set[str]) -> None:
    if needs.body and "body" not in filled:
        raise Refused(
            132012,
            f"body: number of localizable_params (0) does not match the expected number of params "
            f"({len(needs.body)})",
        )
    if (needs.header or needs.header_kind) and "header" not in filled:
        raise Refused(132012, "header: a parameter is missing")
    missing = [index for index in needs.buttons if f"button {index}" not in filled]
    if missing:
        raise Refused(132012, f"button {missing[0]}: a parameter is missing")
