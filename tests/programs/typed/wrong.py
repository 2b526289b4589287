"""Calls that type checkers must refuse: each line with `wrong` in a comment."""

from drumbeat.api import Drumbeat, open_drumbeat


async def calls(drumbeat: Drumbeat) -> None:
    await drumbeat.create(name="a", language="en", number="1", templat="offer")  # wrong: a typo
    await drumbeat.create(name="a", number="1", template="offer")  # wrong: no language
    await drumbeat.create(name="a", language="en", number="1", canary="many")  # wrong: a text
    await drumbeat.edit("a", name="b")  # wrong: a name never changes
    await drumbeat.settle("a", "again")  # wrong: no such action
    (await drumbeat.status("a")).name = "b"  # wrong: frozen
    async with open_drumbeat(bas_url="x"):  # wrong: a typo
        pass
