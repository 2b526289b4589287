"""The repair of JSON that a strict reader refuses because of one part of it.

Law: every part that a strict reader takes stays as it is. Only what it refuses is replaced: half of a
surrogate pair, a number beyond the range of a double, a value that is nested too deeply, a bare control
character in a text, bytes that are no UTF-8.
"""

import re

DEPTH_MAX = 100  # of kept values: no event of the service is nested deeper than ten
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TOKEN = re.compile(
    r'(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")|(?P<open>[\[{])|(?P<close>[\]}])'
    r"|(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|(?P<constant>-?Infinity|NaN)",
    re.ASCII | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([dD][89a-fA-F][0-9a-fA-F]{2})"
    r"|\\.|[\x00-\x1f]",
    re.DOTALL,
)


def repair(body: bytes) -> bytes:
    """Return the body with each refused part replaced. Never raises; other faults stay."""
    text = body.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace")
    kept: list[str] = []
    depth, done = 0, 0
    for token in _TOKEN.finditer(text):
        if depth <= DEPTH_MAX:
            kept.append(text[done : token.start()])
        done = token.end()
        if token["close"]:
            depth -= 1
        if depth <= DEPTH_MAX:
            # The first value that is nested too deeply becomes null, and its content is left out.
            too_deep = (token["open"] or token["close"]) and depth == DEPTH_MAX
            kept.append(("null" if token["open"] else "") if too_deep else _readable(token))
        if token["open"]:
            depth += 1
    return "".join((*kept, text[done:])).encode()


def _readable(token: re.Match[str]) -> str:
    if text := token["text"]:
        return _ESCAPE.sub(_readable_escape, text)
    if number := token["number"]:
        return number if abs(float(number)) != float("inf") else "null"
    return "null" if token["constant"] else token[0]


def _readable_escape(escape: re.Match[str]) -> str:
    if escape[1]:
        return "\ufffd"
    return escape[0] if escape[0][0] == "\\" else " "
