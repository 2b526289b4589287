"""The errors for a database that cannot be used as its URL asks: one clear message, without the password."""

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from drumbeat.engine.errors import AuthenticationError, ConfigurationError, DrumbeatError, Unreachable
from drumbeat.engine.system_error import system_error_text

_SECRET_OPTION = re.compile(r"((?:^|&)(?:ssl)?password=)[^&]*", re.IGNORECASE)
_HOST = r"(?:\[[^\]]*\]|[^:/@\[]*)(?::\d*)?"
# A URL after its scheme and up to its options, without a user: hosts with ports, and the database.
_NO_PASSWORD = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/.*)?")
_UNREADABLE = "the database URL cannot be read"
SETTING = "DRUMBEAT_DATABASE_URL"
_SCHEMES = ("postgresql://", "postgres://")
_SHAPE = (
    "write it as postgresql://user:password@host:5432/name; in a user or password write @ : / ? # % as "
    "%40 %3A %2F %3F %23 %25"
)
# Errors that a prepared statement exists already, or does not exist: another session is behind the
# connection.
_OTHER_SESSION = (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError)
_POOLERS_REFUSAL = "unsupported startup parameter"  # PgBouncer's message, never translated
# Errors for a parameter that the server does not have, or a value that it does not take.
_OPTIONS = (
    asyncpg.UndefinedObjectError,
    asyncpg.InvalidParameterValueError,
    asyncpg.CantChangeRuntimeParamError,
)


def safe_url(url: str, setting: str = SETTING) -> str:
    """Return the URL with its passwords masked, for messages; `setting` if it cannot be read.

    A ? in a password must be written %3F. If it is not, the end of the password is unknown, and nothing after
    its beginning is shown.
    """
    if "://" not in url and not url.startswith("/"):
        return setting  # this may be the key=value notation, which can hold the password anywhere
    address, question, options = url.partition("?")
    head, at, tail = address.rpartition("@")
    scheme, slashes, user = (head if at else address).partition("://")
    name, colon, _ = user.partition(":")
    if at:
        masked = f"{scheme}{slashes}{name}{':***' if colon else ''}@{tail}"
    elif _NO_PASSWORD.fullmatch(user) and "@" not in options.partition("=")[0]:
        masked = address
    else:
        return f"{scheme}{slashes}{name}:***"
    return masked + question + _SECRET_OPTION.sub(r"\1***", options)


@contextmanager
def translate_connect_errors(url: str, setting: str = SETTING) -> Iterator[None]:
    """Turn the errors of a connection attempt into one clear error. `setting` is where the URL comes from."""
    try:
        yield
    except (TimeoutError, OSError, asyncpg.PostgresError) as error:
        raise connect_error(error, url, setting) from error  # before ValueError: a certificate error is both
    except asyncpg.ClientConfigurationError as error:
        remedy = str(error) if url.startswith(_SCHEMES) else _SHAPE
        raise ConfigurationError(_UNREADABLE, where=safe_url(url, setting), remedy=remedy) from error
    # raised without the message, which quotes what it took for a port: perhaps the password
    except ValueError:
        raise ConfigurationError(_UNREADABLE, where=safe_url(url, setting), remedy=_SHAPE) from None
    except asyncpg.TargetServerAttributeNotMatched as error:
        problem = f"no server of {safe_url(url)} has the role that target_session_attrs asks for"
        raise Unreachable(problem, remedy="is the primary among them?") from error


def pooler_error(url: str) -> ConfigurationError:
    """Return the error for a pooler that answers."""
    return ConfigurationError(
        f"{safe_url(url)} is a connection pooler such as PgBouncer: it may change the server unnoticed, so "
        "that a fail-over would not be seen",
        remedy="name the server itself; a process uses seven connections at most",
    )


def connect_error(error: Exception, url: str, setting: str = SETTING) -> DrumbeatError:
    """Return the error for an exception of a connection attempt."""
    where, said = safe_url(url, setting), system_error_text(error)
    match error:
        case asyncpg.InvalidAuthorizationSpecificationError():
            return AuthenticationError(f"the database {where} refused the user or password: {said}")
        case asyncpg.InvalidCatalogNameError():
            return ConfigurationError(f"there is no such database: {where}; create it first")
        case ssl.SSLError():
            return ConfigurationError(f"the TLS settings of the database {where} do not work: {said}")
        case _ if isinstance(error, _OTHER_SESSION) or _POOLERS_REFUSAL in said:
            return pooler_error(url)
        case _ if isinstance(error, _OPTIONS):
            return ConfigurationError(f"the database refuses an option of {where}: {said}")
        case asyncpg.TooManyConnectionsError():
            return Unreachable(
                f"the database {where} accepts no more connections: {said}",
                remedy="a process uses seven at most, and a command up to four more",
            )
        case asyncpg.InsufficientPrivilegeError():
            remedy = "use the user who owns Drumbeat's tables, or grant this one what is missing"
            return ConfigurationError(f"the user of {where} lacks a privilege: {said}", remedy=remedy)
        case asyncpg.ReadOnlySQLTransactionError():
            return Unreachable(f"the database {where} can only be read: {said}", remedy="name the primary")
        case _:
            problem = f"the database {where} does not answer: {said}"
            return Unreachable(f"{problem}; is it running, and is {setting} right?")
