"""Spaces and invisible characters around the text of a cell, which spreadsheets and copied texts leave there.

Law: what joins letters stays. Emoji and Persian words need their joiners, and a name in Hebrew its marks.
"""

import re

# Source: Default_Ignorable_Code_Point of the Unicode standard, and the blank Braille pattern.
_CONTROL = "\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"  # no line break, no tab, and no NUL, which is refused
_IGNORABLE = (
    f"{_CONTROL}"
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(rf"[\s{_IGNORABLE}]*")
# At an end, these say nothing. Variation selectors and tags end an emoji, and joiners end a Persian word.
_AT_ENDS = f"{_CONTROL}\xad\u115f\u1160\u180e\u200b\u2060-\u2064\u2800\u3164\ufeff\uffa0"
_ENDS = re.compile(rf"\A[\s{_AT_ENDS}]+|[\s{_AT_ENDS}]+\Z")
_MARKS_AT_ENDS = re.compile(rf"\A[\s\u200e\u200f\u061c{_AT_ENDS}]+|[\s\u200e\u200f\u061c{_AT_ENDS}]+\Z")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_CLOSED_BY = {
    **dict.fromkeys("\u202a\u202b\u202d\u202e", "\u202c"),
    **dict.fromkeys("\u2066\u2067\u2068", "\u2069"),
}


def is_invisible(text: str) -> bool:
    """Return whether nothing of a text is seen: it is empty, or has spaces and invisible characters alone."""
    return _INVISIBLE.fullmatch(text) is not None


def trimmed(text: str) -> str:
    """Return the text without spaces of any kind and invisible characters at its ends."""
    return (_ENDS if _RIGHT_TO_LEFT.search(text) else _MARKS_AT_ENDS).sub("", text)


def without_unpaired(text: str) -> str:
    """Return the text without marks of direction that nothing closes or opens: they would turn what follows
    in the message.
    """
    if _DIRECTIONS.search(text) is None:
        return text
    opened: list[int] = []
    unpaired: set[int] = set()
    for at, character in enumerate(text):
        if character in _CLOSED_BY:
            opened.append(at)
        elif character in "\u202c\u2069":
            if opened and _CLOSED_BY[text[opened[-1]]] == character:
                opened.pop()
            else:
                unpaired.add(at)
    unpaired.update(opened)
    return "".join(character for at, character in enumerate(text) if at not in unpaired)
