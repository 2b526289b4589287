"""The removal of control characters from texts of the service. A terminal or a log viewer would obey them.

Law: every text of the service is sanitised before it is stored or shown. Letters of every script are kept.
"""

_ENDS_OF_LINES = ("\u2028", "\u2029")
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
# Characters that move the cursor, break the line or change the text direction.
CONTROLS = frozenset((*map(chr, (*range(0x20), *range(0x7F, 0xA0), *_DIRECTIONS)), *_ENDS_OF_LINES))
_REPLACEMENTS = {ord(control): " " if control.isspace() else None for control in CONTROLS}


def sanitise(text: str) -> str:
    """Return the text on one line, without control characters."""
    return text.translate(_REPLACEMENTS)
