"""The message as its reader sees it: the parts of a template, with values in place of its placeholders.

It takes the components as the service lists them, and the placeholders and values in the order of
`CompiledTemplate.placeholders`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.engine.core.template.buttons import PLACEHOLDER
from drumbeat.engine.core.template.compiled import MEDIA_FORMATS, Media
from drumbeat.engine.core.template.placeholder import MEDIA, Placeholder


@dataclass(frozen=True, slots=True)
class RenderedMedia:
    """The media of a header. `kind` is image, video or document. `source` is a media id, a link or a file."""

    kind: str
    source: str
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class RenderedButton:
    """A button. `kind` is URL and so on, in the service's words. `target` is the link or phone that it opens.

    `value` is what a button without a link is filled with, such as the code that it copies.
    """

    kind: str
    text: str
    target: str = ""
    value: str = ""


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
    filler = _Filler(dict(zip(placeholders, values, strict=True)))
    parts = {str(component.get("type", "")).upper(): component for component in components}
    header = parts.get("HEADER", {})
    form = str(header.get("format") or "TEXT").upper()
    return RenderedMessage(
        header=filler.text("header", header),
        media=filler.media(form.lower(), media) if form in MEDIA_FORMATS else None,
        body=filler.text("body", parts.get("BODY", {})),
        footer=str(parts.get("FOOTER", {}).get("text") or ""),
        buttons=tuple(
            filler.button(index, button)
            for index, button in enumerate(parts.get("BUTTONS", {}).get("buttons") or ())
        ),
    )


@dataclass(frozen=True, slots=True)
class _Filler:
    values: Mapping[Placeholder, str]

    def text(self, component: str, part: Mapping[str, Any]) -> str:
        def value(found: re.Match[str]) -> str:
            return self.values.get(Placeholder(component, found[1]), found[0])

        return PLACEHOLDER.sub(value, str(part.get("text") or ""))

    def media(self, kind: str, media: Media | None) -> RenderedMedia:
        given = media or Media()
        source = self.values.get(Placeholder(MEDIA, kind), given.media_id or given.link or "")
        return RenderedMedia(kind, source, given.filename)

    def button(self, index: int, button: Mapping[str, Any]) -> RenderedButton:
        kind, text = str(button.get("type", "")).upper(), str(button.get("text") or "")
        value = next((self.values[each] for each in self.values if each.button == index), "")
        url = str(button.get("url") or "")
        if value and PLACEHOLDER.search(url):
            return RenderedButton(kind, text, PLACEHOLDER.sub(lambda _: value, url))
        return RenderedButton(kind, text, url or str(button.get("phone_number") or ""), value)


def text_lines(message: RenderedMessage) -> Iterator[str]:
    """Yield the message in plain text, line by line; each button stands in brackets."""
    if message.media is not None:
        name = f", {message.media.filename}" if message.media.filename else ""
        yield f"[{message.media.kind}: {message.media.source}{name}]"
    yield from (line for part in (message.header, message.body, message.footer) for line in part.splitlines())
    for button in message.buttons:
        filled = f" ({button.value})" if button.value else ""
        yield f"[{button.text}]" + (f" {button.target}" if button.target else "") + filled
