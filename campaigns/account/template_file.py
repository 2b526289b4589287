"""A reader of a template to be created, from a JSON file in the form of the interface."""

from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from drumbeat.engine.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from drumbeat.engine.api.endpoints.templates import NewTemplate

REQUIRED = ("name", "language", "category")
_MEMBERS = (*REQUIRED, "components", "parameter_format")


def read_template_file(path: Path) -> "NewTemplate":
    """Read `name`, `language`, `category`, `components` and, if it is there, `parameter_format`.

    Raise a UsageError that names the member that is missing or wrong. The service checks the rest.
    """
    from drumbeat.engine.api.endpoints.templates import NewTemplate  # imports aiohttp

    try:
        content = orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"the file cannot be read: {error.strerror}", where=str(path)) from error
    except orjson.JSONDecodeError as error:
        raise UsageError(f"the template is not JSON: {error}", where=str(path)) from None
    if not isinstance(content, dict):
        raise UsageError("the template is not a JSON object", where=str(path))
    if unknown := sorted(content.keys() - set(_MEMBERS)):
        raise UsageError(
            f"the template holds {', '.join(unknown)}; it takes {', '.join(_MEMBERS)}", where=str(path)
        )
    for member in REQUIRED:
        if not isinstance(content.get(member), str):
            raise UsageError(f"the template needs the text {member!r}", where=str(path))
    components = content.get("components")
    if not isinstance(components, list) or not all(isinstance(each, dict) for each in components):
        raise UsageError("the template needs components, an array of objects", where=str(path))
    return NewTemplate(**content)
