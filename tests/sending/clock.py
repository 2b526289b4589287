"""A monotonic clock for tests: it stands until they move it."""


class Clock:
    """Called as the clocks of `engine.clock` are."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns
