"""The reading of a fault's options: numbers and flags, as values or as the text of a command line."""

import math
from collections.abc import Mapping
from typing import Any

Options = Mapping[str, Any]


def number_of(options: Options, name: str, default: float, least: float, most: float) -> float:
    """Return a number from `least` to `most`. ValueError names the option for anything else."""
    given = options.get(name, default)
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number <= most:
        raise ValueError(f"{name} is a number from {least:g} to {most:g}, not {given!r}")
    return number


def whole_of(options: Options, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`. ValueError names the option for anything else."""
    number = number_of(options, name, default, least, most)
    if not number.is_integer():
        raise ValueError(f"{name} is a whole number, not {options[name]!r}")
    return int(number)


def flag_of(options: Options, name: str) -> bool:
    """Return true or false, false by default."""
    given = options.get(name, False)
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    flag = given if isinstance(given, bool) else known.get(str(given).lower())
    if flag is None:
        raise ValueError(f"{name} is yes or no, not {given!r}")
    return flag


def one_of(options: Options, name: str, default: str, words: tuple[str, ...]) -> str:
    """Return one of some words. ValueError lists them."""
    given = options.get(name, default)
    if given not in words:
        raise ValueError(f"{name} is one of {', '.join(words)}, not {given!r}")
    return str(given)
