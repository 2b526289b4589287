"""A quick look over a whole column, for the few cells that need a closer one."""

from collections.abc import Collection, Sequence

from drumbeat.engine.core.template.variable import REPLACEMENT, VARIABLE_CHARACTERS_MAX

_SPACES_TOO_MANY = " " * 5


def suspects(cells: Collection[str], text: str) -> list[int]:
    """Return the indexes of cells that `check_variable` may refuse; it accepts all others. `text` has the
    cells between bars.
    """
    may_be_blank = "||" in text or " |" in text
    found = [at for at, cell in enumerate(cells) if not cell.strip()] if may_be_blank else []
    if (
        text.isprintable()
        and _SPACES_TOO_MANY not in text
        and REPLACEMENT not in text
        and max(map(len, cells)) <= VARIABLE_CHARACTERS_MAX
    ):
        return found
    return found + [at for at, cell in enumerate(cells) if not surely_sendable((cell,))]


def surely_sendable(variables: Sequence[str]) -> bool:
    """Return true only if `check_variable` accepts all of these. This check is quick, and may refuse good
    variables.

    Printable text has no line break, tab or NUL; an empty or blank variable strips to nothing.
    """
    joined = "".join(variables)
    return (
        joined.isprintable()
        and len(joined) <= VARIABLE_CHARACTERS_MAX
        and _SPACES_TOO_MANY not in joined
        and REPLACEMENT not in joined
        and all(map(str.strip, variables))
    )
