"""The review of a template: every variable must have an example, and variables must have no gap."""

from collections.abc import Collection, Mapping
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
            return not _are_valid(names, is_named) or not _has_each(example, "body_text", names, is_named)
        case "HEADER" if component.get("format") in MEDIA_FORMATS:
            return not _texts(example.get("header_handle"))
        case "HEADER":
            return not _are_valid(names, is_named) or not _has_each(example, "header_text", names, is_named)
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
    example = button.get("example")
    return bool(placeholders(str(button.get("url", "")))) and not (_texts(example) or _texts([example]))


def _has_each(example: Mapping[str, Any], member: str, names: Collection[str], is_named: bool) -> bool:
    """Return whether each variable has an example, and nothing else has one.

    Positions have a row of texts, which for a body is the first in an array of rows. Names have objects that
    say whose example they are.
    """
    if not is_named:
        row = example.get(member)
        if member == "body_text":
            row = row[0] if isinstance(row, list) and row else None
        return _texts(row) == len(names)
    given = example.get(f"{member}_named_params")
    objects = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return {str(each.get("param_name")) for each in objects} == set(names) and all(
        _texts([each.get("example")]) for each in objects
    )


def _texts(row: Any) -> int:
    """Return how many texts a row has. A blank is no example."""
    return (
        len([each for each in row if isinstance(each, str) and each.strip()]) if isinstance(row, list) else 0
    )
