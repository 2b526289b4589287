"""The phone aliases: two valid numbers that reach the same phone. The service may report either.

Brazil: mobile numbers got an additional 9 after the area code. Mexico: 521 for mobiles called from abroad.
Argentina: 549 for mobiles.
"""

# The 12-digit numbers that begin with 54 or 55: only these have a longer alias that an audience may hold too.
_SHORT_MIN, _SHORT_END = 540_000_000_000, 560_000_000_000
_MOBILE_BEGINNINGS = "6789"  # the first digit of a Brazilian mobile number without the additional 9


def phone_aliases(recipient: str) -> tuple[int, ...]:
    """Return the forms of `recipient` (digits of E.164), itself first; empty for any other text."""
    if not (recipient.isascii() and recipient.isdigit() and len(recipient) <= 15):
        return ()
    other = _other_form(recipient)
    return (int(recipient),) if other is None else (int(recipient), int(other))


def canonical_phone(phone: int) -> int:
    """Return one number for all valid aliases of a valid number: the longest of them."""
    return max(phone_aliases(str(phone))) if _SHORT_MIN <= phone < _SHORT_END else phone


def _other_form(digits: str) -> str | None:
    if digits.startswith("55"):
        return _other_brazilian(digits)
    if digits.startswith("52"):
        return _without_or_with(digits, "52", "1", national_digits=10)
    if digits.startswith("54"):
        return _without_or_with(digits, "54", "9", national_digits=10)
    return None


def _other_brazilian(digits: str) -> str | None:
    area, local = digits[:4], digits[4:]
    if len(local) == 9 and local[0] == "9" and local[1] in _MOBILE_BEGINNINGS:
        return area + local[1:]
    if len(local) == 8 and local[0] in _MOBILE_BEGINNINGS:
        return area + "9" + local
    return None


def _without_or_with(digits: str, country: str, mark: str, *, national_digits: int) -> str | None:
    national = digits[len(country) :]
    if len(national) == national_digits:
        return country + mark + national
    if len(national) == national_digits + 1 and national.startswith(mark):
        return country + national[1:]
    return None
