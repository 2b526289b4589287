"""The errors as problem details (RFC 9457): a status, a code that programs can rely on, and words
for people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import asyncpg
import orjson
from aiohttp import web
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from drumbeat.campaigns.console.web.program_words import program_place, program_words
from drumbeat.campaigns.life.category import CategoryChanged
from drumbeat.campaigns.planning.change import NameTaken
from drumbeat.campaigns.planning.start_time import StartsAtOnce
from drumbeat.engine.api.service_error import ServiceError
from drumbeat.engine.core.states import IllegalTransition
from drumbeat.engine.errors import (
    AuthenticationError,
    ConfigurationError,
    DrumbeatError,
    Incomplete,
    NotFound,
    NotReady,
    TryLater,
    Unreachable,
    UsageError,
)
from drumbeat.engine.store.database import LOST_CONNECTION

CONTENT_TYPE = "application/problem+json"
TYPE = "urn:drumbeat:problem:"  # then the code

_STATUSES = {
    kind.code: status
    for kind, status in (
        (NotFound, 404),
        (IllegalTransition, 409),
        (StartsAtOnce, 409),
        (UsageError, 422),
        (NameTaken, 422),
        (CategoryChanged, 409),
        (ConfigurationError, 422),
        (TryLater, 409),
        (NotReady, 409),
        (Incomplete, 409),
        (Unreachable, 503),
        (AuthenticationError, 502),
    )
}
# Plain words for the kinds of errors that pydantic names.
FAULTS = {
    "missing": "nothing is given",
    "int_parsing": "this is not a whole number",
    "float_parsing": "this is not a number",
    "bool_parsing": "this is neither true nor false",
}
# Codes of refusals that are no error of a service, with what a person can do.
MESSAGES = {
    "not_found": "there is nothing at this address",
    "method_not_allowed": "this address does not take the method",
    "too_large": "the request is too large",
    "wrong_input": "the request cannot be read",
    "wrong_host": "the console has another address: see DRUMBEAT_CONSOLE_URL",
    "foreign_origin": "the request does not come from a page of the console",
    "stale_form": "the page is too old; load it again and repeat",
    "sign_in_needed": "sign in, or send a token",
    "sign_in_refused": "the name or the password is wrong",
    "provider_refused": "the sign-in at the provider did not succeed; try again",
    "provider_away": "the provider of sign-ins does not answer; try again later",
    "no_user": "you may not enter here with this account; ask who manages the console",
    "password_wrong": "the present password is wrong",
    "too_many_attempts": "too many attempts to sign in; wait a while",
    "too_many_requests": "too many requests of this kind; wait as long as Retry-After says",
    "role_too_low": "your role does not allow this",
    "key_reused": "another request had this Idempotency-Key",
    "key_in_use": "the request with this Idempotency-Key is being worked on, or was interrupted: "
    "see what it did before you use another key",
    "key_missing": "the request needs an Idempotency-Key",
    "too_many_streams": "too many pages are open; try again in a minute",
    "database_away": "the database does not answer; try again",
    "unexpected": "an unexpected error; the log of the console says more",
}
# What a request alone can cause: a body that is not what its headers say, and values that no column takes,
# such as a number of more than 64 bit.
UNREADABLE = (
    web.RequestPayloadError,
    UnicodeEncodeError,
    asyncpg.CharacterNotInRepertoireError,
    asyncpg.UntranslatableCharacterError,
    asyncpg.DataError,
)
CODES = sorted({*MESSAGES, *_STATUSES})

WRONG_SHOWN_MAX = 20  # a list may hold a hundred thousand wrong values


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem. `where` and `remedy` are empty if they are not known. `wait_s`: seconds until the same
    request may work. `texts` make the error again from which the problem is, if it is one of ours. `allows`:
    the methods that the address takes, if it does not take this one.
    """

    status: int
    code: str
    what: str
    where: str = ""
    remedy: str = ""
    wait_s: float | None = None
    texts: Mapping[str, Any] | None = field(default=None, compare=False)
    allows: tuple[str, ...] = ()

    def told(self, name_of: Callable[[str], str]) -> tuple[str, str]:
        """Return what happened and the remedy. `name_of` gives the name of an option by its key."""
        return (self.what, self.remedy) if self.texts is None else DrumbeatError(**self.texts).told(name_of)

    @property
    def is_special(self) -> bool:
        """Return whether `what` says more than the code."""
        return self.what != MESSAGES.get(self.code)

    def as_json(self) -> dict[str, object]:
        return {
            "type": TYPE + self.code,
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": program_words(self.what),
            "code": self.code,
            "where": program_place(self.where),
            "remedy": program_words(self.remedy),
            "key": "" if self.texts is None else self.texts["key"],
        }

    def response(self) -> web.Response:
        headers = {} if self.wait_s is None else {"Retry-After": str(max(1, round(self.wait_s)))}
        if self.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        body = orjson.dumps(self.as_json())
        return web.Response(status=self.status, body=body, content_type=CONTENT_TYPE, headers=headers)


