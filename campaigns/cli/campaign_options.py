"""The options of a campaign as flags of commands, made of the one table that lists them."""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any

import typer

from drumbeat.campaigns.command_text import flag
from drumbeat.campaigns.options.option import Option
from drumbeat.campaigns.options.table import OPTIONS

NAME = "name"  # an argument; commands that change a campaign declare it themselves


def option(key: str, **other: Any) -> Any:
    """Return what typer reads of an option, for a command that has it too. `other` replaces parts."""
    row = OPTIONS[key].row
    words = {"help": OPTIONS[key].help(flag), "metavar": row.metavar or None, **other}
    return typer.Argument(help=words["help"]) if key == NAME else typer.Option(flag(key), **words)


NewName = Annotated[str, option(NAME)]
MaxFailed = Annotated[str | None, option("max_failed")]
PhoneColumn = Annotated[str, option("phone_column")]
Region = Annotated[str | None, option("region")]
CountryColumn = Annotated[str | None, option("country_column")]


def rejects_option(kind: str) -> Any:
    """Return `--rejects` for a command whose lists are named `people.KIND.csv` by default."""
    return option("rejects", help=f"File that lists the bad rows. Default: people.{kind}.csv for people.csv.")


def takes_options(*, as_changes: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command all options in place of its parameter `options`.

    The command gets them as a dictionary by key. With `as_changes`, none is required, those that are not
    given are left out, and `name` is not among them.
    """
    taken = [_parameter(row, as_changes) for row in OPTIONS.values() if not (as_changes and row.key == NAME)]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def filled(**given: Any) -> None:
            options = {parameter.name: given.pop(parameter.name) for parameter in taken}
            if as_changes:
                options = {key: value for key, value in options.items() if value is not None}
            command(options=options, **given)

        parameters = list(_merged(command, taken))
        filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        filled.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return filled

    return decorate


def _parameter(row: Option, as_changes: bool) -> inspect.Parameter:
    info = option(row.key)
    if row.key != NAME:
        info.rich_help_panel = row.row.panel
    kind, default = (row.type | None, None) if as_changes else (row.type, row.default)
    return inspect.Parameter(
        row.key,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if row.is_required and not as_changes else default,
        annotation=Annotated[kind, info],
    )


def _merged(command: Callable[..., None], taken: list[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """Give the parameters of both, by name only, since a required option may stand behind one that is not."""
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        for own in taken if parameter.name == "options" else [parameter]:
            yield own.replace(kind=inspect.Parameter.KEYWORD_ONLY)
