"""The options of a campaign, read from the one place that lists them: the signature of a function.

The function is `campaigns.options.campaign_spec.campaign_spec`. The command line, the keys of a manifest, the
stored options and the reference all follow from its parameters and their typer annotations.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, get_args, get_origin

from typer.models import OptionInfo, ParameterInfo

from drumbeat.campaigns.options.sources import STANDARD_INPUT
from drumbeat.campaigns.options.spec import CampaignSpec

Given = ParamSpec("Given")

FILE_OR_NAME = "FILE|NAME"  # the metavar of an option that takes a file, or else a name
SECRET_KEYS = frozenset({"audience_database"})  # may hold a password, so they are never stored


@dataclass(frozen=True, slots=True)
class CampaignOption:
    """One option. `key` is its name in a manifest; `parameter` is its name in the function's signature.

    `default` is `inspect.Parameter.empty` if the option is required.
    """

    key: str
    parameter: str
    type: Any
    default: Any
    help: str
    metavar: str

    @property
    def is_path(self) -> bool:
        return self.type is Path or Path in get_args(self.type)

    @property
    def is_list(self) -> bool:
        return any(get_origin(part) is list for part in (self.type, *get_args(self.type)))

    @property
    def is_pairs(self) -> bool:
        """Return whether the values are texts `name=value`. A manifest may have a table for these."""
        return self.is_list and "=" in self.metavar

    @property
    def is_required(self) -> bool:
        return self.default is inspect.Parameter.empty


def options_of(function: Callable[..., Any]) -> tuple[CampaignOption, ...]:
    """Return the options that a function takes, in its order."""
    return tuple(map(_option, inspect.signature(function, eval_str=True).parameters.values()))


def _option(parameter: inspect.Parameter) -> CampaignOption:
    assert get_origin(parameter.annotation) is Annotated, f"{parameter.name} has no help"
    kind, info = get_args(parameter.annotation)
    assert isinstance(info, ParameterInfo)
    return CampaignOption(
        key=_key(parameter.name, info),
        parameter=parameter.name,
        type=kind,
        default=parameter.default,
        help=info.help or "",
        metavar=str(info.metavar or ""),
    )


def _key(parameter: str, info: ParameterInfo) -> str:
    """Return the option's name as settings have it: `start_at` for `--start-at`."""
    names = (info.default, *(info.param_decls or ())) if isinstance(info, OptionInfo) else ()
    long = [name for name in names if isinstance(name, str) and name.startswith("--")]
    return (long[0] if long else parameter).lstrip("-").replace("-", "_")


def located(option: CampaignOption, value: Any, directory: Path) -> Any:
    """Return the value. A relative path in it is taken from `directory`."""
    if isinstance(value, list):
        return [located(option, part, directory) for part in value]
    if not isinstance(value, str | Path):
        return value
    if option.is_path:
        return value if Path(value) == STANDARD_INPUT else directory / value
    if option.metavar == FILE_OR_NAME and (directory / value).exists():
        return str(directory / value)
    return value


def keeps_given(function: Callable[Given, CampaignSpec]) -> Callable[Given, CampaignSpec]:
    """Return the function, whose campaign then keeps the options as given, for clones and edits."""
    signature, options = inspect.signature(function), options_of(function)

    @wraps(function)
    def kept(*positional: Given.args, **named: Given.kwargs) -> CampaignSpec:
        values = signature.bind(*positional, **named).arguments
        return replace(function(*positional, **named), given=_given(options, values))

    return kept


def _given(options: tuple[CampaignOption, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the set options by their keys, in a form that JSON can hold and that holds in any directory."""
    return {
        option.key: _plain(located(option, values[option.parameter], Path.cwd()))
        for option in options
        if option.key not in SECRET_KEYS and values.get(option.parameter) not in (None, [], option.default)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return value.value if isinstance(value, Enum) else value