class Refused(Exception):  # it is an answer
    """An error that ends a request with a problem."""

    def __init__(self, status: int, code: str, *, what: str = "", wait_s: float | None = None) -> None:
        self.problem = Problem(status, code, what or MESSAGES[code], wait_s=wait_s)
        super().__init__(self.problem.what)


def problem_of(error: Exception) -> Problem:
    """Return the problem that a caller gets for an error. For an unexpected error it says nothing of the
    cause.
    """
    match error:
        case Refused():
            return error.problem
        case ValidationError():
            return Problem(422, "wrong_input", _explained(error))
        case web.HTTPException():
            return _of_http(error)
        case DrumbeatError():
            return _of_service(error)
    if isinstance(error, UNREADABLE):
        return Problem(400, "wrong_input", MESSAGES["wrong_input"])
    if isinstance(error, LOST_CONNECTION):
        return Problem(503, "database_away", MESSAGES["database_away"], wait_s=1)
    return Problem(500, "unexpected", MESSAGES["unexpected"])


def _of_service(error: DrumbeatError) -> Problem:
    wait_s = error.wait_s if isinstance(error, TryLater) else None
    if isinstance(error, ServiceError):
        return _of_refusal(error)
    status = _STATUSES.get(error.code)
    if status is None:
        return Problem(500, "unexpected", MESSAGES["unexpected"])
    return Problem(status, error.code, error.what, error.where, error.remedy, wait_s, error.as_texts())


def _of_refusal(error: ServiceError) -> Problem:
    """Return the problem of a refusal by the service: the token, the request, or any call for a while."""
    if error.exit_code == TryLater.exit_code:
        return Problem(503, "try_later", error.what, error.where, error.remedy, error.wait_s or 60)
    status = 502 if error.exit_code == AuthenticationError.exit_code else 422
    return Problem(status, "service_refused", error.what, error.where, error.remedy)


def _of_http(error: web.HTTPException) -> Problem:
    codes = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}
    code = codes.get(error.status, "wrong_input" if error.status < 500 else "unexpected")
    allows = error.allowed_methods if isinstance(error, web.HTTPMethodNotAllowed) else ()
    return Problem(error.status, code, MESSAGES[code], allows=tuple(sorted(allows)))


def _explained(error: ValidationError) -> str:
    found = error.errors(include_url=False)
    more = len(found) - WRONG_SHOWN_MAX
    shown = [_explain(each) for each in found[:WRONG_SHOWN_MAX]]
    return "; ".join([*shown, f"{more:,} more"] if more > 0 else shown)


def _explain(problem: ErrorDetails) -> str:
    place = ".".join(map(str, problem["loc"])) or "the request"
    return f"{place}: {fault_of(problem)}"


def fault_of(problem: ErrorDetails) -> str:
    """Return the fault of a value, in plain words where they are known."""
    return FAULTS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
