"""Commands of ours in what people are told, to be copied as they stand."""

from __future__ import annotations

import shlex


def command(*words: str) -> str:
    """A command of ours as a shell takes it, whatever the names in it hold."""
    return shlex.join(("drumbeat", *words))
