"""The reader of the words by which people opt out in an incoming message, or take that back.

Law: only a whole message counts. "Stop" opts out, "Please don't stop" does not. Case, accents, punctuation
and spaces make no difference.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from drumbeat.engine.core.limits.recipient_reasons import WORDS, RecipientReason

# Accents of Latin, Greek and Cyrillic letters; points of Hebrew and Arabic, which are mostly not written.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f]")
# A longer text is not a single word or short phrase.
CHARACTERS_MAX = 100


class WordMessage(NamedTuple):
    """A message that consists of such a word. `source` says that the person wrote it, or pressed a button.

    `word` is the text as it arrived.
    """

    source: str
    word: str

    @property
    def opt_out_reason(self) -> str:
        """Return the reason for the entry in the suppression list."""
        did = "wrote" if self.source == WORD else "pressed"
        return f'{WORDS[RecipientReason.OPTED_OUT]} ({did} "{self.word}")'


WORD, BUTTON = "word", "button"
CAPTIONED = ("image", "video", "document")
EDIT = "edit"  # of services of this family: a message in place of an earlier one, which it holds whole


def normalised(text: str) -> str:
    """Return the text without accents, punctuation and case, its words divided by one space."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(_kept(character) for character in plain if not _ACCENTS.match(character))
    return " ".join(kept.casefold().split())


def _kept(character: str) -> str:
    # The vowel signs of many scripts are marks: without them, other words would look the same.
    is_mark = unicodedata.category(character).startswith("M")
    return character if character.isalnum() or is_mark else " "


def read_word(message: Mapping[str, Any], words: Collection[str]) -> WordMessage | None:
    """Return the word that a message consists of, if it is one of `words`, which are normalised."""
    for source, text in _texts(message):
        if isinstance(text, str) and len(text) <= CHARACTERS_MAX and normalised(text) in words:
            return WordMessage(source, text.strip())
    return None


def _texts(message: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the text that the person wrote, also below a picture or in place of an earlier text, or payload
    and title of the button that the person pressed.
    """
    button, interactive = _part(message, "button"), _part(message, "interactive")
    reply = _part(interactive, "button_reply") or _part(interactive, "list_reply")
    edited = _part(_part(message, EDIT), "message")
    return [
        (WORD, _part(message, "text").get("body")),
        *((WORD, _part(message, kind).get("caption")) for kind in CAPTIONED),
        *(_texts(edited) if edited and EDIT not in edited else ()),
        (BUTTON, button.get("payload")),
        (BUTTON, button.get("text")),
        (BUTTON, reply.get("id")),
        (BUTTON, reply.get("title")),
    ]


def _part(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = parent.get(name)
    return part if isinstance(part, dict) else {}
