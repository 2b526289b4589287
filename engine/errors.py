"""The errors that end a command or a process. Each class has an exit code.

Expected replies of the service are values (`engine.core.outcome`), never exceptions. A message says what
happened, where, and what to do.
"""


class DrumbeatError(Exception):
    """The base class: a problem reported in one line. `exit_code` 1 means an unexpected problem.

    `key` is the option that the problem concerns, by its key in a manifest, if `what` does not name it.
    """

    exit_code: int = 1

    def __init__(self, what: str, *, where: str = "", remedy: str = "", key: str = "") -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        self.key = key
        location = f" ({where})" if where else ""
        advice = f": {remedy}" if remedy else ""
        super().__init__(f"{what}{location}{advice}")


class UsageError(DrumbeatError):
    """A command line that asks for something that the command cannot do."""

    exit_code = 2


class Incomplete(DrumbeatError):
    """An incomplete result: too many recipients failed, or some are in doubt or were left out."""

    exit_code = 3


class Unreachable(DrumbeatError):
    """A service or a database that did not answer."""

    exit_code = 69


class TryLater(DrumbeatError):
    """A call that cannot be done now, because another process holds what is needed, or it is too early.

    The same call works later. `wait_s` is how much later, if the service says so.
    """

    exit_code = 75

    def __init__(self, what: str, *, where: str = "", remedy: str = "", wait_s: float | None = None) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.wait_s = wait_s


class AuthenticationError(DrumbeatError):
    """A token that the service refused, or that lacks a permission."""

    exit_code = 77


class ConfigurationError(DrumbeatError):
    """A wrong setting, file or stored definition. A retry cannot help until somebody changes it."""

    exit_code = 78


class NotFound(ConfigurationError):
    """A campaign, number or template that was named and does not exist."""
