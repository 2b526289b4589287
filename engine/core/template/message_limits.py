"""The lengths that the service enforces when a message is sent, with the values in their places.

Source: open point "Lengths that are enforced when a message is sent". A message above one is refused with
132005.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.engine.core.template.buttons import PLACEHOLDER
from drumbeat.engine.core.template.placeholder import Placeholder

BODY_CHARACTERS_MAX = 1024
HEADER_CHARACTERS_MAX = 60
URL_CHARACTERS_MAX = 2000
CODE_CHARACTERS_MAX = 15


@dataclass(frozen=True, slots=True)
class FilledPart:
    """A part of a message that values fill. `name` is body, header, url or code.

    The part has `fixed` characters beside its values, and may have `most` with them. `uses` has the
    position of each value, and the times that the part shows it.
    """

    name: str
    most: int
    fixed: int
    uses: tuple[tuple[int, int], ...]

    def length(self, lengths: Sequence[int]) -> int:
        """Return the length of the filled part. `lengths` are those of all values, by position."""
        return self.fixed + sum(times * lengths[at] for at, times in self.uses)


def filled_parts(
    components: Sequence[Mapping[str, Any]], placeholders: Sequence[Placeholder]
) -> tuple[FilledPart, ...]:
    """Return the parts of a template that have a limit and values. `placeholders` has the order of the
    values; it may be that of another language of the template.
    """
    positions = {placeholder: at for at, placeholder in enumerate(placeholders)}
    return tuple(part for part in _parts(components, positions) if part.uses)


def url_beginnings(
    components: Sequence[Mapping[str, Any]], placeholders: Sequence[Placeholder]
) -> dict[int, str]:
    """Return, by the position of each value that ends a button's URL, what the template has before it."""
    positions = {placeholder.button: at for at, placeholder in enumerate(placeholders)}
    return {
        positions[index]: PLACEHOLDER.split(str(button.get("url") or ""))[0]
        for index, button in _buttons(components)
        if _kind(button) == "URL" and PLACEHOLDER.search(str(button.get("url") or "")) and index in positions
    }


def _parts(
    components: Sequence[Mapping[str, Any]], positions: Mapping[Placeholder, int]
) -> Iterator[FilledPart]:
    texts = {_kind(component): str(component.get("text") or "") for component in components}
    for kind, most in (("BODY", BODY_CHARACTERS_MAX), ("HEADER", HEADER_CHARACTERS_MAX)):
        text = texts.get(kind, "")
        names = Counter(PLACEHOLDER.findall(text))
        uses = tuple(
            (positions[placeholder], times)
            for name, times in names.items()
            if (placeholder := Placeholder(kind.lower(), name)) in positions
        )
        yield FilledPart(kind.lower(), most, len(PLACEHOLDER.sub("", text)), uses)
    by_button = {each.button: at for each, at in positions.items() if each.button is not None}
    for index, button in _buttons(components):
        if index not in by_button:
            continue
        uses = ((by_button[index], 1),)
        if _kind(button) == "URL":
            fixed = len(PLACEHOLDER.sub("", str(button.get("url") or "")))
            yield FilledPart("url", URL_CHARACTERS_MAX, fixed, uses)
        elif _kind(button) in ("COPY_CODE", "OTP"):
            yield FilledPart("code", CODE_CHARACTERS_MAX, 0, uses)


def _buttons(components: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for component in components:
        if _kind(component) == "BUTTONS":
            yield from enumerate(component.get("buttons") or ())


def _kind(part: Mapping[str, Any]) -> str:
    return str(part.get("type", "")).upper()
