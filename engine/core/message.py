"""Compiles a template once for a campaign. Each message is then a join of prepared pieces.

The placeholders have the order of `--param`: header text, body, URL buttons. Within a text, a POSITIONAL
template orders them by number, a NAMED one by first appearance. The shapes of components are an open point.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from typing import Any

from engine.errors import ConfigurationError

VARIABLE_CHARACTERS_MAX = 1024  # the limit for the whole body of a template

_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
_SUSPECT = re.compile(r"[\n\r\v\f\x85\u2028\u2029]|\t|\x00| {5}")
_REASON_OF_SUSPECT = {"\t": "tab", "\x00": "control", "     ": "spaces"}
MEDIA_FORMATS = frozenset({"IMAGE", "VIDEO", "DOCUMENT"})
# Buttons whose parameters the interface does not document. Without them, every message would fail.
_BUTTONS_UNSUPPORTED = frozenset({"COPY_CODE", "OTP", "CATALOG", "MPM"})

# Stands for a value while the body is serialised. It holds NULs, which no name of a template does.
_SENTINEL = "\x00value\x00"
_SENTINEL_ESCAPED = json.dumps(_SENTINEL)


class UnusableTemplate(ConfigurationError):
    """A template that cannot be sent as it is defined."""


@dataclass(frozen=True, slots=True)
class Media:
    """The media of a header, the same for a whole campaign: an uploaded `media_id` or an HTTPS `link`."""

    media_id: str | None = None
    link: str | None = None
    filename: str | None = None


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A variable of the template. `component`: header, body or button. `name`: its name, or its number."""

    component: str
    name: str


@dataclass(frozen=True, slots=True)
class CompiledTemplate:
    """A template ready for its variables. Made by `compile_template`."""

    name: str
    language: str
    placeholders: tuple[Placeholder, ...]
    skeleton: tuple[str, ...]

    def payload(self, to: int | str, variables: Sequence[str], tag: str | None) -> bytes:
        """The JSON body of one message. `to`: digits only. `tag`: None for services without opaque data.

        Raises ValueError if variables and placeholders differ in number: the service would answer 132012.
        """
        if len(variables) != len(self.placeholders):
            raise ValueError(f"the template needs {len(self.placeholders)} variables, not {len(variables)}")
        pieces = list(self.skeleton)
        pieces[1] = str(to)
        pieces[3:-1:2] = map(encode_basestring_ascii, variables)
        pieces[-1] = "}" if tag is None else f',"biz_opaque_callback_data":"{tag}"}}'
        return "".join(pieces).encode("utf-8")


def compile_template(
    definition: Mapping[str, Any],
    product: str,
    *,
    header_media: Media | None = None,
) -> CompiledTemplate:
    """Compile a template as the service lists it: name, language, components, parameter_format.

    Raises UnusableTemplate, which names the part that cannot be sent.
    """
    name, language = str(definition.get("name", "")), str(definition.get("language", ""))
    where = f"template {name}, language {language}"
    named = str(definition.get("parameter_format") or "POSITIONAL").upper() == "NAMED"
    reader = _Reader(where, named, header_media)
    for component in definition.get("components") or ():
        reader.read(component)
    template: dict[str, Any] = {"name": name, "language": {"code": language}}
    if components := reader.components():
        template["components"] = components
    skeleton = _skeleton(product, template)
    return CompiledTemplate(name, language, tuple(reader.placeholders()), skeleton)


def check_variable(value: str) -> str | None:
    """Why the service would refuse a variable: empty, newline, tab, control, spaces, too_long. Or None."""
    if not value or value.isspace():
        return "empty"
    if len(value) > VARIABLE_CHARACTERS_MAX:
        return "too_long"
    suspect = _SUSPECT.search(value)
    return None if suspect is None else _REASON_OF_SUSPECT.get(suspect.group(), "newline")


def _skeleton(product: str, template: dict[str, Any]) -> tuple[str, ...]:
    """Constants and values in turn: constant, to, constant, variable, ..., constant, tail with the tag."""
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
    """Collects the components to send, in a fixed order, whatever the order of the definition."""

    def __init__(self, where: str, named: bool, header_media: Media | None) -> None:
        self._where = where
        self._named = named
        self._header_media = header_media
        self._header: list[dict[str, Any]] = []
        self._body: list[dict[str, Any]] = []
        self._buttons: list[dict[str, Any]] = []
        self._placeholders: dict[str, list[Placeholder]] = {"header": [], "body": [], "button": []}

    def components(self) -> list[dict[str, Any]]:
        return self._header + self._body + self._buttons

    def placeholders(self) -> list[Placeholder]:
        return self._placeholders["header"] + self._placeholders["body"] + self._placeholders["button"]

    def read(self, component: Mapping[str, Any]) -> None:
        kind = str(component.get("type", "")).upper()
        if kind == "HEADER":
            self._read_header(component)
        elif kind == "BODY":
            if parameters := self._text_parameters("body", str(component.get("text") or "")):
                self._body.append({"type": "body", "parameters": parameters})
        elif kind == "BUTTONS":
            for index, button in enumerate(component.get("buttons") or ()):
                self._read_button(index, button)

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
        if media is None or (media.media_id is None) == (media.link is None):
            raise UnusableTemplate(
                f"the header needs one {kind}, given by media id or by link",
                where=self._where,
                remedy="give --header-media-id or --header-link",
            )
        source: dict[str, str] = {"id": media.media_id} if media.media_id else {"link": str(media.link)}
        if kind == "document" and media.filename:
            source["filename"] = media.filename
        return {"type": kind, kind: source}

    def _read_button(self, index: int, button: Mapping[str, Any]) -> None:
        kind = str(button.get("type", "")).upper()
        if kind in _BUTTONS_UNSUPPORTED:
            raise UnusableTemplate(f"a button of type {kind} cannot be sent", where=self._where)
        names = _names_in(str(button.get("url") or "")) if kind == "URL" else []
        if len(names) > 1:
            raise UnusableTemplate(
                f"button {index} has {len(names)} placeholders, only one is allowed", where=self._where
            )
        if names:
            self._placeholders["button"].append(Placeholder("button", names[0]))
            parameters = [{"type": "text", "text": _SENTINEL}]
            self._buttons.append(
                {"type": "button", "sub_type": "url", "index": str(index), "parameters": parameters}
            )

    def _text_parameters(self, component: str, text: str) -> list[dict[str, Any]]:
        names = _names_in(text) if self._named else self._numbers_in(component, text)
        self._placeholders[component] += [Placeholder(component, name) for name in names]
        if self._named:
            return [{"type": "text", "parameter_name": name, "text": _SENTINEL} for name in names]
        return [{"type": "text", "text": _SENTINEL} for _ in names]

    def _numbers_in(self, component: str, text: str) -> list[str]:
        names = sorted(_names_in(text), key=lambda name: (len(name), name))
        if names != [str(number) for number in range(1, len(names) + 1)]:
            raise UnusableTemplate(
                f"the placeholders of the {component} are {', '.join(names)}, not 1 to {len(names)}",
                where=self._where,
            )
        return names


def _names_in(text: str) -> list[str]:
    return list(dict.fromkeys(_PLACEHOLDER.findall(text)))
