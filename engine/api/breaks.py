"""What an error of a connection is told as, the same of both transports."""

from engine.core.classify import not_connected
from engine.core.outcome import NotSent

REASON_CHARACTERS_MAX = 200


def reason_of(problem: BaseException) -> str:
    """What is told to people about a break."""
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")[:REASON_CHARACTERS_MAX]


def not_sent(problem: BaseException) -> NotSent:
    """The outcome where no connection came about."""
    return not_connected(reason_of(problem), getattr(problem, "errno", None))
