"""The meaning of a complete reply of the service, or of a failed status, for the sending flow.

Law: `error.code` decides, by the table in `error_codes`. The HTTP status decides only if the reply has no
code. A reply that cannot be trusted leaves the recipient in doubt: a 3xx, a 2xx that names no message,
and a 5xx without a known code, because the service may have failed after it accepted.
"""

from errno import EMFILE, ENFILE

from drumbeat.engine.core.error_codes import ERROR_CODES, HTTP_STATUSES, UNLISTED, ErrorCode, stops_nothing
from drumbeat.engine.core.outcome import (
    Accepted,
    NotSent,
    Outcome,
    Rejected,
    Scope,
    Throttled,
    Transient,
    Unknown,
)

_EXHAUSTED = (EMFILE, ENFILE)
# A code and its subcode that mean the same as the code 33 (open point "Errors").
_NUMBER_MISSING = (100, 33)


def classify(
    status: int,
    code: int | None,
    detail: str,
    wamid: str | None,
    wait_s: float | None,
    *,
    held: bool = False,
    subcode: int | None = None,
    is_transient: bool = False,
) -> Outcome:
    """Return the outcome of a complete reply. `wait_s`: seconds until the service accepts another request.

    `is_transient`: the service says that another attempt may succeed (open point "Errors").
    """
    if 200 <= status < 300 and wamid is not None:
        return Accepted(wamid, held)
    if wamid is not None:
        return Unknown(f"HTTP {status} with the name of a message")
    if not 400 <= status < 600:
        return Unknown(f"HTTP {status} without the name of a message")
    if (code, subcode) == _NUMBER_MISSING:
        code = subcode
    row = _row(status, code)
    if row is None:
        return Unknown(f"HTTP {status}, code {code}" if code is not None else f"HTTP {status} without a code")
    if is_transient and _may_be_transient(row):
        return Transient(code, detail, wait_s)
    return _outcome(row, status, code, detail, wait_s)


def classify_failure(code: int | None, detail: str) -> Rejected | None:
    """Return the rejection that the `failed` status of an accepted message stands for; None if it concerns
    only its recipient.

    A code has the same meaning as in a reply. A failure without a code counts as an unlisted one.
    """
    row = UNLISTED if code is None else ERROR_CODES.get(code, UNLISTED)
    return (
        None if stops_nothing(row) else _rejected(row, code, "failed" if code is None else str(code), detail)
    )


def not_connected(reason: str, number: int | None) -> NotSent:
    """Return the outcome if no connection was opened. `number` is the errno of the error."""
    exhausted = number in _EXHAUSTED
    return NotSent(reason, unreachable=not exhausted, exhausted=exhausted)


def _row(status: int, code: int | None) -> ErrorCode | None:
    """Return the row of a refusal; None if the service may have failed after it accepted."""
    if code is not None and code in ERROR_CODES:
        return ERROR_CODES[code]
    if status >= 500:
        return None
    return UNLISTED if code is not None else HTTP_STATUSES.get(status, UNLISTED)


def _may_be_transient(row: ErrorCode) -> bool:
    """Return whether the service's word may spare the recipient. It neither takes back an opt-out nor ends a
    stop of a template, a number or the account, which wait for a person and fail nobody.
    """
    return row.outcome is Rejected and row.scope is Scope.RECIPIENT and not row.opt_out


def _outcome(row: ErrorCode, status: int, code: int | None, detail: str, wait_s: float | None) -> Outcome:
    if row.outcome is Throttled:
        return Throttled(row.scope, code, wait_s, detail)
    if row.outcome is Transient:
        return Transient(code, detail, wait_s)
    return _rejected(row, code, str(code) if code is not None else f"http_{status}", detail, wait_s)


def _rejected(
    row: ErrorCode, code: int | None, name: str, detail: str, wait_s: float | None = None
) -> Rejected:
    return Rejected(
        scope=row.scope,
        code=code,
        name=name,
        detail=detail,
        wait_s=wait_s or row.suspend_s,
        systematic=row.systematic,
        suppress=row.opt_out,
        suspend=row.suspend_s is not None,
    )
