"""Our commands in messages, written so that they can be copied."""

from __future__ import annotations

import shlex


def command(*words: str) -> str:
    """A command of ours as a shell takes it, whatever the names in it hold."""
    return shlex.join(("drumbeat", *words))
