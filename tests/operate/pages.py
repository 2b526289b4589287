"""The commands of an operator's page, as the page has them."""

import re
from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "operate"
_HEADING = re.compile(r"^## +(.+)$")
_FENCE = re.compile(r"^```sh$(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> dict[str, list[str]]:
    """The fenced commands under each heading of a page."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^(?=## )", (PAGES / page).read_text("utf-8"), flags=re.MULTILINE)[1:]:
        heading = _HEADING.match(part.splitlines()[0])
        assert heading is not None
        found[heading[1]] = [block.strip() for block in _FENCE.findall(part)]
    return found
