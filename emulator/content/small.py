"""The small messages: reactions, locations and contact cards."""

from typing import Any

from drumbeat.emulator.content.rules import MediaKinds, object_of, objects_of, optional_text, text_of
from drumbeat.emulator.errors import Refused

CONTACTS_LIMIT = 257
TEXT_LIMIT_CHARACTERS = 1000
# The longest sequence that is one emoji: family and flag sequences included.
EMOJI_LIMIT_CHARACTERS = 32


def check_reaction(content: dict[str, Any], _media: MediaKinds) -> None:
    """Check `{"message_id", "emoji"}`. An empty emoji removes the reaction."""
    text_of(content, "message_id", "reaction", 256)
    emoji = text_of(content, "emoji", "reaction", EMOJI_LIMIT_CHARACTERS, empty=True)
    if any(character.isascii() and character.isalpha() for character in emoji):
        raise Refused(131009, "reaction.emoji is one emoji, or empty")


def check_location(content: dict[str, Any], _media: MediaKinds) -> None:
    """Check `{"latitude", "longitude", "name"?, "address"?}`. The numbers may also be text."""
    for name, limit in (("latitude", 90), ("longitude", 180)):
        value = content.get(name)
        if value is None:
            raise Refused(131008, f"location.{name} is required")
        try:
            within = not isinstance(value, bool | list | dict) and abs(float(value)) <= limit
        except ValueError:
            within = False
        if not within:
            raise Refused(131009, f"location.{name} is a number of degrees from {-limit} to {limit}")
    optional_text(content, "name", "location", TEXT_LIMIT_CHARACTERS)
    optional_text(content, "address", "location", TEXT_LIMIT_CHARACTERS)


def check_contacts(content: dict[str, Any], _media: MediaKinds) -> None:
    """Check an array of cards, each with `name.formatted_name` and `phones`."""
    for card in objects_of(content, "contacts", "contacts", CONTACTS_LIMIT):
        name = object_of(card, "name", "contacts[]")
        text_of(name, "formatted_name", "contacts[].name", TEXT_LIMIT_CHARACTERS)
        if card.get("phones") is not None:
            for phone in objects_of(card, "phones", "contacts[]", CONTACTS_LIMIT):
                optional_text(phone, "phone", "contacts[].phones[]", 64)
