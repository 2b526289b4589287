"""The customers: they are on the network or not, block, and read. The seed decides, unless it was set."""

from dataclasses import asdict, dataclass
from typing import Any

from drumbeat.emulator.chance import mix, share
from drumbeat.emulator.naming import Naming

# Answers to different questions about one recipient must be independent: each question has its own seed.
_ON_NETWORK, _FAILS, _READS, _USER_ID = 1, 2, 3, 4
# Recipients for whom the control plane may set the behaviour.
PEOPLE_LIMIT = 1_000_000


@dataclass(slots=True)
class Person:
    """The settings of one recipient. None leaves the answer to the seed.

    `fails_with` is the error code of a later `failed` status, `wa_id` another spelling of the number. Events
    name a person with a `user_id` by it too, and one who hides the phone by it alone.
    """

    on_network: bool | None = None
    reads: bool | None = None
    fails_with: int | None = None
    wa_id: str | None = None
    blocks: bool = False
    user_id: str | None = None
    hides_phone: bool = False


@dataclass(frozen=True, slots=True)
class Ratios:
    """The shares of all recipients."""

    undeliverable: float
    failed: float
    read: float


class People:
    """The answers by recipient (the digits as a number)."""

    def __init__(self, seed: int, ratios: Ratios) -> None:
        self._seed = seed
        self._ratios = ratios
        self._known: dict[int, Person] = {}
        # Everyone is reachable, and under the number that the sender used. True unless options say otherwise.
        self.all_plain = ratios.undeliverable == 0

    def know(self, recipient: int) -> Person:
        """Return the person to be changed. ValueError when too many are set."""
        if recipient not in self._known and len(self._known) >= PEOPLE_LIMIT:
            raise ValueError(f"the behaviour of at most {PEOPLE_LIMIT} recipients can be set")
        self.all_plain = False
        return self._known.setdefault(recipient, Person())

    def known(self, recipient: int) -> Person | None:
        """Return the settings of a recipient, if there are any."""
        return self._known.get(recipient)

    def dump(self) -> list[Any]:
        """Return the settings for a snapshot."""
        return [[recipient, asdict(person)] for recipient, person in self._known.items()]

    def load(self, state: list[Any]) -> None:
        """Restore dumped settings."""
        for recipient, person in state:
            self.know(recipient)
            self._known[recipient] = Person(**person)

    def reachable(self, recipient: int) -> bool:
        """Return whether a message to them can be accepted at all (else 131026)."""
        person = self._known.get(recipient) if self._known else None
        if person is not None and (person.blocks or person.on_network is not None):
            return not person.blocks and person.on_network is not False
        ratio = self._ratios.undeliverable
        return ratio == 0 or self._share(_ON_NETWORK, recipient) >= ratio

    def failure(self, recipient: int) -> int | None:
        """Return the error code with which an accepted message fails later, or None."""
        person = self._known.get(recipient) if self._known else None
        if person is not None and person.fails_with is not None:
            return person.fails_with or None
        ratio = self._ratios.failed
        return 131026 if ratio and self._share(_FAILS, recipient) < ratio else None

    def reads(self, recipient: int) -> bool:
        """Return whether they read their messages."""
        person = self._known.get(recipient) if self._known else None
        if person is not None and person.reads is not None:
            return person.reads
        ratio = self._ratios.read
        return bool(ratio) and self._share(_READS, recipient) < ratio

    def wa_id(self, recipient: int) -> str:
        """Return the number as the network spells it."""
        person = self._known.get(recipient) if self._known else None
        return (person.wa_id if person else None) or str(recipient)

    def user_id(self, recipient: int) -> str:
        """Return the id by which the network knows them."""
        person = self._known.get(recipient) if self._known else None
        given = person.user_id if person else None
        return given or f"US.{mix(self._seed * 8 + _USER_ID, recipient) % 10**16:016}"

    def naming(self, recipient: int) -> Naming:
        """Return how events name them."""
        person = self._known.get(recipient) if self._known else None
        if person is None or not (person.user_id or person.hides_phone):
            return Naming(self.wa_id(recipient))
        return Naming(None if person.hides_phone else self.wa_id(recipient), self.user_id(recipient))

    def bits(self, recipient: int) -> int:
        """Return 64 bits that decide a recipient's delays."""
        return mix(self._seed, recipient)

    def _share(self, question: int, recipient: int) -> float:
        return share(self._seed * 8 + question, recipient)
