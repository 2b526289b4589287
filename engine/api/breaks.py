"""How an error of a connection is reported, the same for both transports."""

from engine.core.classify import not_connected
from engine.core.outcome import NotSent

REASON_CHARACTERS_MAX = 200


def reason_of(problem: BaseException) -> str:
    """A break in words for people."""
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")[:REASON_CHARACTERS_MAX]


def not_sent(problem: BaseException) -> NotSent:
    """The outcome where no connection came about."""
    return not_connected(reason_of(problem), getattr(problem, "errno", None))
