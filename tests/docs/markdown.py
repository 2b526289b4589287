"""What the documents name: links, headings, commands and settings, read from Markdown."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from urllib.parse import unquote

_FENCE = re.compile(r"^ *(```|~~~)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$")
_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?[^)]*\)")
_CODE_SPAN = re.compile(r"(`+)(.+?)\1")
_COMMAND = re.compile(r"(?<![\w/-])(?:\S*/)?drumbeat +([^\n;|&>)]*)")
_SETTING = re.compile(r"\bDRUMBEAT_[A-Z_]*[A-Z]\b")
_ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:", re.IGNORECASE)  # https:, mailto:


def split(text: str) -> tuple[list[str], list[str]]:
    """The lines of prose and the lines of code blocks, fenced or indented by four after a blank line."""
    prose: list[str] = []
    code: list[str] = []
    fenced = indented = False
    before = ""
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        indented = line.startswith("    ") and (indented or not before.strip())
        (code if fenced or indented else prose).append(line)
        before = line
    return prose, code


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as code hosts make them."""
    seen: Counter[str] = Counter()
    found = set()
    for line in split(text)[0]:
        if (heading := _HEADING.match(line)) is not None:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def broken_links(path: Path, text: str) -> list[str]:
    """Relative links whose file or anchor does not exist."""
    prose = _CODE_SPAN.sub("", "\n".join(split(text)[0]))
    return [
        link for link in _LINK.findall(prose) if not _ELSEWHERE.match(link) and not _leads(path, text, link)
    ]


def _leads(path: Path, text: str, link: str) -> bool:
    name, _, anchor = unquote(link).partition("#")
    if not name:
        return anchor in anchors(text)
    target = path.parent / name
    return target.exists() and (not anchor or anchor in anchors(target.read_text("utf-8")))


def commands(text: str, groups: Container[str]) -> Iterator[list[str]]:
    """The words after `drumbeat` of each command in code blocks and code spans.

    A span such as `campaign run`, which begins with one of `groups` and has more words, is a command as well.
    """
    prose, code = split(text)
    blocks = "\n".join(code).replace("\\\n", " ")
    for given in _COMMAND.findall(blocks):
        yield _words(given)
    for _, span in _CODE_SPAN.findall("\n".join(prose)):
        line = " ".join(span.replace("\\|", "|").split())
        yield from map(_words, _COMMAND.findall(line))
        if len(words := _words(line)) > 1 and words[0] in groups:
            yield words


def _words(given: str) -> list[str]:
    try:
        return shlex.split(given, comments=True)
    except ValueError:  # a quote that a placeholder opens
        return given.split()


def settings(text: str) -> set[str]:
    """The variables that a document names; one that ends in `_` is a prefix and names none."""
    return set(_SETTING.findall(text))


def python_blocks(page: Path) -> list[str]:
    """The fenced blocks of Python of a page."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
