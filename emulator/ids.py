"""The ids of new objects: numbers that count up and are never issued twice."""

FIRST_ID = 1_000_000_000_000_001


class Ids:
    """A source of ids. `following` is the id that is issued next."""

    def __init__(self, following: int = FIRST_ID) -> None:
        self.following = following

    def new(self) -> str:
        """Return an id for a new object."""
        self.following += 1
        return str(self.following - 1)
