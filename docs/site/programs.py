"""The page of the interface for programs, from what `drumbeat.api` and `drumbeat.testing` export."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Parameter
from typing import Any

import drumbeat.api
import drumbeat.testing
from docs.site.markdown import cell, table
from drumbeat.api import Drumbeat, DrumbeatError
from drumbeat.api.account import Account
from drumbeat.api.events import Events
from drumbeat.api.planning import Planning
from drumbeat.api.results import Results
from drumbeat.api.sending import Sending

PROSE = """# Python

A program imports `drumbeat.api`, and its tests `drumbeat.testing`.
[A how-to](../how-to/campaigns-from-cron-and-code.md#from-python) shows their use.

**Stable** is what stands on this page: the methods with the names of their arguments, the fields of records,
the codes of errors, and the fixtures. Fields, methods and optional arguments may be added in any release;
nothing is renamed or removed without a release that still has both. Every other module of the package may
change at any time, and so may the texts of errors and of log events.

`open_drumbeat(**settings)` gives the client, a `Drumbeat`. Its arguments are [settings](settings.md) in lower
case; without them, the environment and `drumbeat.toml` count. All methods may be called at the same time. A
campaign's name may be its external id.
"""

PARTS = (
    ("Plan and change", Planning),
    ("Send", Sending),
    ("See what happened", Results),
    ("Hear what happens", Events),
    ("Numbers, templates and the suppression list", Account),
)

OPTIONS = """
`**options` and `**changes` are [the keys of a manifest](manifest.md). A list may be any sequence, a list of
one text that text, pairs a mapping, a path a text, and a time a `datetime` with its zone. None is the same as
leaving a key out. The `audience` of `create`, `check` and `apply` may be rows too: an iterable of mappings,
or of sequences of which the first one is the header, or a data frame with `to_dict("records")` or
`iter_rows(named=True)`.
"""

FIXTURES = """An application's `conftest.py` has `pytest_plugins = ["drumbeat.testing"]`."""
STARS: Mapping[Any, str] = {Parameter.VAR_KEYWORD: "**", Parameter.VAR_POSITIONAL: "*"}


def programs_page() -> str:
    methods = "".join(f"\n## {title}\n{''.join(_methods(part))}" for title, part in PARTS)
    errors = table(("error", "`code`", "exit code", "meaning"), _errors())
    records = table(("record", "fields", "meaning"), _records())
    words = table(("name", "values"), _words())
    fixtures = table(("fixture", "meaning"), _fixtures())
    return (
        f"{PROSE}{methods}\n## Options\n{OPTIONS}\n## Errors\n\n{errors}\n## Records\n\nAll are frozen."
        f"\n\n{records}\n## Words\n\n{words}\n## Fixtures\n\n{FIXTURES}\n\n{fixtures}"
    )


def _methods(part: type) -> Iterator[str]:
    for name, method in vars(part).items():
        if not name.startswith("_") and inspect.isfunction(method):
            yield f"\n### `{name}`\n\n    {name}({_arguments(method)})\n\n{inspect.getdoc(method)}\n"


def _arguments(method: Any) -> str:
    given = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    return ", ".join(map(_argument, given))


def _argument(given: Parameter) -> str:
    default = "" if given.default is given.empty else f"={_default(given.default)}"
    return f"{STARS.get(given.kind, '')}{given.name}{default}"


def _default(value: Any) -> str:
    return repr(value.value if isinstance(value, Enum) else value)


def _exported() -> Iterator[tuple[str, Any]]:
    for name in sorted({*drumbeat.api.__all__, *drumbeat.testing.__all__}):
        yield name, getattr(drumbeat.api, name, None) or getattr(drumbeat.testing, name)


def _errors() -> Iterator[tuple[str, ...]]:
    for name, error in _exported():
        if inspect.isclass(error) and issubclass(error, DrumbeatError):
            yield f"`{name}`", f"`{error.code}`", str(error.exit_code), _first_line(error)


def _records() -> Iterator[tuple[str, ...]]:
    for name, record in _exported():
        if inspect.isclass(record) and is_dataclass(record) and record is not Drumbeat:
            listed = ", ".join(f"`{field.name}`" for field in fields(record))
            yield f"`{name}`", listed, _first_line(record)


def _words() -> Iterator[tuple[str, ...]]:
    for name, words in _exported():
        if inspect.isclass(words) and issubclass(words, Enum):
            yield f"`{name}`", ", ".join(f"`{word.value}`" for word in words)


def _fixtures() -> Iterator[tuple[str, ...]]:
    for name in drumbeat.testing.__all__:
        if name.startswith("drumbeat_"):
            yield f"`{name}`", cell((getattr(drumbeat.testing, name).__doc__ or "").partition("\n\n")[0])


def _first_line(described: type) -> str:
    return cell((inspect.getdoc(described) or "").partition("\n\n")[0])
