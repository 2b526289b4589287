"""A template message with its values. `engine.core.template.compiler` compiles it for a campaign."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from drumbeat.engine.core.message_types.media import MediaFile
from drumbeat.engine.core.message_types.plain import Location
from drumbeat.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class UrlSuffix:
    """A text that fills the variable of a URL button."""

    text: str
    sub_type: ClassVar[str] = "url"

    def parameter(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class QuickReply:
    """A payload that comes back when the recipient presses a quick-reply button."""

    payload: str
    sub_type: ClassVar[str] = "quick_reply"

    def parameter(self) -> dict[str, Any]:
        return {"type": "payload", "payload": self.payload}


@dataclass(frozen=True, slots=True)
class CouponCode:
    """A code that fills a copy-code button."""

    code: str
    sub_type: ClassVar[str] = "copy_code"

    def parameter(self) -> dict[str, Any]:
        return {"type": "coupon_code", "coupon_code": self.code}


@dataclass(frozen=True, slots=True)
class FlowToken:
    """A token that comes back with the answers of a flow button's form."""

    token: str
    sub_type: ClassVar[str] = "flow"

    def parameter(self) -> dict[str, Any]:
        return {"type": "action", "action": {"flow_token": self.token}}


@dataclass(frozen=True, slots=True)
class CatalogItem:
    """The product whose picture a catalogue button shows."""

    product_id: str
    sub_type: ClassVar[str] = "catalog"

    def parameter(self) -> dict[str, Any]:
        return {"type": "action", "action": {"thumbnail_product_retailer_id": self.product_id}}


ButtonValue = UrlSuffix | QuickReply | CouponCode | FlowToken | CatalogItem
TextValues = Sequence[str] | Mapping[str, str]
"""The values of a text, by position, or by the names of the placeholders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateMessage:
    """An approved template, filled. `header` is its texts, or the file or place that it shows.

    `buttons` maps the position of a button, counted from 0, to what fills it.
    """

    name: str
    language: str
    header: TextValues | MediaFile | Location = ()
    body: TextValues = ()
    buttons: Mapping[int, ButtonValue] = field(default_factory=dict)
    kind: ClassVar[str] = "template"

    def content(self) -> dict[str, Any]:
        components = [*_component("header", self.header), *_component("body", self.body)]
        components += [_button(index, value) for index, value in self.buttons.items()]
        named = {"name": self.name, "language": {"code": self.language}}
        return {**named, "components": components} if components else named


def _component(kind: str, values: TextValues | MediaFile | Location) -> list[dict[str, Any]]:
    parameters = _parameters(values)
    return [{"type": kind, "parameters": parameters}] if parameters else []


def _parameters(values: TextValues | MediaFile | Location) -> list[dict[str, Any]]:
    if isinstance(values, str):
        raise UsageError("the values of a template are a list, or a mapping by name, not one text")
    if isinstance(values, MediaFile | Location):
        return [{"type": values.kind, values.kind: values.content()}]
    if isinstance(values, Mapping):
        return [{"type": "text", "parameter_name": name, "text": text} for name, text in values.items()]
    return [{"type": "text", "text": text} for text in values]


def _button(index: int, value: ButtonValue) -> dict[str, Any]:
    return {
        "type": "button",
        "sub_type": value.sub_type,
        "index": str(index),
        "parameters": [value.parameter()],
    }
