"""The table of every error that the service answers with: code, HTTP status, title.

Codes and meanings are the interface's. The HTTP status of a code is an open point: of two possible ones the
first is used. The part that finds a broken rule raises `Refused`; the gateway renders it.
"""

from typing import NamedTuple

import orjson


class ErrorKind(NamedTuple):
    """A kind of error. `status` is the HTTP status, `title` the text that follows the code in
    `error.message`.
    """

    status: int
    title: str


KINDS: dict[int, ErrorKind] = {
    0: ErrorKind(401, "The access token could not be checked"),
    1: ErrorKind(500, "An unknown error occurred"),
    2: ErrorKind(500, "Service temporarily unavailable"),
    3: ErrorKind(403, "Capability or permission missing"),
    4: ErrorKind(400, "Application request limit reached"),
    10: ErrorKind(403, "Application does not have permission for this action"),
    17: ErrorKind(400, "Account request limit reached"),
    # The interface promises 4xx for what the caller got wrong, so an unknown object is never a 5xx.
    33: ErrorKind(400, "Object does not exist or cannot be loaded due to missing permissions"),
    100: ErrorKind(400, "Invalid parameter"),
    104: ErrorKind(401, "The access token needs a proof"),
    190: ErrorKind(401, "Access token expired or invalid"),
    **dict.fromkeys(range(200, 300), ErrorKind(403, "Permission denied")),
    368: ErrorKind(403, "Temporarily blocked for policies violations"),
    2635: ErrorKind(400, "This API version is not served"),
    80007: ErrorKind(400, "Rate limit issues"),
    130429: ErrorKind(400, "Rate limit hit"),
    130472: ErrorKind(400, "User's number is part of an experiment"),
    130497: ErrorKind(400, "Business account is restricted from messaging users in this country"),
    131000: ErrorKind(500, "Something went wrong"),
    131005: ErrorKind(403, "Access denied"),
    131008: ErrorKind(400, "Required parameter is missing"),
    131009: ErrorKind(400, "Parameter value is not valid"),
    131016: ErrorKind(500, "Service unavailable"),
    131021: ErrorKind(400, "Recipient cannot be sender"),
    131026: ErrorKind(400, "Message undeliverable"),
    131030: ErrorKind(400, "Recipient phone number not in allowed list"),
    131031: ErrorKind(403, "Account has been locked"),
    131037: ErrorKind(400, "Display name approval is needed"),
    131042: ErrorKind(403, "Business eligibility payment issue"),
    131045: ErrorKind(500, "Incorrect certificate"),
    131047: ErrorKind(400, "Re-engagement message"),
    131048: ErrorKind(400, "Spam rate limit hit"),
    131049: ErrorKind(400, "Message not delivered to maintain healthy ecosystem engagement"),
    131050: ErrorKind(400, "User has stopped receiving marketing messages"),
    131051: ErrorKind(400, "Unsupported message type"),
    131052: ErrorKind(400, "Media download error"),
    131053: ErrorKind(400, "Media upload error"),
    131056: ErrorKind(400, "Pair rate limit hit"),
    131057: ErrorKind(500, "Account in maintenance mode"),
    132000: ErrorKind(400, "Number of parameters does not match the expected number of params"),
    132001: ErrorKind(404, "Template name does not exist in the translation"),
    132005: ErrorKind(400, "Translated text too long"),
    132007: ErrorKind(400, "Template character policy violated"),
    132012: ErrorKind(400, "Parameter format does not match format in the created template"),
    132015: ErrorKind(400, "Template is paused"),
    132016: ErrorKind(400, "Template is disabled"),
    132068: ErrorKind(400, "Flow is blocked"),
    132069: ErrorKind(400, "Flow is throttled"),
    133000: ErrorKind(500, "A deregistration is not complete"),
    133004: ErrorKind(500, "Server temporarily unavailable"),
    133005: ErrorKind(400, "Two step verification PIN mismatch"),
    133010: ErrorKind(500, "Phone number not registered"),
}


class Refused(Exception):
    """An error for a request that broke a rule of the interface. `status` overrides the code's own HTTP
    status.

    `headers` go with the reply, `extra` are further members of the error.
    """

    def __init__(self, code: int, details: str, status: int | None = None) -> None:
        super().__init__(details)
        self.code = code
        self.details = details
        self.headers: tuple[tuple[str, str], ...] = ()
        self.extra: tuple[tuple[str, object], ...] = ()
        self.status = status if status is not None else KINDS[code].status


def error_object(code: int, details: str, product: str, trace: str) -> dict[str, object]:
    """Return the `error` member of a refused request's body (open point)."""
    return {
        "message": f"(#{code}) {KINDS[code].title if code in KINDS else 'An error of its own'}",
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": product, "details": details},
        "fbtrace_id": trace,
    }


def error_body(refused: Refused, product: str, trace: str) -> bytes:
    """Return the whole JSON body of a refused request."""
    error = error_object(refused.code, refused.details, product, trace)
    return orjson.dumps({"error": {**error, **dict(refused.extra)}})
