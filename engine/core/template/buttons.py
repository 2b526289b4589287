"""The buttons of templates that a message fills: the parameter of each, and whether a message must fill it.

The interface shows no parameter of a button, so their shapes are an open point: those that services of this
family publish. `engine.core.message_types.template` has the same ones for a single message.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.engine.core.template.placeholder import Placeholder

PLACEHOLDER = re.compile(r"\{\{\s*([^{}]*?)\s*\}\}")
# A message would have to name the products of its list, which a table of recipients cannot.
UNSENDABLE = {"MPM": "it needs a list of products for each message"}


@dataclass(frozen=True, slots=True)
class ButtonKind:
    """The parameter with which a message fills buttons of one type.

    `value` names both the type of the parameter and its member. For an action, `field` is the one field that
    is filled. `says` names the value for people.
    """

    sub_type: str
    value: str
    says: str
    is_optional: bool = False
    field: str = ""

    def component(self, index: int, value: str) -> dict[str, Any]:
        content: Any = {self.field: value} if self.field else value
        parameter = {"type": self.value, self.value: content}
        return {
            "type": "button",
            "sub_type": self.sub_type,
            "index": str(index),
            "parameters": [parameter],
        }


KINDS = {
    "URL": ButtonKind("url", "text", "link"),
    "COPY_CODE": ButtonKind("copy_code", "coupon_code", "code"),
    "OTP": ButtonKind("url", "text", "code"),
    "QUICK_REPLY": ButtonKind("quick_reply", "payload", "payload", is_optional=True),
    "FLOW": ButtonKind("flow", "action", "token", is_optional=True, field="flow_token"),
    "CATALOG": ButtonKind(
        "catalog", "action", "product", is_optional=True, field="thumbnail_product_retailer_id"
    ),
}


@dataclass(frozen=True, slots=True)
class FilledButton:
    """A button that a message fills, or may fill."""

    placeholder: Placeholder
    kind: ButtonKind

    def component(self, value: str) -> dict[str, Any]:
        assert self.placeholder.button is not None
        return self.kind.component(self.placeholder.button, value)


class UnsendableButton(ValueError):
    """A button that no message of a campaign can fill. Its text names the button."""


def fillable_buttons(buttons: Sequence[Mapping[str, Any]]) -> Iterator[FilledButton]:
    """Yield the buttons that a message fills or may fill, in their order. A fixed URL is none of them."""
    for index, button in enumerate(buttons):
        kind = str(button.get("type", "")).upper()
        if kind in UNSENDABLE:
            raise UnsendableButton(f"button {index} of type {kind} cannot be sent: {UNSENDABLE[kind]}")
        if kind not in KINDS:
            continue
        name = _name_in_url(index, button) if kind == "URL" else KINDS[kind].says
        if name:
            yield FilledButton(Placeholder("button", name, index), KINDS[kind])


def filled_buttons(buttons: Sequence[Mapping[str, Any]], optional: Collection[int]) -> list[FilledButton]:
    """Return the buttons that must be filled, and of the others those with an index in `optional`."""
    return [
        button
        for button in fillable_buttons(buttons)
        if not button.kind.is_optional or button.placeholder.button in optional
    ]


def _name_in_url(index: int, button: Mapping[str, Any]) -> str:
    names = names_in(str(button.get("url") or ""))
    if len(names) > 1:
        raise UnsendableButton(f"button {index} has {len(names)} placeholders, only one is allowed")
    return names[0] if names else ""


def names_in(text: str) -> list[str]:
    """Return the placeholders of a text, each once, as they appear."""
    return list(dict.fromkeys(PLACEHOLDER.findall(text)))
