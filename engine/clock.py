"""The clocks of the flow. None is the wall clock: when that steps, no pace and no permit changes."""

import time

SECOND_NS = 1_000_000_000


def monotonic_ns() -> int:
    """For pacing: never steps."""
    return time.monotonic_ns()


def suspend_aware_ns() -> int:
    """For permits: also runs while the machine sleeps, so that a permit does not outlive a suspension."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def cpu_ns() -> int:
    """That this thread took so far."""
    return time.thread_time_ns()
