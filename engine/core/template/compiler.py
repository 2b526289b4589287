"""The compiler of templates: a template becomes the pieces that each message of a campaign joins.

The placeholders have the order of `param`: the media of a header that differ by recipient, header text,
body, buttons. Within a text, a POSITIONAL template orders them by number, a NAMED one by first appearance.
The shapes of components are an open point.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from drumbeat.engine.core.template.buttons import UnsendableButton, filled_buttons, names_in
from drumbeat.engine.core.template.compiled import MEDIA_FORMATS, CompiledTemplate, Media, source_of
from drumbeat.engine.core.template.placeholder import MEDIA, Placeholder
from drumbeat.engine.errors import ConfigurationError

# Components that need parameters of which the interface says nothing. Without these, every message would
# fail.
_COMPONENTS_UNSUPPORTED = frozenset({"CAROUSEL", "LIMITED_TIME_OFFER"})

# Stands for a value while the body is serialised. It holds NULs, which no name of a template holds.
_SENTINEL = "\x00value\x00"
_SENTINEL_ESCAPED = json.dumps(_SENTINEL)


class UnusableTemplate(ConfigurationError):
    """A template that cannot be sent as it is defined."""


def compile_template(
    definition: Mapping[str, Any],
    product: str,
    *,
    header_media: Media | None = None,
    buttons: Collection[int] = (),
) -> CompiledTemplate:
    """Compile a template as the service lists it: name, language, components, parameter_format.

    `buttons`: the indexes of optional buttons that are filled. Raises UnusableTemplate, which names the part
    that cannot be sent.
    """
    name, language = str(definition.get("name", "")), str(definition.get("language", ""))
    where = f"template {name}, language {language}"
    named = str(definition.get("parameter_format") or "POSITIONAL").upper() == "NAMED"
    reader = _Reader(where, named, header_media, buttons)
    for component in definition.get("components") or ():
        reader.read(component)
    template: dict[str, Any] = {"name": name, "language": {"code": language}}
    if components := reader.components():
        template["components"] = components
    skeleton = _skeleton(product, template)
    filename = None if header_media is None else header_media.filename
    return CompiledTemplate(name, language, tuple(reader.placeholders()), skeleton, filename)


def _skeleton(product: str, template: dict[str, Any]) -> tuple[str, ...]:
    """Return constants and values in turn: constant, to, constant, variable, ..., constant, tail (tag)."""
    body = {
        "messaging_product": product,
        "recipient_type": "individual",
        "to": "\x00to\x00",
        "type": "template",
        "template": template,
    }
    before, after = json.dumps(body, separators=(",", ":"))[:-1].split("\\u0000to\\u0000")
    pieces = [before, ""]
    for constant in after.split(_SENTINEL_ESCAPED):
        pieces += [constant, ""]
    return tuple(pieces)


class _Reader:
    """A reader that collects the components to send in a fixed order, whatever their order is."""

    def __init__(self, where: str, named: bool, header_media: Media | None, buttons: Collection[int]) -> None:
        self._where = where
        self._named = named
        self._header_media = header_media
        self._filled_buttons = buttons
        self._header: list[dict[str, Any]] = []
        self._body: list[dict[str, Any]] = []
        self._buttons: list[dict[str, Any]] = []
        self._placeholders: dict[str, list[Placeholder]] = {"header": [], "body": [], "button": []}
        self._media: list[Placeholder] = []

    def components(self) -> list[dict[str, Any]]:
        return self._header + self._body + self._buttons

    def placeholders(self) -> list[Placeholder]:
        texts = self._placeholders
        return self._media + texts["header"] + texts["body"] + texts["button"]

    def read(self, component: Mapping[str, Any]) -> None:
        kind = str(component.get("type", "")).upper()
        if kind == "HEADER":
            self._read_header(component)
        elif kind == "BODY":
            if parameters := self._text_parameters("body", str(component.get("text") or "")):
                self._body.append({"type": "body", "parameters": parameters})
        elif kind == "BUTTONS":
            self._read_buttons(component.get("buttons") or ())
        elif kind in _COMPONENTS_UNSUPPORTED:
            raise UnusableTemplate(f"a component of type {kind} cannot be sent", where=self._where)

    def _read_header(self, component: Mapping[str, Any]) -> None:
        form = str(component.get("format") or "TEXT").upper()
        if form in MEDIA_FORMATS:
            parameters = [self._media_parameter(form.lower())]
        elif form == "TEXT":
            parameters = self._text_parameters("header", str(component.get("text") or ""))
        else:
            raise UnusableTemplate(f"a header of format {form} cannot be sent", where=self._where)
        if parameters:
            self._header.append({"type": "header", "parameters": parameters})

    def _media_parameter(self, kind: str) -> dict[str, Any]:
        media = self._header_media
        if media is not None and media.is_variable:
            self._media.append(Placeholder(MEDIA, kind))
            return {"type": kind, kind: _SENTINEL}
        if media is None or (media.media_id is None) == (media.link is None):
            raise UnusableTemplate(
                f"the header needs one {kind}, given by media id or by link",
                where=self._where,
                remedy="give {header_column}, {header_file}, {header_link} or {header_media_id}",
                values={},
            )
        return {
            "type": kind,
            kind: source_of(media if kind == "document" else replace(media, filename=None)),
        }

    def _read_buttons(self, buttons: Sequence[Mapping[str, Any]]) -> None:
        try:
            filled = filled_buttons(buttons, self._filled_buttons)
        except UnsendableButton as problem:
            raise UnusableTemplate(str(problem), where=self._where) from None
        self._placeholders["button"] += [button.placeholder for button in filled]
        self._buttons += [button.component(_SENTINEL) for button in filled]

    def _text_parameters(self, component: str, text: str) -> list[dict[str, Any]]:
        names = names_in(text) if self._named else self._numbers_in(component, text)
        self._placeholders[component] += [Placeholder(component, name) for name in names]
        if self._named:
            return [{"type": "text", "parameter_name": name, "text": _SENTINEL} for name in names]
        return [{"type": "text", "text": _SENTINEL} for _ in names]

    def _numbers_in(self, component: str, text: str) -> list[str]:
        names = sorted(names_in(text), key=lambda name: (len(name), name))
        if names != [str(number) for number in range(1, len(names) + 1)]:
            raise UnusableTemplate(
                f"the placeholders of the {component} are {', '.join(names)}, not 1 to {len(names)}",
                where=self._where,
            )
        return names
