"""A question before a change that cannot be undone."""

import typer

from drumbeat.engine.errors import UsageError


def confirm(question: str, *, yes: bool) -> None:
    """Ask on the terminal, unless `yes` (`--yes`) is set. Raise UsageError if there is no terminal."""
    if yes:
        return
    if not typer.get_text_stream("stdin").isatty():
        raise UsageError("this cannot be undone, and no terminal can confirm it", remedy="add --yes")
    typer.confirm(f"{question} This cannot be undone.", abort=True, err=True)
