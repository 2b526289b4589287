"""The words by which people opt out: a table that can be edited."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.core.opt_out import CHARACTERS_MAX, normalised
from engine.errors import UsageError
from engine.store.database import Connection
from engine.store.queries import queries


@dataclass(frozen=True, slots=True)
class OptOutWord:
    """A word or phrase, and its language for people: it counts in every language."""

    language: str
    word: str


async def list_words(connection: Connection) -> list[OptOutWord]:
    """All words, by language."""
    rows = await connection.fetch(queries("guards")["opt_out_words"])
    return [OptOutWord(row["language"], row["word"]) for row in rows]


async def add_words(connection: Connection, words: Sequence[str], language: str) -> int:
    """Add words; returns how many are new. A word that differs in case, accents or punctuation is known."""
    known = {normalised(each.word) for each in await list_words(connection)}
    added = 0
    for word in words:
        plain = normalised(_checked(word))
        if plain not in known:
            known.add(plain)
            await connection.execute(queries("guards")["add_opt_out_word"], word.strip(), language)
            added += 1
    return added


async def remove_words(connection: Connection, words: Sequence[str]) -> int:
    """Remove words in any case and spelling of accents; returns how many there were."""
    unwanted = {normalised(_checked(word)) for word in words}
    removed = [each.word for each in await list_words(connection) if normalised(each.word) in unwanted]
    for word in removed:
        await connection.execute(queries("guards")["remove_opt_out_word"], word)
    return len(removed)


def _checked(word: str) -> str:
    if not normalised(word) or len(word) > CHARACTERS_MAX or "\x00" in word:
        raise UsageError(
            f"{word!r} is no word", remedy=f"give letters or digits, at most {CHARACTERS_MAX} characters"
        )
    return word
