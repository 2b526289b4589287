"""The clocks of the sending flow. None is the wall clock, so no pace and no claim changes when it steps."""

import time
from functools import partial

from engine.core.units import SECOND_NS as SECOND_NS

# For pacing: never steps. The clocks are read several times for each message, so no wrapper adds a call.
monotonic_ns = time.monotonic_ns
# For claims: also runs while the machine sleeps, so that a claim expires during a suspension too.
suspend_aware_ns = partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
# CPU time of this thread.
cpu_ns = time.thread_time_ns
