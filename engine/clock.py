"""The clocks of the sending flow. None of them is the wall clock, so a step of it changes no pace and no
claim.

`wall_offset_ns` is used only for the stamps of what is stored.
"""

import time
from functools import partial

from drumbeat.engine.core.units import SECOND_NS as SECOND_NS

# The clock for pacing, which never steps. Clocks are read several times for each message, so no wrapper adds
# a call.
monotonic_ns = time.monotonic_ns
# The clock for claims. It also runs while the machine sleeps, so a claim expires during a suspension too.
suspend_aware_ns = partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
# The CPU time of this thread.
cpu_ns = time.thread_time_ns


def wall_offset_ns() -> int:
    """Return the wall clock minus the monotonic clock, in nanoseconds: the best of three readings.

    A reading is wrong by as long as the process is interrupted between the two clocks. On two cores with
    twelve busy processes, one reading in 30,000 was wrong by 4 to 13 ms.
    """
    readings = []
    for _ in range(3):
        before_ns, wall_ns, after_ns = monotonic_ns(), time.time_ns(), monotonic_ns()
        readings.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
    return min(readings)[1]
