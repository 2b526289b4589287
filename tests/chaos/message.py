"""A message that the service accepted, as its ledger shows it."""

from dataclasses import dataclass

from drumbeat.engine.core.tag import Tag, decode

Owner = tuple[str, int]  # a number and an epoch: one process


@dataclass(frozen=True, slots=True)
class Message:
    """One accepted message, in the service's order. `received_s`: the judge's wall clock."""

    wamid: str
    phone_number_id: str
    tag: str
    received_s: float

    @property
    def read_tag(self) -> Tag:
        tag = decode(self.tag)
        assert tag is not None, f"a message without a tag of ours: {self.tag!r}"
        return tag

    @property
    def owner(self) -> Owner:
        """The number and the epoch that sent it."""
        return self.phone_number_id, self.read_tag.epoch
