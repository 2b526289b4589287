"""The uploaded files: kept for 30 days, fetched by an address that lives for five minutes."""

import hashlib
import hmac
import os
import re
from dataclasses import dataclass

from drumbeat.emulator.clock import SECOND_NS, Clock
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.ids import Ids

MEGABYTE = 1024 * 1024
SIZE_LIMITS_BYTES = {
    "image": 5 * MEGABYTE,
    "video": 16 * MEGABYTE,
    "audio": 16 * MEGABYTE,
    "document": 100 * MEGABYTE,
    "sticker": 500 * 1024,
}
LIFETIME_S = 30 * 24 * 3600
ADDRESS_LIFETIME_NS = 300 * SECOND_NS
# Everything together, in memory (a limit of the emulator).
STORE_LIMIT_BYTES = 1024 * MEGABYTE

_MIME_TYPE = re.compile(r"[\w.+-]{1,64}/[\w.+-]{1,100}(; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class MediaItem:
    """An uploaded file. `number_id`: the number that uploaded the file, or that received it."""

    id: str
    number_id: str
    mime_type: str
    content: bytes
    sha256: str
    uploaded_s: int

    @property
    def kind(self) -> str:
        """Return the kind that the file can be sent as."""
        return kind_of_type(self.mime_type)


def kind_of_type(mime_type: str) -> str:
    """Return image, video, audio, sticker (image/webp), else document."""
    plain = mime_type.partition(";")[0].strip().lower()
    family = plain.partition("/")[0]
    if plain == "image/webp":
        return "sticker"
    return family if family in ("image", "video", "audio") else "document"


class MediaStore:
    """The files by id."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids
        self._items: dict[str, MediaItem] = {}
        self._bytes = 0
        self._key = os.urandom(16)

    def items(self) -> list[MediaItem]:
        """Return every file kept."""
        return list(self._items.values())

    def keep(self, number_id: str, mime_type: str, content: bytes) -> MediaItem:
        """Keep a new file. `Refused` (100) if `mime_type` is none. Also raises the errors of `add`."""
        if not _MIME_TYPE.fullmatch(mime_type):
            raise Refused(100, f"type is a MIME type such as image/jpeg, not {mime_type[:100]!r}")
        sha256, now_s = hashlib.sha256(content).hexdigest(), self._clock.unix_s()
        item = MediaItem(self._ids.new(), number_id, mime_type, content, sha256, now_s)
        self.add(item)
        return item

    def add(self, item: MediaItem) -> None:
        """Keep a file; `Refused` (131053) when it is empty, too large for its kind, or the store is full."""
        self._remove_expired()
        limit = SIZE_LIMITS_BYTES[item.kind]
        if not 0 < len(item.content) <= limit:
            raise Refused(131053, f"a file of kind {item.kind} has 1 to {limit} bytes")
        if self._bytes + len(item.content) > STORE_LIMIT_BYTES:
            raise Refused(131053, f"the store is full: {STORE_LIMIT_BYTES} bytes")
        self._items[item.id] = item
        self._bytes += len(item.content)

    def find(self, media_id: str) -> MediaItem | None:
        """Return a file that has not passed its 30 days."""
        item = self._items.get(media_id)
        if item is None or self._clock.unix_s() - item.uploaded_s >= LIFETIME_S:
            return None
        return item

    def kind_of(self, media_id: str) -> str | None:
        """Return the kind of a file that can be sent."""
        item = self.find(media_id)
        return item.kind if item else None

    def remove(self, media_id: str) -> None:
        """Forget a file."""
        self._bytes -= len(self._items.pop(media_id).content)

    def ticket(self, media_id: str, token: str) -> str:
        """Return the end of a download address: the file, its expiry, and a signature over both and the
        token.
        """
        # Not in whole seconds: the address would die within its last one.
        until_ns = self._clock.now_ns() + ADDRESS_LIFETIME_NS
        return f"{media_id}.{until_ns}.{self._sign(media_id, str(until_ns), token)}"

    def redeem(self, ticket: str, token: str) -> MediaItem | None:
        """Return the file of a download address, or None if it has expired or another token asked for it."""
        media_id, _, rest = ticket.partition(".")
        until, _, signature = rest.partition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(media_id, until, token).encode()):
            return None
        return self.find(media_id) if self._clock.now_ns() < int(until) else None

    def _sign(self, media_id: str, until: str, token: str) -> str:
        text = f"{media_id}.{until}.{token}".encode()
        return hmac.new(self._key, text, hashlib.sha256).hexdigest()[:32]

    def _remove_expired(self) -> None:
        for media_id in [each for each in self._items if self.find(each) is None]:
            self.remove(media_id)
