"""The one error for what the service refuses: code, subcode, meaning, scope and remedy of its error table."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from drumbeat.engine.api.reply import ParsedReply, parse_reply
from drumbeat.engine.core.classify import classify
from drumbeat.engine.core.error_codes import meaning_of, remedy_of
from drumbeat.engine.core.outcome import Rejected, Scope, Throttled, Transient
from drumbeat.engine.errors import AuthenticationError, ConfigurationError, DrumbeatError, TryLater

WRONG_PARAMETER = 100  # in a read, only the id of the object can be wrong
NO_SUCH_OBJECT = (WRONG_PARAMETER, 33)  # 33: the object does not exist, or the token may not see it
NO_SUCH_VERSION = 2635  # services of this family answer it for a version that they no longer support


class ServiceError(DrumbeatError):
    """An error of a call: the service refused it, or sent something that is no answer.

    `service_code` and `subcode` are the service's; None if the answer has none. `status` is the HTTP status.
    `meaning` says in words what the code means. `scope` is what the error concerns: recipient, pair,
    template, number or account. `wait_s` is the time after which the service accepts the call, if it names
    one. `remedy` says what a person can do. `exit_code` is 75 for "try later", 77 for authentication, 78 for
    a wrong id, version or address, and 1 for any other.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        remedy: str = "",
        code: int | None = None,
        subcode: int | None = None,
        status: int | None = None,
        meaning: str = "",
        scope: Scope | None = None,
        wait_s: float | None = None,
        exit_code: int = DrumbeatError.exit_code,
    ) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.service_code, self.subcode, self.status = code, subcode, status
        self.meaning, self.scope, self.wait_s = meaning, scope, wait_s
        self.exit_code = exit_code
        self.code = TryLater.code if exit_code == TryLater.exit_code else AuthenticationError.code


def refusal(
    status: int, headers: Mapping[str, str], body: bytes, where: str, *, reads: bool = True
) -> ServiceError:
    """Return the error for a reply that refuses a call. `where`: the path of the call. `reads`: a GET."""
    reply = parse_reply(status, headers, body)
    code = reply.code
    outcome = classify(status, code, reply.detail, None, None)
    name = str(code) if code is not None else f"http_{status}"
    exit_code, remedy = _advice(status, reply, outcome, name, reads=reads)
    return ServiceError(
        reply.detail or _words(exit_code) or meaning_of(name),
        where=f"{where}, HTTP {status}" + (f", code {code}" if code is not None else ""),
        remedy=remedy,
        code=code,
        subcode=reply.subcode,
        status=status,
        meaning=meaning_of(name),
        scope=outcome.scope if isinstance(outcome, Rejected | Throttled) else None,
        wait_s=reply.wait_s,
        exit_code=exit_code,
    )


def _advice(status: int, reply: ParsedReply, outcome: object, name: str, *, reads: bool) -> tuple[int, str]:
    """Return exit code and remedy."""
    if status == 401 or (isinstance(outcome, Rejected) and outcome.scope is Scope.ACCOUNT):
        return AuthenticationError.exit_code, remedy_of(name)
    if isinstance(outcome, Throttled | Transient) or status >= 500:
        return TryLater.exit_code, f"try again in {minutes(reply.wait_s)}"
    if reply.code == NO_SUCH_VERSION:
        return ConfigurationError.exit_code, "check DRUMBEAT_API_VERSION"
    if reply.code == WRONG_PARAMETER and not reads:
        return ConfigurationError.exit_code, ""  # the detail names the parameter
    if (status == 404 and reply.code is None) or reply.code in NO_SUCH_OBJECT:
        return ConfigurationError.exit_code, "check DRUMBEAT_WABA_ID, the ids given and DRUMBEAT_BASE_URL"
    return ServiceError.exit_code, remedy_of(name)


def _words(exit_code: int) -> str:
    return "the service cannot answer now" if exit_code == TryLater.exit_code else ""


def minutes(wait_s: float | None) -> str:
    """Return a wait in words."""
    whole = ceil((wait_s or 0) / 60)
    return "a minute" if whole == 1 else f"{whole or 'some'} minutes"
