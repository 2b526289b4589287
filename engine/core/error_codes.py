"""The error codes of the service: the meaning of each, the reaction of Drumbeat, and the remedy for a person.

Source: the interface's table of errors, and open point "Errors". The sending flow, the exit codes, the
report, the export and the management client all read this table.
"""

from dataclasses import dataclass
from functools import partial

from drumbeat.engine.core.outcome import Rejected, Scope, Throttled, Transient
from drumbeat.engine.core.states import ReasonCode

# The service releases a number flagged for spam after about a day, and names no time.
SPAM_SUSPENSION_S = 24 * 3600.0
CODE_DIGITS_MAX = 10  # of a 32-bit integer


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A row of the table. `outcome` is what a refused attempt becomes. `scope` is what the code concerns.

    A rejection pauses what its scope names: the campaign (TEMPLATE), the number or the account. With
    RECIPIENT it fails the recipient and pauses nothing.

    If a code is `systematic`, several refusals in a row stop `shared_by`, unless acceptances show that
    another scope is at fault: see `engine.core.refusal_runs`. `opt_out`: the recipient wants no more
    messages. `is_final`: the same message to the same recipient fails again, so a retry leaves it out.
    `suspend_s` is the time after which the pause of the number ends. `reason_code` is stored with
    the campaigns that the code pauses.
    """

    outcome: type[Rejected | Throttled | Transient]
    scope: Scope
    meaning: str
    remedy: str = ""
    systematic: bool = False
    shared_by: Scope = Scope.TEMPLATE
    opt_out: bool = False
    is_final: bool = False
    suspend_s: float | None = None
    reason_code: ReasonCode = ReasonCode.RECIPIENTS_REFUSED


_FAIL = partial(ErrorCode, Rejected, Scope.RECIPIENT)
_FAIL_FOR_GOOD = partial(_FAIL, is_final=True)
_SYSTEMATIC = partial(_FAIL, systematic=True)
_PAUSE_CAMPAIGN = partial(ErrorCode, Rejected, Scope.TEMPLATE, reason_code=ReasonCode.TEMPLATE_REFUSED)
_PAUSE_NUMBER = partial(ErrorCode, Rejected, Scope.NUMBER, reason_code=ReasonCode.NUMBERS_STOPPED)
_PAUSE_ACCOUNT = partial(ErrorCode, Rejected, Scope.ACCOUNT, reason_code=ReasonCode.ACCOUNT_REFUSED)
_THROTTLE = partial(ErrorCode, Throttled)

_TOKEN = _PAUSE_ACCOUNT(
    "the access token is expired or not valid",
    "set a valid access token",
    reason_code=ReasonCode.AUTHENTICATION_FAILED,
)
_PERMISSION = _PAUSE_ACCOUNT(
    "the access token lacks a permission",
    "grant the missing permission",
    reason_code=ReasonCode.PERMISSION_MISSING,
)
_WAITS = "You need do nothing while the message waits. If it failed, retry it."
_SLOW_NUMBER = _THROTTLE(
    Scope.NUMBER, "rate limit of the number: the recipient waits for another attempt", _WAITS
)
_SLOW_ACCOUNT = _THROTTLE(
    Scope.ACCOUNT, "rate limit of the app or account: the recipient waits for an attempt", _WAITS
)
_SERVICE_FAILED = ErrorCode(
    Transient, Scope.RECIPIENT, "the service reported a failure of its own", "retry it later"
)
_SERVICE_BUSY_WITH_FLOW = ErrorCode(
    Transient, Scope.RECIPIENT, "the service throttles the flow of the template", "retry it later"
)
_ADDRESS = partial(
    _SYSTEMATIC, shared_by=Scope.ACCOUNT, reason_code=ReasonCode.ADDRESS_REFUSED
)  # the answer came from something other than the service
_NUMBER_UNUSABLE = _PAUSE_NUMBER(
    "the number cannot send: it is not registered, or the token may not use it",
    "register it, or change the token",
)
_SEE_PREVIEW = "compare the previewed message with the template"
_SEE_ACCOUNT = "see the account's page at the service"

ERROR_CODES: dict[int, ErrorCode] = {
    **dict.fromkeys((0, 104, 190), _TOKEN),
    **dict.fromkeys((3, 10, *range(200, 300), 131005), _PERMISSION),
    **dict.fromkeys((1, 2, 131000, 131016, 131057, 133004), _SERVICE_FAILED),
    **dict.fromkeys((4, 17, 80007), _SLOW_ACCOUNT),
    **dict.fromkeys((33, 131045, 133000, 133010), _NUMBER_UNUSABLE),
    100: _SYSTEMATIC("a parameter of the request is not valid", _SEE_PREVIEW),
    368: _PAUSE_ACCOUNT("the account is blocked for a while, because it violated the policies", _SEE_ACCOUNT),
    130429: _SLOW_NUMBER,
    130472: _FAIL_FOR_GOOD(
        "the recipient is in an experiment of the service and gets no marketing messages",
        "reach the person in another way: a retry does not help",
    ),
    130497: _FAIL_FOR_GOOD("the business may not send messages to this country", "leave the country out"),
    131008: _SYSTEMATIC("a required parameter is missing", _SEE_PREVIEW),
    131009: _SYSTEMATIC("a parameter has a value that is not valid", _SEE_PREVIEW),
    131021: _FAIL_FOR_GOOD("the recipient is the number that sends", "take it off the list"),
    131026: _FAIL_FOR_GOOD(
        "undeliverable: the recipient is not on the network, or has blocked the business",
        "check the phone, and suppress it if it is right: a retry seldom helps",
    ),
    131030: _SYSTEMATIC(
        "a test number may send only to its allowed recipients",
        "add the recipients to its list, or use another number",
        shared_by=Scope.NUMBER,
    ),
    131031: _PAUSE_ACCOUNT("the account is locked", _SEE_ACCOUNT),
    131037: _PAUSE_NUMBER(
        "the service has not approved the display name of the number", "see the number's page at the service"
    ),
    131042: _PAUSE_ACCOUNT("the service could not charge the account", "check the account's payment method"),
    131047: _FAIL("the 24-hour window is closed, and this is not a template", "send a template"),
    131048: _PAUSE_NUMBER("the number is flagged for spam", "wait a day", suspend_s=SPAM_SUSPENSION_S),
    131049: _FAIL(
        "the service held the message back: the recipient got many marketing messages lately",
        "retry it in some days",
    ),
    131050: _FAIL_FOR_GOOD(
        "the recipient asked for no more marketing messages", "nothing: it is suppressed", opt_out=True
    ),
    131051: _SYSTEMATIC("the service does not know this type of message", "use another template"),
    131052: _SYSTEMATIC("the service could not download the media", "check the link"),
    131053: _SYSTEMATIC("the service could not upload the media", "check its type and size"),
    131056: _THROTTLE(Scope.PAIR, "too many messages to the same recipient in a short time", _WAITS),
    132000: _SYSTEMATIC("the number of parameters differs from the template", "check what fills them"),
    132001: _PAUSE_CAMPAIGN("the template does not exist in this language", "check its name and language"),
    132005: _FAIL_FOR_GOOD(
        "the text is too long with its values filled in", "shorten the values: a retry alone does not help"
    ),
    132007: _PAUSE_CAMPAIGN("the template breaks a policy of the service", "use another one"),
    132012: _SYSTEMATIC("the parameters do not match the template's placeholders", "check what fills them"),
    132015: _PAUSE_CAMPAIGN(
        "the template is paused", "wait until the service resumes it, or use another one"
    ),
    132016: _PAUSE_CAMPAIGN("the template is disabled", "use another one"),
    132068: _PAUSE_CAMPAIGN("the flow of the template is blocked", "see the flow's page at the service"),
    132069: _SERVICE_BUSY_WITH_FLOW,
}
FINAL_CODES = frozenset(code for code, row in ERROR_CODES.items() if row.is_final)

# Refusals without a code, by HTTP status. A gateway may have written them.
HTTP_STATUSES: dict[int, ErrorCode] = {
    401: _TOKEN,
    403: _PERMISSION,
    404: _ADDRESS("nothing is at this address", "check DRUMBEAT_BASE_URL and DRUMBEAT_API_VERSION"),
    407: _ADDRESS("the proxy wants a login", "check the user and password in DRUMBEAT_PROXY_URL"),
    408: _SERVICE_FAILED,  # the service stopped reading the request, so it accepted nobody
    413: _ADDRESS("the request is too large", "shorten the values; a proxy may have a limit of its own"),
    429: _SLOW_NUMBER,
}
# The row for any other refusal. It may concern the template, the version or the path; then it comes several
# times in a row.
UNLISTED = _SYSTEMATIC("an error that the interface does not list", "ask the service's support what it means")
_IN_WORDS = _FAIL("")  # a recorded reason that is no code


def stops_nothing(row: ErrorCode) -> bool:
    """Return whether a failure with this code says nothing about the messages to others."""
    return row.outcome is not Rejected or (row.scope is Scope.RECIPIENT and not row.systematic)


# The codes of failed statuses that need no further look. Even in a good campaign, many recipients may have
# one.
QUIET_CODES = tuple(sorted(code for code, row in ERROR_CODES.items() if stops_nothing(row)))


def opts_out(code: int | None) -> bool:
    """Return whether the recipient asked for no more messages, by the code of a reply or of
    a failed status.
    """
    return code is not None and code in ERROR_CODES and ERROR_CODES[code].opt_out


def pause_reason(name: str) -> ReasonCode:
    """Return the reason code of campaigns that a refusal pauses. `name`: a code as text, or
    `http_<status>`.
    """
    return row_of(name).reason_code


def shared_by(name: str) -> Scope:
    """Return the scope that usually causes a systematic refusal. `name` is the same as for `pause_reason`."""
    return row_of(name).shared_by


def meaning_of(name: str) -> str:
    """Return the meaning of a recorded error, a code or `http_<status>`; empty for a reason in words."""
    status = name.removeprefix("http_")
    return row_of(name).meaning if status == name else f"HTTP {status} without an error code"


def remedy_of(name: str) -> str:
    """Return the remedy for a recorded error, for a person; empty for a reason in words."""
    return row_of(name).remedy


def row_of(name: str) -> ErrorCode:
    """Return the row of a recorded error, a code or `http_<status>`. A reason in words has a row without
    words.
    """
    digits = name.removeprefix("http_")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= CODE_DIGITS_MAX):
        return _IN_WORDS
    return (ERROR_CODES if digits == name else HTTP_STATUSES).get(int(digits), UNLISTED)
