"""An import of each command's module only when the command runs, so that every command starts fast."""

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """A group of commands: its help text and the table of its commands."""

    help: str
    table: Mapping[str, str]


def lazy_group(table: Mapping[str, str | CommandGroup]) -> type[TyperGroup]:
    """Return a group class for `typer.Typer(cls=…)`.

    `table` leads from a command to the module whose `app` is the command or a group with it, or to a nested
    group.
    """

    class LazyGroup(TyperGroup):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given)
            _make_help_plain(self)

        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the library's signature
            return list(table)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
            entry = table.get(cmd_name)
            if entry is None:
                return None
            return _load(cmd_name, entry) if isinstance(entry, str) else _nested(cmd_name, entry)

        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
            """Resolve as the parent class does, but with all names. It needs them to suggest one for a
            misspelt command.
            """
            self.commands = dict.fromkeys(table)  # type: ignore[assignment]
            return super().resolve_command(ctx, args)

    return LazyGroup


def import_without(extra: str, module: str) -> None:
    """Import `module` as if its optional dependency `extra` were not installed.

    No effect if either is imported already. Not thread-safe, because it changes `sys.modules`.
    """
    if extra in sys.modules:
        return
    sys.modules[extra] = None  # type: ignore[assignment]  # importing it raises ImportError
    try:
        import_module(module)
    finally:
        del sys.modules[extra]


def _load(name: str, module: str) -> Any:
    group = get_group(import_module(module).app)
    command = group.commands.get(name, group)
    command.name = name
    _make_help_plain(command)
    return command


def _nested(name: str, group: CommandGroup) -> Any:
    app = typer.Typer(name=name, cls=lazy_group(group.table), no_args_is_help=True, add_completion=False)
    app.callback(help=group.help)(lambda: None)
    return get_group(app)


def _make_help_plain(command: Any) -> None:
    """Join the lines of each paragraph, so that help fills the terminal; show no type for a flag."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for option in (*command.params, command.get_help_option(typer.Context(command))):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        _make_help_plain(inner)
