"""The compiler of templates. A template is compiled once for a campaign; a message then joins prepared
pieces.

The placeholders have the order of `param`: the media of a header that differ by recipient, header text,
body, buttons. Within a text, a POSITIONAL template orders them by number, a NAMED one by first appearance.
The shapes of components are an open point.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring_ascii
from typing import Any

from drumbeat.engine.core.placeholder import MEDIA, Placeholder
from drumbeat.engine.core.template_buttons import UnsendableButton, filled_buttons, names_in
from drumbeat.engine.errors import ConfigurationError

VARIABLE_CHARACTERS_MAX = 1024  # the limit for the whole body of a template

_SUSPECT = re.compile(r"[\n\r\v\f\x85\u2028\u2029]|\t|\x00| {5}")
_REASON_OF_SUSPECT = {"\t": "tab", "\x00": "control", "     ": "spaces"}
MEDIA_FORMATS = frozenset({"IMAGE", "VIDEO", "DOCUMENT"})
# Components that need parameters of which the interface says nothing. Without these, every message would
# fail.
_COMPONENTS_UNSUPPORTED = frozenset({"CAROUSEL", "LIMITED_TIME_OFFER"})

# Stands for a value while the body is serialised. It holds NULs, which no name of a template holds.
_SENTINEL = "\x00value\x00"
_SENTINEL_ESCAPED = json.dumps(_SENTINEL)


class UnusableTemplate(ConfigurationError):
    """A template that cannot be sent as it is defined."""


@dataclass(frozen=True, slots=True)
class Media:
    """The media of a header: an uploaded `media_id`, an HTTPS `link`, or `is_variable`.

    `is_variable`: the first variable of each recipient is a link or the reference of a file. `filename` is
    the name under which a document is shown.
    """

    media_id: str | None = None
    link: str | None = None
    filename: str | None = None
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A template ready for its variables, made by `compile_template`. `filename`: of variable media."""

    name: str
    language: str
    placeholders: tuple[Placeholder, ...]
    skeleton: tuple[str, ...]
    filename: str | None = None

    @property
    def has_variable_media(self) -> bool:
        """Return whether `payload_with_media` makes the payloads."""
        return bool(self.placeholders) and self.placeholders[0].component == MEDIA

    def payload(self, to: int | str, variables: Sequence[str], tag: str | None) -> bytes:
        """Return the JSON body of one message. `to` is digits only. `tag` is None for services without opaque
        data.

        Raises ValueError if variables and placeholders differ in number: the service would answer 132012.
        """
        if len(variables) != len(self.placeholders):
            raise ValueError(f"the template needs {len(self.placeholders)} variables, not {len(variables)}")
        pieces = list(self.skeleton)
        pieces[1] = str(to)
        pieces[3:-1:2] = map(encode_basestring_ascii, variables)
        pieces[-1] = "}" if tag is None else f',"biz_opaque_callback_data":"{tag}"}}'
        return "".join(pieces).encode("utf-8")

    def payload_with_media(
        self, sources: Mapping[str, str], to: int | str, variables: Sequence[str], tag: str | None
    ) -> bytes:
        """Return the JSON body of one message of a template whose first variable is the media of the header.

        `sources` maps the reference of a file to what `media_source` made of its id. Any other value is a
        link. The other arguments are the same as for `payload`.
        """
        media, *rest = variables
        pieces = list(self.skeleton)
        pieces[1] = str(to)
        pieces[3] = sources.get(media) or media_source(Media(link=media, filename=self.filename))
        pieces[5:-1:2] = map(encode_basestring_ascii, rest)
        pieces[-1] = "}" if tag is None else f',"biz_opaque_callback_data":"{tag}"}}'
        return "".join(pieces).encode("utf-8")


def media_source(media: Media) -> str:
    """Return the JSON of a picture, video or document in a header: its id or link, and its shown name."""
    return json.dumps(_source(media), separators=(",", ":"))


def _source(media: Media) -> dict[str, str]:
    source: dict[str, str] = {"id": media.media_id} if media.media_id else {"link": str(media.link)}
    return {**source, "filename": media.filename} if media.filename else source


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


def check_variable(value: str) -> str | None:
    """Return why the service would refuse a variable, or None if it would not.

    The reasons are empty, newline, tab, control, spaces and too_long.
    """
    if not value or value.isspace():
        return "empty"
    if len(value) > VARIABLE_CHARACTERS_MAX:
        return "too_long"
    suspect = _SUSPECT.search(value)
    return None if suspect is None else _REASON_OF_SUSPECT.get(suspect.group(), "newline")


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
        return {"type": kind, kind: _source(media if kind == "document" else replace(media, filename=None))}

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
