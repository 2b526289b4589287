"""The units of time. Every duration and clock reading of the engine is an integer in nanoseconds."""

SECOND_NS = 1_000_000_000
