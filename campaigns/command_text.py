"""Drumbeat commands in messages, quoted so that a person can copy them."""

import shlex


def command_text(*words: str) -> str:
    """Return a `drumbeat` command, quoted for a shell."""
    return shlex.join(("drumbeat", *words))
