"""The review of a template: every variable must have an example, and variables must have no gap."""

from collections.abc import Mapping
from typing import Any

from drumbeat.emulator.templates.placeholders import placeholders
from drumbeat.emulator.templates.template import MEDIA_FORMATS, Component, Template


def lacking_example(template: Template) -> bool:
    """Return whether a variable has no example or no valid name, for which the review rejects a template."""
    is_named = template.parameter_format == "NAMED"
    return any(_lacks(component, is_named=is_named) for component in template.components)


def _lacks(component: Component, *, is_named: bool) -> bool:
    names = placeholders(str(component.get("text", "")))
    example = component.get("example")
    example = example if isinstance(example, dict) else {}
    match component.get("type"):
        case "BODY":
            return not _are_valid(names, is_named) or _body_examples(example) != len(names)
        case "HEADER" if component.get("format") in MEDIA_FORMATS:
            return not example.get("header_handle")
        case "HEADER":
            return not _are_valid(names, is_named) or _header_examples(example) != len(names)
        case "FOOTER":
            return bool(names)  # a footer takes no example, so it can have no variable
        case "BUTTONS":
            return any(_button_lacks(button) for button in component["buttons"])
    return False


def _are_valid(names: tuple[str, ...], is_named: bool) -> bool:
    """Return whether the names are valid: positional variables are 1 to n without a gap, named ones are
    words.
    """
    if is_named:
        return not any(name.isdecimal() for name in names)
    return set(names) == {str(number) for number in range(1, len(names) + 1)}


def _button_lacks(button: Mapping[str, Any]) -> bool:
    return bool(placeholders(str(button.get("url", "")))) and not button.get("example")


def _body_examples(example: Mapping[str, Any]) -> int:
    """Return the number of variables that have an example: a row of texts in an array of rows, or
    named ones.
    """
    rows = example.get("body_text")
    row = rows[0] if isinstance(rows, list) and rows else None
    return _named(example, "body_text") or _texts(row)


def _header_examples(example: Mapping[str, Any]) -> int:
    return _named(example, "header_text") or _texts(example.get("header_text"))


def _texts(row: Any) -> int:
    return len([each for each in row if isinstance(each, str) and each]) if isinstance(row, list) else 0


def _named(example: Mapping[str, Any], name: str) -> int:
    named = example.get(f"{name}_named_params")
    named = named if isinstance(named, list) else []
    return len([each for each in named if isinstance(each, dict) and each.get("example")])
