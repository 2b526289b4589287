"""What the reader of a message sees: the parts of a template, with values in place of its placeholders.

Takes the components as the service lists them, and the placeholders and values in the order of
`CompiledTemplate.placeholders`. The buttons with a placeholder take their values in the order of the buttons.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.core.message import MEDIA_FORMATS, Media, Placeholder

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")


@dataclass(frozen=True, slots=True)
class RenderedMedia:
    """The media of a header. `kind`: image, video or document. `source`: a media id or a link."""

    kind: str
    source: str
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class RenderedButton:
    """A button. `kind`: URL and so on, as the service says. `target`: the link or phone it opens."""

    kind: str
    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """A message as its reader sees it. A part that the template does not have is empty."""

    header: str = ""
    media: RenderedMedia | None = None
    body: str = ""
    footer: str = ""
    buttons: tuple[RenderedButton, ...] = ()


def render_message(
    components: Sequence[Mapping[str, Any]],
    placeholders: Sequence[Placeholder],
    values: Sequence[str],
    media: Media | None = None,
) -> RenderedMessage:
    """Fill a template. Raises ValueError if placeholders and values differ in number."""
    filler = _filler(placeholders, values)
    parts = {str(component.get("type", "")).upper(): component for component in components}
    header = parts.get("HEADER", {})
    form = str(header.get("format") or "TEXT").upper()
    return RenderedMessage(
        header=filler.text("header", header),
        media=_media(form.lower(), media) if form in MEDIA_FORMATS else None,
        body=filler.text("body", parts.get("BODY", {})),
        footer=str(parts.get("FOOTER", {}).get("text") or ""),
        buttons=tuple(filler.button(button) for button in parts.get("BUTTONS", {}).get("buttons") or ()),
    )


@dataclass(frozen=True, slots=True)
class _Filler:
    texts: dict[Placeholder, str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)

    def text(self, component: str, part: Mapping[str, Any]) -> str:
        def value(found: re.Match[str]) -> str:
            return self.texts.get(Placeholder(component, found[1]), found[0])

        return _PLACEHOLDER.sub(value, str(part.get("text") or ""))

    def button(self, button: Mapping[str, Any]) -> RenderedButton:
        kind = str(button.get("type", "")).upper()
        url = str(button.get("url") or "")
        if self.links and _PLACEHOLDER.search(url):
            value = self.links.pop(0)
            url = _PLACEHOLDER.sub(lambda _: value, url)
        return RenderedButton(
            kind, str(button.get("text") or ""), url or str(button.get("phone_number") or "")
        )


def _filler(placeholders: Sequence[Placeholder], values: Sequence[str]) -> _Filler:
    filler = _Filler()
    for placeholder, value in zip(placeholders, values, strict=True):
        if placeholder.component == "button":
            filler.links.append(value)
        else:
            filler.texts[placeholder] = value
    return filler


def _media(kind: str, media: Media | None) -> RenderedMedia:
    if media is None:
        return RenderedMedia(kind, "")
    return RenderedMedia(kind, media.media_id or media.link or "", media.filename)


def text_lines(message: RenderedMessage) -> Iterator[str]:
    """The message in plain text, line by line; each button in brackets."""
    if message.media is not None:
        name = f", {message.media.filename}" if message.media.filename else ""
        yield f"[{message.media.kind}: {message.media.source}{name}]"
    yield from (line for part in (message.header, message.body, message.footer) for line in part.splitlines())
    for button in message.buttons:
        yield f"[{button.text}]" + (f" {button.target}" if button.target else "")
