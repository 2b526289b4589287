"""The forms of settings: what a value must look like, and what the error says if it does not."""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, SecretStr

APP_SECRETS_MAX = 2  # the present one and the next one, while it is replaced


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _without_slash(url: str) -> str:
    return url.rstrip("/")


def _shaped(pattern: str, shape: str) -> AfterValidator:
    """Return the form of a text that must match `pattern`. `shape` describes it in the error."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise ValueError(f"must be {shape}")
        return value

    return AfterValidator(check)


def _base_url(url: str) -> str:
    """Check a URL. It may have no user or password: errors show it, and the token
    authenticates the caller.
    """
    try:
        is_valid = re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url) and urlsplit(url).port != 0
    except ValueError:  # a bad port or unbalanced brackets
        is_valid = False
    if not is_valid:
        raise ValueError("must be a URL like https://service.example, without a user or password")
    return url


def _proxy(value: SecretStr) -> SecretStr:
    url = value.get_secret_value()
    if not re.fullmatch(r"http://[^\s/?#]+/?", url) or ":" in unquote(urlsplit(url).username or ""):
        raise ValueError("must be a URL like http://proxy.example:3128")
    return value


def _plain(value: SecretStr) -> SecretStr:
    """Refuse control characters, such as the carriage return of a file written on Windows.

    No header may hold one, and no signature would match.
    """
    if not value.get_secret_value().isprintable():
        raise ValueError("must be a text without line ends and control characters")
    return value


def _token(value: SecretStr) -> SecretStr:
    if not re.fullmatch(r"[\x21-\x7e]*", value.get_secret_value()):
        raise ValueError("must be printable ASCII without spaces and line ends")
    return value


def _app_secrets(value: SecretStr) -> SecretStr:
    lines = value.get_secret_value().split("\n")
    # An empty line would be a key that everybody knows.
    has_empty_key = len(lines) > 1 and "" in lines
    if len(lines) > APP_SECRETS_MAX or not all(map(str.isprintable, lines)) or has_empty_key:
        raise ValueError(f"must be 1 to {APP_SECRETS_MAX} lines of text without control characters")
    return value


def _networks(text: str) -> str:
    for part in text.split(","):
        ip_network(part.strip())  # its ValueError says what is wrong
    return text


def _time_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ValueError, KeyError, OSError):
        raise ValueError("must be a time zone such as Europe/Berlin") from None
    return name


Home = Annotated[Path, AfterValidator(_absolute)]
FilePath = Annotated[Path, AfterValidator(_absolute)]
BaseUrl = Annotated[str, AfterValidator(_base_url), AfterValidator(_without_slash)]
IssuerUrl = Annotated[str, AfterValidator(_base_url)]  # compared letter by letter
PlainSecret = Annotated[SecretStr, AfterValidator(_plain)]
AppSecret = Annotated[SecretStr, AfterValidator(_app_secrets)]
Token = Annotated[SecretStr, AfterValidator(_token)]
ProxyUrl = Annotated[SecretStr, AfterValidator(_proxy)]
Identifier = Annotated[str, _shaped(r"[A-Za-z0-9_.-]{1,64}", "an id of letters and digits")]
Version = Annotated[str, _shaped(r"v\d+\.\d+", "a version like v22.0")]
HeaderName = Annotated[str, _shaped(r"[A-Za-z0-9-]{1,64}", "the name of a header, such as X-Remote-User")]
Networks = Annotated[str, AfterValidator(_networks)]
Product = Annotated[str, _shaped(r"[a-z][a-z_]*", "a lower-case word")]
TimeZone = Annotated[str, AfterValidator(_time_zone)]
