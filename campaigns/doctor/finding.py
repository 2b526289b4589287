"""A finding of the doctor: what a check saw, and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from drumbeat.engine.errors import DrumbeatError

CLOCK_SKEW_S_MAX = 30.0  # statuses and sending windows compare times of both clocks


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `remedy` is empty if nothing is wrong; `exit_code` counts only for FAIL."""

    subject: str
    level: Level
    found: str
    remedy: str = ""
    exit_code: int = 0


def worst_exit_code(findings: list[Finding]) -> int:
    """Return 0 if nothing failed, else the code of the first failure, which often caused the later ones."""
    return next((finding.exit_code for finding in findings if finding.level is Level.FAIL), 0)


def failed(subject: str, error: DrumbeatError) -> Finding:
    """Return an error as a finding."""
    where = f" ({error.where})" if error.where else ""
    return fail(subject, error.what + where, error.remedy, error.exit_code)


def clock(subject: str, skew_s: float) -> Finding:
    """Return how far a clock is from that of this machine."""
    found = f"{skew_s:.0f} s from this machine's clock"
    if skew_s <= CLOCK_SKEW_S_MAX:
        return ok(subject, found)
    return warn(subject, found, "synchronise the clocks, for example by NTP")


def ok(subject: str, found: str) -> Finding:
    return Finding(subject, Level.OK, found)


def warn(subject: str, found: str, remedy: str) -> Finding:
    return Finding(subject, Level.WARN, found, remedy)


def fail(subject: str, found: str, remedy: str, exit_code: int) -> Finding:
    return Finding(subject, Level.FAIL, found, remedy, exit_code)
