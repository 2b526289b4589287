"""The parts of the pages that are made from code."""

from collections.abc import Iterable, Mapping, Sequence

MADE_FROM_CODE = "<!-- Made from the code by `python -m docs.site.reference --write`. -->\n"


def cell(text: str | None) -> str:
    """Return a text in one line, for a cell of a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    first, *others = [f"| {' | '.join(row)} |\n" for row in (header, *rows)]
    return f"{first}|{'---|' * len(header)}\n{''.join(others)}"


def linked(text: str, links: Mapping[str, str]) -> str:
    """Return the text with links. `links` maps phrases of the text to the targets of their links."""
    for phrase, target in links.items():
        if phrase not in text:
            raise ValueError(f"nothing links to {target}: {phrase!r} does not stand in {text!r}")
        text = text.replace(phrase, f"[{phrase}]({target})", 1)
    return text
