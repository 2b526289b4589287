"""The spelling of phones in what Drumbeat writes for people, and reads again."""

import re

FORGOTTEN = "forgotten"  # before a pseudonym: a negative number, the same in all campaigns
_PHONE = re.compile(r"\+[1-9][0-9]{5,14}", re.ASCII)


def phone_text(phone: int) -> str:
    """Return the phone with a plus, which names its country to the reader. For a forgotten person, return the
    pseudonym.
    """
    return f"+{phone}" if phone > 0 else f"{FORGOTTEN}{phone}"


def is_phone(text: str) -> bool:
    """Return whether the text is a phone as `phone_text` writes it. It is no formula, so it needs no mark."""
    return _PHONE.fullmatch(text) is not None
