"""The count for frequency caps: the messages of each person, from what is stored of all campaigns.

Law: claims of capped campaigns are made one after the other (`lock_caps`), each after the commit of the one
before. So two campaigns that claim the same person at once do not both count the other as absent.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.phone_aliases import canonical_phone, phone_aliases
from drumbeat.engine.store.claims import ADVANCE_TIMEOUT_S, Candidate, WatermarkAdvance, advance_watermarks
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries

Caps = Mapping[int, FrequencyCap]  # caps by campaign; a campaign without a cap is not in it


@asynccontextmanager
async def counting(connection: Connection, *, capped: bool) -> AsyncIterator[None]:
    """Open a transaction in which counts of `over_cap` hold until the commit; none if not `capped`."""
    if not capped:
        yield
        return
    async with connection.transaction():
        await connection.execute(queries("guards")["lock_caps"], timeout=ADVANCE_TIMEOUT_S)
        yield


async def over_cap(
    connection: Connection, candidates: Sequence[Candidate], caps: Caps
) -> set[tuple[int, int]]:
    """Return (range_id, seq) of candidates whose person got as many messages as the cap allows."""
    capped = [candidate for candidate in candidates if candidate.campaign_id in caps]
    if not capped:
        return set()
    aliases = [phone_aliases(str(candidate.phone))[-1] for candidate in capped]
    limits = [caps[candidate.campaign_id] for candidate in capped]
    rows = await connection.fetch(
        queries("guards")["over_cap"],
        [candidate.range_id for candidate in capped],
        [candidate.seq for candidate in capped],
        [candidate.phone for candidate in capped],
        aliases,
        [limit.messages for limit in limits],
        [int(limit.period.total_seconds()) for limit in limits],
        timeout=ADVANCE_TIMEOUT_S,
    )
    return {(row["range_id"], row["seq"]) for row in rows}


async def advance_within_caps(
    connection: Connection, advances: Sequence[WatermarkAdvance]
) -> set[tuple[int, int]]:
    """Claim as `advance_watermarks`, but nothing of a range if one of its candidates is over the cap."""
    free = [advance for advance in advances if advance.cap is None]
    claimed = await advance_watermarks(connection, free) if free else set()
    if len(free) == len(advances):
        return claimed
    async with counting(connection, capped=True):
        capped = _of_different_people([advance for advance in advances if advance.cap is not None])
        caps = {advance.held.campaign_id: advance.cap for advance in capped if advance.cap is not None}
        over = await over_cap(connection, [one for each in capped for one in each.candidates], caps)
        ranges = {range_id for range_id, _ in over}
        within = [advance for advance in capped if advance.held.range_id not in ranges]
        return claimed | (await advance_watermarks(connection, within) if within else set())


def _of_different_people(advances: Sequence[WatermarkAdvance]) -> list[WatermarkAdvance]:
    """Return the advances that share no person with an earlier one: neither would count the other."""
    people: set[int] = set()
    kept = []
    for advance in advances:
        its_people = {canonical_phone(candidate.phone) for candidate in advance.candidates}
        if people.isdisjoint(its_people):
            people |= its_people
            kept.append(advance)
    return kept
