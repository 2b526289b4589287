"""No statement is put together from texts: values are parameters, so no value can change a statement."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CALLS = {"execute", "executemany", "fetch", "fetchrow", "fetchval", "fetchmany", "prepare", "cursor"}


def composed(source: str) -> Iterator[int]:
    """The lines of calls whose statement is an f-string, a sum, a `%`, or the result of `format` or `join`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
            for statement in node.args[:1]:
                is_call = isinstance(statement, ast.Call) and isinstance(statement.func, ast.Attribute)
                if isinstance(statement, ast.JoinedStr | ast.BinOp) or is_call:
                    yield node.lineno


def test_no_statement_is_composed() -> None:
    files = [file for package in ("engine", "campaigns") for file in (ROOT / package).rglob("*.py")]
    assert len(files) > 100
    found = [f"{file}:{line}" for file in files for line in composed(file.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("call", "is_composed"),
    [
        ('pool.fetch(f"SELECT {name}")', True),
        ('pool.fetch("SELECT " + name)', True),
        ('pool.execute("SELECT %s" % name)', True),
        ('pool.execute("SELECT {}".format(name))', True),
        ('pool.execute(queries("claims")["raise"], name)', False),
    ],
)
def test_a_composed_statement_is_found(call: str, is_composed: bool) -> None:
    assert bool(list(composed(call))) is is_composed
