"""A length of time in words."""


def duration(seconds: float) -> str:
    """Return a duration in words: `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`."""
    whole = round(seconds)
    for size, unit, smaller_size, smaller in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"
