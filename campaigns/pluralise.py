"""Counts with their nouns: 1 row, 2 rows."""


def pluralise(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: `1 row`, `2,000 rows`. `plural` defaults to `singular` with an s."""
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
