"""Errors named by place and blame; each knows the exit code that a command ends with.

Expected replies of the service are values (`engine.core.outcome`), never exceptions: what stands here
stops a command or a process. A message says what happened, where, and what to do about it.
"""

from __future__ import annotations

from typing import ClassVar


class DrumbeatError(Exception):
    """The base: a problem reported in one line. `exit_code` 1 means that nobody foresaw it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        place = f" ({where})" if where else ""
        advice = f": {remedy}" if remedy else ""
        super().__init__(f"{what}{place}{advice}")


class UsageError(DrumbeatError):
    """The command was asked for something it cannot do as asked."""

    exit_code = 2


class Incomplete(DrumbeatError):
    """It was done, but not for everybody: more failed than allowed, some are in doubt or were left out."""

    exit_code = 3


class Unreachable(DrumbeatError):
    """The service or the database did not answer."""

    exit_code = 69


class TryLater(DrumbeatError):
    """Somebody holds what is needed, or its time has not come; the same call will work later.

    `wait_s`: how much later, where the service says it.
    """

    exit_code = 75

    def __init__(self, what: str, *, where: str = "", remedy: str = "", wait_s: float | None = None) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.wait_s = wait_s


class AuthenticationError(DrumbeatError):
    """The service refused the token, or the token lacks a permission."""

    exit_code = 77


class ConfigurationError(DrumbeatError):
    """A setting, a file or a stored definition is wrong and stays wrong until somebody changes it."""

    exit_code = 78


class ServiceError(DrumbeatError):
    """The service answered a management call with an error that has no better name here."""
