"""A decorator that gives a command of typer the options of a campaign, so that they are listed only once."""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Annotated, Any, get_args

from drumbeat.campaigns.options.panels import in_panels

NAME = "name"  # the parameter that each command declares itself


def takes_options(
    function: Callable[..., Any], *, as_changes: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command all parameters of `function` in place of its parameter
    `options`.

    The command gets them as a dictionary by parameter. With `as_changes`, none is required, those that are
    not given are left out, and `name` is not among them.
    """
    listed = inspect.signature(function, eval_str=True).parameters.values()
    taken = in_panels(_as_changes(listed) if as_changes else listed)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def filled(**given: Any) -> None:
            options = {parameter.name: given.pop(parameter.name) for parameter in taken}
            if as_changes:
                options = {name: value for name, value in options.items() if value is not None}
            command(options=options, **given)

        parameters = list(_merged(command, taken))
        filled.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        filled.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return filled

    return decorate


def _as_changes(parameters: Any) -> Iterator[inspect.Parameter]:
    for parameter in parameters:
        if parameter.name != NAME:
            kind, info = get_args(parameter.annotation)
            yield parameter.replace(annotation=Annotated[kind | None, info], default=None)


def _merged(command: Callable[..., None], taken: list[inspect.Parameter]) -> Iterator[inspect.Parameter]:
    """Give the parameters of both, by name only, since a required option may stand behind one that is not."""
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        for own in taken if parameter.name == "options" else [parameter]:
            yield own.replace(kind=inspect.Parameter.KEYWORD_ONLY)
