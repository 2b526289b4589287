"""Drumbeat commands and flags in messages, quoted so that a person can copy them."""

import shlex


def command_text(*words: str) -> str:
    """Return a `drumbeat` command, quoted for a shell."""
    return shlex.join(("drumbeat", *words))


def flag(key: str) -> str:
    """Return an option's name on the command line: `--start-at` for `start_at`."""
    return f"--{key.replace('_', '-')}"
