"""The errors that end a command or a process. Each class has an exit code, and a code for programs.

Expected replies of the service are values (`engine.core.outcome`), never exceptions. A message says what
happened, where, and what to do.
"""

from collections.abc import Callable, Iterator, Mapping
from string import Formatter
from typing import Any


class DrumbeatError(Exception):
    """The base class: a problem reported in one line. `exit_code` 1 means an unexpected problem. `code` is a
    word that programs can rely on, also in JSON and in /api/v1.

    `what` and `remedy` are texts. If `values` are given, even none, they are forms: `{text}` is the value of
    that name, and any other field names an option by its key, such as `{start_at}`. `told` lets a face name
    options in its own way; `what`, `remedy` and `str` name them by their keys. `key` is the option that the
    problem concerns: if none is given, the first one that the form `what` names.
    """

    exit_code: int = 1
    code: str = "unexpected"

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        remedy: str = "",
        key: str = "",
        values: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(what)
        self.forms = (what, remedy)
        self.where = where
        self.values = values
        self.key = key or next(self._named(what), "")

    def __str__(self) -> str:
        return self.line()

    @property
    def what(self) -> str:
        return self.told()[0]

    @property
    def remedy(self) -> str:
        return self.told()[1]

    def told(self, name_of: Callable[[str], str] = str) -> tuple[str, str]:
        """Return what happened and the remedy. `name_of` gives an option's name by its key."""
        what, remedy = self.forms
        if self.values is None:
            return what, remedy
        names = _Names(name_of, self.values)
        return what.format_map(names), remedy.format_map(names)

    def line(self, name_of: Callable[[str], str] = str) -> str:
        """Return the problem in one line: what happened, where, and the remedy."""
        what, remedy = self.told(name_of)
        return f"{what}{f' ({self.where})' if self.where else ''}{f': {remedy}' if remedy else ''}"

    def as_json(self, name_of: Callable[[str], str] = str) -> dict[str, Any]:
        """Return the problem for programs."""
        what, remedy = self.told(name_of)
        return problem_json(self.code, what, self.exit_code, where=self.where, remedy=remedy)

    def as_texts(self) -> dict[str, Any]:
        """Return the arguments that make such an error again, in a form that JSON can hold."""
        what, remedy = self.forms
        values = None if self.values is None else {name: str(value) for name, value in self.values.items()}
        return {"what": what, "remedy": remedy, "where": self.where, "key": self.key, "values": values}

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Change all texts, those of the values too."""
        what, remedy = self.forms
        self.forms, self.where = (change(what), change(remedy)), change(self.where)
        if self.values is not None:
            texts = {name: change(text) for name, text in self.values.items() if isinstance(text, str)}
            self.values = {**self.values, **texts}

    def _named(self, form: str) -> Iterator[str]:
        """Yield the options that a form names."""
        if self.values is not None:
            fields = (field for _, field, _, _ in Formatter().parse(form))
            yield from (field for field in fields if field is not None and field not in self.values)


def problem_json(
    code: str, what: str, exit_code: int, *, where: str = "", remedy: str = ""
) -> dict[str, Any]:
    """Return a problem as every command prints it with --json."""
    return {"code": code, "what": what, "where": where, "remedy": remedy, "exit_code": exit_code}


class _Names(dict[str, object]):
    """The values of a form, and a name for each key that is none."""

    def __init__(self, name_of: Callable[[str], str], values: Mapping[str, object]) -> None:
        super().__init__(values)
        self._name_of = name_of

    def __missing__(self, key: str) -> str:
        return self._name_of(key)


class UsageError(DrumbeatError):
    """A command line that asks for something that the command cannot do."""

    exit_code = 2
    code = "wrong_input"


class Incomplete(DrumbeatError):
    """An incomplete result: too many recipients failed, or some are in doubt or were left out."""

    exit_code = 3
    code = "incomplete"


class Unreachable(DrumbeatError):
    """A service or a database that did not answer."""

    exit_code = 69
    code = "unreachable"


class TryLater(DrumbeatError):
    """A call that cannot be done now, because another process holds what is needed, or it is too early.

    The same call works later. `wait_s` is how much later, if the service says so.
    """

    exit_code = 75
    code = "try_later"

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        remedy: str = "",
        wait_s: float | None = None,
        values: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(what, where=where, remedy=remedy, values=values)
        self.wait_s = wait_s


class NotReady(TryLater):
    """An audience that is not there yet: missing, empty, too small, or still being written."""

    code = "not_ready"


class AuthenticationError(DrumbeatError):
    """A token that the service refused, or that lacks a permission."""

    exit_code = 77
    code = "service_refused"


class ConfigurationError(DrumbeatError):
    """A wrong setting, file or stored definition. A retry cannot help until somebody changes it."""

    exit_code = 78
    code = "wrong_configuration"


class NotFound(ConfigurationError):
    """A campaign, number or template that was named and does not exist."""

    code = "not_found"
