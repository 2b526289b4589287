"""The kinds of messages: the properties that many messages share, stored once."""

from typing import Any, NamedTuple


class MessageKind(NamedTuple):
    """A kind of message: the number through which it went, and its properties. `type` is the message type of
    the interface.
    """

    number_id: str
    type: str
    template: str | None = None
    language: str | None = None

    @property
    def template_key(self) -> tuple[str, str] | None:
        """Return name and language of the template, or None for a free-form message."""
        return None if self.template is None else (self.template, self.language or "")


class Kinds:
    """The table of every kind that occurred, by index."""

    def __init__(self) -> None:
        self._kinds: list[MessageKind] = []
        self._indexes: dict[MessageKind, int] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def __getitem__(self, index: int) -> MessageKind:
        return self._kinds[index]

    def index_of(self, kind: MessageKind) -> int:
        """Return the index of a kind. A new kind gets the next one."""
        index = self._indexes.get(kind)
        if index is None:
            index = self._indexes[kind] = len(self._kinds)
            self._kinds.append(kind)
        return index

    def of_number(self, number_id: str) -> list[int]:
        """Return the indexes of the kinds that went through a number."""
        return [index for index, kind in enumerate(self._kinds) if kind.number_id == number_id]

    def numbers(self) -> set[str]:
        """Return the ids of the numbers through which any message went."""
        return {kind.number_id for kind in self._kinds}

    def dump(self) -> list[list[Any]]:
        """Return the kinds for a snapshot."""
        return [list(kind) for kind in self._kinds]

    def load(self, state: list[list[Any]]) -> None:
        """Restore dumped kinds."""
        self._kinds = [MessageKind(*kind) for kind in state]
        self._indexes = {kind: index for index, kind in enumerate(self._kinds)}
