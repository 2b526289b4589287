"""Docstrings of the product start with a verb or a noun, never with a bare question word or preposition."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("api", "testing", "engine", "campaigns", "http_server", "emulator", "benchmarks", "docs")
REFUSED = frozenset(
    {"what", "who", "whom", "whose", "whether", "how", "why", "of", "as", "for", "which", "where", "when"}
)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each docstring, also of those below an attribute."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()


def badly_begun(source: str) -> list[tuple[int, str]]:
    """Return line and first line of each docstring whose first word is refused."""
    return [
        (line, text.split("\n", 1)[0])
        for line, text in docstrings(source)
        if text and text.split()[0].strip(",.:;").lower() in REFUSED
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_docstring_starts_with_a_question_word_or_preposition(folder: str) -> None:
    files = sorted((REPOSITORY / folder).rglob("*.py"))
    assert files
    found = [
        f"{file.relative_to(REPOSITORY)}:{line}: {text}"
        for file in files
        for line, text in badly_begun(file.read_text("utf-8"))
    ]
    assert not found, "start with a verb, or with a noun and its article:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""How it works."""', [1]),
        ('class Number:\n    """\n    Of an account.\n    """', [2]),
        ('def read():\n    """Whether: it is read."""', [2]),
        ('async def read():\n    """as `write`."""', [2]),
        ('class Limits:\n    most: int\n    """Which is the most."""', [3]),
        ('"""The pace."""\ndef read():\n    """Return what is read, whether or not."""', []),
        ('def read():\n    """"""\n    return "What it is"', []),
        ('"""Whatever is read is kept."""', []),
    ],
)
def test_the_first_word_of_each_docstring_is_seen(source: str, lines: list[int]) -> None:
    assert [line for line, _ in badly_begun(source)] == lines
