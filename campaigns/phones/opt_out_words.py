"""The words by which people opt out, and take that back: a table that can be edited."""

from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.limits.opt_out import CHARACTERS_MAX, normalised
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class OptOutWord:
    """A word or phrase, and its language for people: it counts in every language.

    `opts_in` says that it takes an opt-out back.
    """

    language: str
    word: str
    opts_in: bool = False


async def list_words(connection: Connection) -> list[OptOutWord]:
    """Return all words by language. Those that opt out come first."""
    rows = await connection.fetch(queries("guards")["opt_out_words"])
    return [OptOutWord(row["language"], row["word"], row["opts_in"]) for row in rows]


async def add_words(
    connection: Connection, words: Sequence[str], language: str, *, opts_in: bool = False
) -> int:
    """Add words, and return how many are new. A word that differs only in case, accents or punctuation is
    known already.

    Raise UsageError, and add nothing, if one of them is known with the other meaning.
    """
    known = {normalised(each.word): each.opts_in for each in await list_words(connection)}
    new: dict[str, str] = {}
    for word in words:
        plain = normalised(_checked(word))
        if known.get(plain, opts_in) is not opts_in:
            raise UsageError(
                f"{word!r} is a word by which people opt {'out' if opts_in else 'in'}",
                remedy="remove it first with `drumbeat suppress words remove`",
            )
        if plain not in known:
            new.setdefault(plain, word.strip())
    for word in new.values():
        await connection.execute(statements("guards")["add_opt_out_word"], word, language, opts_in)
    return len(new)


async def remove_words(connection: Connection, words: Sequence[str]) -> int:
    """Remove words in any case and spelling of accents. Return how many there were."""
    unwanted = {normalised(_checked(word)) for word in words}
    removed = [each.word for each in await list_words(connection) if normalised(each.word) in unwanted]
    for word in removed:
        await connection.execute(statements("guards")["remove_opt_out_word"], word)
    return len(removed)


def _checked(word: str) -> str:
    if not normalised(word) or len(word) > CHARACTERS_MAX or "\x00" in word:
        raise UsageError(
            f"{word!r} is not a word", remedy=f"give letters or digits, at most {CHARACTERS_MAX} characters"
        )
    return word
