"""The plain messages: text, reaction, location and contacts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from drumbeat.engine.core.message_types.rules import given, require_count, require_text
from drumbeat.engine.errors import UsageError

TEXT_CHARACTERS_MAX = 4096  # limit of services of this family
CONTACTS_MAX = 257


@dataclass(frozen=True, slots=True)
class Text:
    """A plain text. `preview_url`: show a preview of the first link in it."""

    body: str
    preview_url: bool = False
    kind: ClassVar[str] = "text"

    def content(self) -> dict[str, Any]:
        return {
            "preview_url": self.preview_url,
            "body": require_text("a text", self.body, TEXT_CHARACTERS_MAX),
        }


@dataclass(frozen=True, slots=True)
class Reaction:
    """An emoji on a message; an empty one removes the reaction."""

    message_id: str
    emoji: str
    kind: ClassVar[str] = "reaction"

    def content(self) -> dict[str, Any]:
        return {"message_id": self.message_id, "emoji": self.emoji}


@dataclass(frozen=True, slots=True)
class Location:
    """A pin on a map. Latitude and longitude are in degrees."""

    latitude: float
    longitude: float
    name: str | None = None
    address: str | None = None
    kind: ClassVar[str] = "location"

    def content(self) -> dict[str, Any]:
        if not (abs(self.latitude) <= 90 and abs(self.longitude) <= 180):
            raise UsageError(
                f"{self.latitude}, {self.longitude} is no place",
                remedy="give a latitude from -90 to 90 and a longitude from -180 to 180",
            )
        place = {"latitude": self.latitude, "longitude": self.longitude}
        return {**place, **given(name=self.name, address=self.address)}


@dataclass(frozen=True, slots=True)
class Contact:
    """A contact card. `more`: members that services of this family also know, such as `emails`, `org`."""

    formatted_name: str
    phones: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        name = {"formatted_name": self.formatted_name, "first_name": self.formatted_name}
        phones = {"phones": [{"phone": phone} for phone in self.phones]} if self.phones else {}
        return {"name": name, **phones, **self.more}


@dataclass(frozen=True, slots=True)
class Contacts:
    """A message of one or more contact cards."""

    cards: Sequence[Contact]
    kind: ClassVar[str] = "contacts"

    def content(self) -> list[dict[str, Any]]:
        require_count("contacts", self.cards, CONTACTS_MAX)
        return [card.content() for card in self.cards]
