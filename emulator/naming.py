"""The ways in which an event names a customer: by a phone in some spelling, by a user id, or by both."""

from typing import Any, NamedTuple


class Naming(NamedTuple):
    """A customer as an event names them. `phone` is what stands as wa_id, and need not be digits."""

    phone: str | None
    user_id: str | None = None

    def contact(self, name: str) -> dict[str, Any]:
        """Return the element of `contacts`."""
        return {"profile": {"name": name}, **self._members("wa_id", "user_id")}

    def sender(self) -> dict[str, str]:
        """Return the members that name the writer of a message."""
        return self._members("from", "from_user_id")

    def recipient(self) -> dict[str, str]:
        """Return the members that name the recipient of a status."""
        return self._members("recipient_id", "recipient_user_id")

    def person(self) -> dict[str, str]:
        """Return the members that name the person of a preference."""
        return self._members("wa_id", "user_id")

    def _members(self, phone: str, user_id: str) -> dict[str, str]:
        return {name: value for name, value in ((phone, self.phone), (user_id, self.user_id)) if value}


NAMINGS = ("phone", "plus", "both", "user-id", "user-id-as-phone")


def named(how: str, wa_id: str, user_id: str) -> Naming:
    """Return the naming that one of the words of `NAMINGS` stands for."""
    namings = {
        "phone": Naming(wa_id),
        "plus": Naming(f"+{wa_id.lstrip('+')}"),
        "both": Naming(wa_id, user_id),
        "user-id": Naming(None, user_id),
        "user-id-as-phone": Naming(user_id, user_id),
    }
    return namings[how]
