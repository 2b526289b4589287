"""The reading of a template from the body of a request to create one. `Refused` (100) for an
impossible one.
"""

import re
from collections.abc import Mapping
from typing import Any

from drumbeat.emulator.content.rules import check_depth
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.templates.lengths import (
    BODY_LIMIT_CHARACTERS,
    BUTTON_LIMIT_CHARACTERS,
    QUICK_REPLY_LIMIT_CHARACTERS,
    TEXT_LIMITS_CHARACTERS,
    URL_LIMIT_CHARACTERS,
)
from drumbeat.emulator.templates.template import CATEGORIES, HEADER_FORMATS, Template

_NAME = re.compile(r"[a-z0-9_]{1,512}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(_[A-Z]{2,3})?")
_COMPONENT_TYPES = ("HEADER", "BODY", "FOOTER", "BUTTONS")
BUTTONS_LIMIT = 10
# The members that each kind of button must have (open point).
_BUTTON_MEMBERS = {
    "QUICK_REPLY": ("text",),
    "URL": ("text", "url"),
    "PHONE_NUMBER": ("text", "phone_number"),
    "COPY_CODE": ("example",),
    "OTP": ("otp_type",),
    "FLOW": ("text",),
    "CATALOG": ("text",),
}
# The service writes the body of an AUTHENTICATION template (open point).
_CODE_TEXT = "*{{1}}* is your verification code."
_SECURITY_TEXT = " For your security, do not share this code."
_EXPIRY_TEXT = "This code expires in {} minutes."
EXPIRY_LIMIT_MINUTES = 90


def read_template(content: Mapping[str, Any], template_id: str) -> Template:
    """Return the template that the body asks for. Component types, formats and button types come in
    any case.
    """
    name, language, category = (content.get(each) for each in ("name", "language", "category"))
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise Refused(100, "name is lower-case letters, digits and underscores")
    if not (isinstance(language, str) and _LANGUAGE.fullmatch(language)):
        raise Refused(100, "language is a code such as en or en_US")
    if category not in CATEGORIES:
        raise Refused(100, f"category is one of {', '.join(CATEGORIES)}")
    parameter_format = content.get("parameter_format", "POSITIONAL")
    if parameter_format not in ("POSITIONAL", "NAMED"):
        raise Refused(100, "parameter_format is POSITIONAL or NAMED")
    components = _read_components(content.get("components"), category)
    check_depth(components)
    return Template(template_id, name, language, category, components, parameter_format=parameter_format)


def _read_components(given: Any, category: str) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not given:
        raise Refused(100, "components is an array that is not empty")
    components = [_read_component(component, category) for component in given]
    types = [component["type"] for component in components]
    if len(set(types)) != len(types) or "BODY" not in types:
        raise Refused(100, "there is one BODY, and no component twice")
    return components


def _read_component(given: Any, category: str) -> dict[str, Any]:
    component = _with_upper(given, "type", "format")
    kind = component.get("type")
    if kind not in _COMPONENT_TYPES:
        raise Refused(100, f"each component has a type: {', '.join(_COMPONENT_TYPES)}")
    if kind == "BODY" and category == "AUTHENTICATION" and component.get("text") is None:
        return _authentication_body(component)
    if kind == "FOOTER" and category == "AUTHENTICATION" and component.get("text") is None:
        return _authentication_footer(component)
    text = component.get("text")
    needs_text = kind in ("BODY", "FOOTER") or component.get("format") == "TEXT"
    limit = TEXT_LIMITS_CHARACTERS.get(kind, BODY_LIMIT_CHARACTERS)
    if needs_text and not (isinstance(text, str) and 0 < len(text) <= limit):
        raise Refused(100, f"{kind} has a text of 1 to {limit} characters")
    if kind == "HEADER" and component.get("format") not in HEADER_FORMATS:
        raise Refused(100, f"a HEADER has a format: {', '.join(HEADER_FORMATS)}")
    if kind == "BUTTONS":
        component["buttons"] = _read_buttons(component.get("buttons"))
    return component


def _authentication_body(component: dict[str, Any]) -> dict[str, Any]:
    recommends = component.get("add_security_recommendation", False)
    if not isinstance(recommends, bool):
        raise Refused(100, "add_security_recommendation is true or false")
    text = _CODE_TEXT + (_SECURITY_TEXT if recommends else "")
    return {**component, "text": text, "example": {"body_text": [["123456"]]}}


def _authentication_footer(component: dict[str, Any]) -> dict[str, Any]:
    minutes = component.get("code_expiration_minutes")
    if not (type(minutes) is int and 1 <= minutes <= EXPIRY_LIMIT_MINUTES):
        raise Refused(100, f"the FOOTER has code_expiration_minutes, 1 to {EXPIRY_LIMIT_MINUTES}")
    return {**component, "text": _EXPIRY_TEXT.format(minutes)}


def _read_buttons(given: Any) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not 0 < len(given) <= BUTTONS_LIMIT:
        raise Refused(100, f"BUTTONS has 1 to {BUTTONS_LIMIT} buttons")
    return [_read_button(button) for button in given]


def _read_button(given: Any) -> dict[str, Any]:
    button = _with_upper(given, "type")
    kind = button.get("type")
    members = _BUTTON_MEMBERS.get(kind) if isinstance(kind, str) else None
    if members is None:
        raise Refused(100, f"a button has a type: {', '.join(_BUTTON_MEMBERS)}")
    for name in members:
        # An example may be a text or an array of one.
        if not (
            isinstance(button.get(name), str) or (name == "example" and isinstance(button.get(name), list))
        ):
            raise Refused(100, f"a {kind} button has: {', '.join(members)}")
    _check_button_lengths(button)
    return button


def _check_button_lengths(button: dict[str, Any]) -> None:
    is_quick_reply = button["type"] == "QUICK_REPLY"
    limits = {
        "text": QUICK_REPLY_LIMIT_CHARACTERS if is_quick_reply else BUTTON_LIMIT_CHARACTERS,
        "url": URL_LIMIT_CHARACTERS,
    }
    for name, limit in limits.items():
        if isinstance(button.get(name), str) and len(button[name]) > limit:
            raise Refused(100, f"{name} of a {button['type']} button has up to {limit} characters")


def _with_upper(given: Any, *names: str) -> dict[str, Any]:
    """Return a copy of an object in which these members, if they are texts, are in upper case."""
    if not isinstance(given, dict):
        raise Refused(100, "each component and each button is an object")
    return {
        name: value.upper() if name in names and isinstance(value, str) else value
        for name, value in given.items()
    }
