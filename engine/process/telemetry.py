"""The set-up of logging: events with fields, written to stderr.

Law: no secret and no recipient's number is logged in readable form. Our own events, those of libraries, and
tracebacks all pass the same masks.
"""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog
from pydantic import SecretStr
from structlog.typing import EventDict, Processor, WrappedLogger

from drumbeat.engine.errors import ConfigurationError

LEVEL_VARIABLE = "DRUMBEAT_LOG_LEVEL"
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
MASK = "***"
DIGITS_KEPT = 4
MASKED_SECRETS_MAX = 64  # those of the settings, and new ones; a token is replaced once in weeks
SECRET_CHARACTERS_MIN = 4  # if every "a" of a log were masked, the gaps would reveal the secret

# Fields that hold a recipient's number, as text or as an integer.
PHONE_FIELDS = frozenset({"phone", "phones", "recipient", "recipient_id", "to", "sender", "wa_id"})
# Fields whose digits are never a recipient's number: the service's ids and ours.
PLAIN_FIELDS = frozenset(
    {"phone_number_id", "number", "numbers", "waba_id", "range_id", "timestamp", "level"}
)

# Loggers whose messages are dropped. The pool logs a traceback for every lost connection; Drumbeat logs
# `database_lost` once a minute instead.
DROPPED_LOGGERS = ("asyncpg.pool",)

_BEARER = re.compile(r"(?i)\b(bearer\s+)[^\s\"',;]+")
_URL_PASSWORD = re.compile(r"(://[^:/@\s]*):[^@\s]*@")
# 8 to 15 digits are an E.164 number. Longer runs are ids, shorter ones are counts.
_PHONE = re.compile(r"(?<![\w.])\+?\d{8,15}(?!\w|\.\d)")


def configure_logging(secrets: Iterable[SecretStr | None] = (), *, level: str | None = None) -> None:
    """Write all log events to stderr: readable text on a terminal, JSON lines elsewhere.

    The values of `secrets` are masked wherever they occur. `level` outranks DRUMBEAT_LOG_LEVEL (debug, info,
    warning or error; info by default). Raises ConfigurationError for any other level.
    """
    number = _level(level)
    _log_mask.mask(secrets)
    structlog.configure(
        processors=_processors(_log_mask, people=sys.stderr.isatty()),
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=_CurrentStderr()),  # type: ignore[arg-type]
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(handlers=[_Forward()], level=max(number, logging.WARNING), force=True)
    for name in DROPPED_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def also_mask(secret: SecretStr) -> None:
    """Mask this secret too from now on: it is new, beside those that it may have replaced."""
    _log_mask.mask([*_log_mask.secrets, secret][-MASKED_SECRETS_MAX:])


def mask_secrets(secrets: Iterable[SecretStr | None]) -> None:
    """Mask these secrets too, as those of one more installation in this process."""
    for secret in secrets:
        if secret is not None and secret not in _log_mask.secrets:
            also_mask(secret)


def quieten() -> None:
    """Log only warnings and errors from now on."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))


class Mask:
    """A processor that masks secrets and phone numbers in every field of an event."""

    def __init__(self, secrets: Iterable[SecretStr | None] = ()) -> None:
        self.mask(secrets)

    def mask(self, secrets: Iterable[SecretStr | None]) -> None:
        """Mask these secrets from now on, and no others."""
        self.secrets = [secret for secret in secrets if secret is not None]
        self._hide = _hider(self.secrets)

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        return {key: _masked(key, value, self._hide) for key, value in event.items()}


def masked_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event with its traceback as text, and with the secrets of all settings and phones masked."""
    shown = structlog.processors.format_exc_info(None, "", dict(event))
    return dict(_log_mask(None, "", shown))


def mask_phone(phone: int | str) -> str:
    """Return a recipient's number in the form that logs may show: `***4567`."""
    return MASK + str(phone)[-DIGITS_KEPT:]


def mask_text(text: str) -> str:
    """Return a text in the form that logs may show. It does not know the secrets of the settings."""
    return _without_phones(_hider(())(text))


def _processors(masks: Processor, *, people: bool) -> list[Processor]:
    renderer: Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if people
        else structlog.processors.JSONRenderer()
    )
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        masks,
        renderer,
    ]


def _level(level: str | None) -> int:
    word = (level or os.environ.get(LEVEL_VARIABLE) or "info").lower()
    if word not in LEVELS:
        raise ConfigurationError(
            f"setting log_level (environment {LEVEL_VARIABLE}): must be one of {', '.join(LEVELS)}"
        )
    return LEVELS[word]


def _hider(secrets: Iterable[SecretStr]) -> Callable[[str], str]:
    texts = [secret.get_secret_value() for secret in secrets]
    values = {line for text in texts for line in (text, *text.split("\n"))}
    longest_first = sorted(
        (value for value in values if len(value) >= SECRET_CHARACTERS_MIN), key=len, reverse=True
    )
    known = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def hide(text: str) -> str:
        text = known.sub(MASK, text) if known else text
        return _URL_PASSWORD.sub(rf"\1:{MASK}@", _BEARER.sub(rf"\1{MASK}", text))

    return hide


def _masked(key: str, value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _masked(str(name), inner, hide) for name, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_masked(key, inner, hide) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    if key in PHONE_FIELDS:
        return mask_phone(value)
    if isinstance(value, (int, float)):
        return value
    text = hide(str(value))
    return text if key in PLAIN_FIELDS else _without_phones(text)


def _without_phones(text: str) -> str:
    return _PHONE.sub(lambda found: mask_phone(found.group()), text)


class _CurrentStderr:
    """A stream that writes to the present `sys.stderr`, because a live display replaces it for a while."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _Forward(logging.Handler):
    """A handler that passes the log records of libraries through the same masks to the same output."""

    def emit(self, record: logging.LogRecord) -> None:
        logger = structlog.get_logger()
        level = min(50, max(10, record.levelno // 10 * 10))  # structlog knows only the standard levels
        logger.log(level, record.getMessage(), logger=record.name, exc_info=record.exc_info)


_log_mask = Mask()  # the mask of the log
