"""A recipient's stored variables: which column or text each came from, and what people are shown of it."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from drumbeat.campaigns.options.param_texts import is_link

VARIABLES = "variables"  # key of the stored options: the column or `=text` of each variable


def variables_of(options: Mapping[str, Any]) -> Sequence[str]:
    """Return the column or `=text` of each variable, by the stored options. The media of a header comes
    first, if each message names its own.
    """
    return list(options.get(VARIABLES, ()))


def shown_variables(options: Mapping[str, Any], variables: Sequence[str]) -> Sequence[str]:
    """Return a recipient's variables for people. They get only the name of a `header_file`, since its path
    is a path on this machine.
    """
    if not options.get("header_file") or not variables or is_link(variables[0]):
        return variables
    return [PurePath(variables[0]).name, *variables[1:]]
