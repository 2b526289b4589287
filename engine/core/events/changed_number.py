"""The change of a person's number, which the service says in a message of its own."""

import re
from collections.abc import Mapping
from typing import Any

from drumbeat.engine.core.phone_digits import phone_digits

_PHONES = re.compile(r"\+?[0-9][0-9 ()./\u00a0-]{5,22}[0-9]", re.ASCII)


def read_changed_number(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the former and the present phone, in digits, of a person who changed the number.

    The service writes a `system` message then (open point). The present phone has a field of its own, or is
    only in the text for people: "Ben changed from 14155550152 to 14155550198".
    """
    system = message.get("system")
    if not isinstance(system, dict) or "changed_number" not in str(system.get("type")):
        return None
    former = _digits(message.get("from")) or _digits(system.get("customer"))
    told = _PHONES.findall(str(system.get("body") or ""))
    present = next(
        (
            digits
            for each in (system.get("new_wa_id"), system.get("wa_id"), *reversed(told))
            if (digits := _digits(each)) and digits != former
        ),
        None,
    )
    return (former, present) if former and present else None


def _digits(given: Any) -> str | None:
    return phone_digits(str(given)) if isinstance(given, str | int) else None
