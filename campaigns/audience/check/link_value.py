"""The value that ends the link of a button. It follows what the template has: https://shop.example/p/{{1}}."""

import re
from collections.abc import Sequence
from urllib.parse import quote

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")  # it begins no code, as in 20% off
_UNENCODED = re.compile(rf"[^!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]|{_PERCENT.pattern}")
_SAFE = "!#$%&'()*+,/:;=?@[]~"


def repeats_beginning(value: str, beginnings: Sequence[str]) -> bool:
    """Return whether a value repeats what stands before it in a template, or is a whole link itself."""
    if any(_rest(value, beginning) != value for beginning in beginnings):
        return True
    return _SCHEME.match(value) is not None and not any(each.endswith(("=", "#")) for each in beginnings)


def without_beginning(value: str, beginnings: Sequence[str]) -> str:
    """Return the value without what it repeats; unchanged if nothing else is in it."""
    return next((rest for each in beginnings if (rest := _rest(value, each)) != value), value)


def is_unencoded(value: str) -> bool:
    """Return whether a value holds characters that no link has, such as spaces and umlauts."""
    return _UNENCODED.search(value) is not None


def encoded(value: str) -> str:
    """Return the value as a link has it: `größe 42` becomes `gr%C3%B6%C3%9Fe%2042`."""
    return quote(_PERCENT.sub("%25", value), safe=_SAFE)


def _rest(value: str, beginning: str) -> str:
    rest = value
    for repeated in _forms(beginning):
        if rest.casefold().startswith(repeated.casefold()):
            rest = rest[len(repeated) :]
            break
    if beginning.endswith("/"):
        rest = rest.lstrip("/")
    return rest or value


def _forms(beginning: str) -> list[str]:
    """Return how people write the beginning of a link, the longest first: whole, without https, its path."""
    bare = _SCHEME.sub("", beginning, 1)
    other = bare.removeprefix("www.") if bare.startswith("www.") else f"www.{bare}"
    path = bare[bare.find("/") :] if "/" in bare else ""
    hosts = [f"{scheme}{host}" for host in (bare, other) for scheme in ("https://", "http://", "//", "")]
    return [*hosts, *([path] if len(path) > 1 else [])]
