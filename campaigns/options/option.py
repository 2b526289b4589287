"""One option of a campaign: what its row in the table says of it."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from string import Formatter
from typing import Any, get_args, get_origin, get_type_hints

from drumbeat.campaigns.options.sources import STANDARD_INPUT

FILE_OR_NAME = "FILE|NAME"  # the metavar of an option that takes a file, or else a name


@dataclass(frozen=True, slots=True)
class Row:
    """The words about an option. `panel` groups it in `--help`; `metavar` stands for its value. `help` is a
    form: `{language}` names the option of that key.
    """

    panel: str
    help: str
    metavar: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """A row of the table. `default` is MISSING if the option is required."""

    key: str
    type: Any
    default: Any
    row: Row

    @property
    def is_path(self) -> bool:
        return self.type is Path or Path in get_args(self.type)

    @property
    def is_list(self) -> bool:
        return any(get_origin(part) is list for part in (self.type, *get_args(self.type)))

    @property
    def is_pairs(self) -> bool:
        """Return whether the values are texts `name=value`. A manifest may have a table for these."""
        return self.is_list and "=" in self.row.metavar

    @property
    def is_required(self) -> bool:
        return self.default is MISSING

    def is_given(self, value: Any) -> bool:
        """Return whether a value says more than none at all."""
        return value is not None and value != self.default and not (self.is_list and not value)

    def located(self, value: Any, directory: Path) -> Any:
        """Return the value. A relative path in it is taken from `directory`."""
        if isinstance(value, list | tuple):
            return [self.located(part, directory) for part in value]
        if not isinstance(value, str | Path):
            return value
        if self.is_path:
            return value if Path(value) == STANDARD_INPUT else directory / value
        if self.row.metavar == FILE_OR_NAME and (directory / value).exists():
            return str(directory / value)
        return value

    def help(self, name_of: Callable[[str], str] = str) -> str:
        """Return the help. `name_of` gives the name of an option by its key."""
        named = {field: name_of(field) for _, field, _, _ in Formatter().parse(self.row.help) if field}
        return self.row.help.format_map(named)


def options_of(table: type) -> Mapping[str, Option]:
    """Return the options of a table by their keys, in its order."""
    hints = get_type_hints(table, include_extras=True)
    found = {}
    for field in fields(table):
        kind, row = get_args(hints[field.name])
        found[field.name] = Option(field.name, kind, field.default, row)
    return found
