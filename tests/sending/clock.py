"""A monotonic clock that moves only when a test moves it."""


class Clock:
    """Called like the clocks of `engine.clock`."""

    def __init__(self) -> None:
        self.now_ns = 0

    def __call__(self) -> int:
        return self.now_ns
