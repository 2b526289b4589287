"""A reader of manifests: TOML files with the options of a campaign."""

import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from drumbeat.campaigns.options.option import Option
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.options.values import checked, overlaid, require_a_file
from drumbeat.engine.errors import ConfigurationError

MANIFEST_BYTES_MAX = 1024 * 1024  # a manifest that people write has a few hundred bytes


def read_manifest(path: Path, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of a file by their keys. `changes` replace some.

    Relative paths in the file are relative to the file. Raise a ConfigurationError that names the file, each
    wrong key and its cure. Raise UsageError as `require_a_file` does.
    """
    directory = path.absolute().parent
    values = {
        key: _value(OPTIONS[key], value, directory) if key in OPTIONS else value
        for key, value in _parsed(path).items()
    }
    laid = overlaid(values, changes or {})
    require_a_file(laid)
    return checked(laid, str(path))


def _parsed(path: Path) -> dict[str, Any]:
    where = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(MANIFEST_BYTES_MAX + 1)
    except OSError as error:
        problem = f"the manifest cannot be read: {error.strerror}"
        raise ConfigurationError(problem, where=where) from error
    if len(content) > MANIFEST_BYTES_MAX:
        raise ConfigurationError(f"the manifest is longer than {MANIFEST_BYTES_MAX:,} bytes", where=where)
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        remedy = "save it as UTF-8"
        raise ConfigurationError("the manifest is not UTF-8", where=where, remedy=remedy) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"the manifest is not TOML: {error}", where=where) from error


def _value(option: Option, value: Any, directory: Path) -> Any:
    """Return a value as the option takes it: tables as `name=value`, paths from `directory`."""
    if option.is_pairs and isinstance(value, dict):
        return [f"{name}={text}" for name, text in value.items()]
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    return option.located(value, directory)
