"""The page of settings, from the class that reads them."""

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from textwrap import dedent
from typing import Any

from docs.site.markdown import cell, linked, table
from drumbeat.campaigns.cli.main import DEBUG_VARIABLE
from drumbeat.engine.process.settings import PREFIX, SECRETS, Settings
from drumbeat.engine.process.telemetry import LEVEL_VARIABLE

PROSE = """# Settings

A setting comes from the command line, else from an environment variable, else from a file `drumbeat.toml` in
the working directory, else from its default. In `drumbeat.toml` the names are in lower case and without the
prefix: `base_url = "…"`. An empty variable counts as not set. Settings that are marked `_FILE` can also be
read from a file: set `DRUMBEAT_ACCESS_TOKEN_FILE=/run/secrets/token`, for example. White space around the
content is dropped. Running processes read the files of the token, the app secret and the verify token
[again](../operate/rotate-secrets.md).

"""

CLOSE = """
Five settings are also options of every command, before the command's name: `drumbeat --home DIRECTORY`,
`--base-url`, `--api-version`, `--waba-id` and `--product`. Secrets are not, because other users can see
command lines.

A wrong value ends a command with 78. The message names the setting and its source, never the value.
`drumbeat doctor` also warns of a variable that is no setting.
"""

LINKS = {
    "database_url": {"A Postgres of your own": "../operate/database.md#a-postgres-of-your-own"},
    "audience_database_url": {"`--audience-sql`": "audience-files.md#queries"},
    "quota_scope": {"messaging limit": "../explanation/messaging-limits.md"},
    "notify_url": {"notifications": "../operate/notifications.md"},
    "prices": {"table of prices": "../how-to/see-and-price-a-campaign.md"},
    "console_url": {"the console": "../console.md#who-may-use-it"},
    "metrics_host": {"metrics": "metrics.md"},
}

# Defaults that are no value to write.
DEFAULTS = {
    "home": "`/var/lib/drumbeat` for root, else the user's data directory",
    "database_url": "the embedded one in `DRUMBEAT_HOME`",
    "pair_rate_per_s": "1/6",
}

# Read before there are settings.
ONLY_FROM_THE_ENVIRONMENT = (
    (f"`{LEVEL_VARIABLE}`", "`debug`, `info`, `warning` or `error`; only from the environment", "`info`"),
    (f"`{DEBUG_VARIABLE}`", "`1` shows tracebacks; only from the environment", "off"),
)


def settings_page() -> str:
    return PROSE + table(("variable", "meaning", "default"), (*_rows(), *ONLY_FROM_THE_ENVIRONMENT)) + CLOSE


def _rows() -> Iterator[tuple[str, str, str]]:
    texts = field_texts(Settings)
    for name, field in Settings.model_fields.items():
        variable = f"`{PREFIX}{name.upper()}`" + " (`_FILE`)" * (name in SECRETS)
        yield variable, linked(cell(texts[name]), LINKS.get(name, {})), _default(name, field.default)


def field_texts(owner: type) -> dict[str, str]:
    """Return the text below each field of a class."""
    parsed = ast.parse(dedent(inspect.getsource(owner))).body[0]
    assert isinstance(parsed, ast.ClassDef)
    texts = {}
    for field, text in pairwise(parsed.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(written))):
                texts[name] = written
    return texts


def _default(name: str, value: Any) -> str:
    if name in DEFAULTS:
        return DEFAULTS[name]
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
