"""The plain path of recording: outcomes of recipients without a record, a batch in one round trip.

The values that outcomes have in common are passed once for each run: neighbouring recipients of one range,
claimed by one epoch of one number. Arrays are passed as text: Postgres reads it faster than the driver writes
binary arrays.
"""

from collections.abc import Sequence
from itertools import accumulate, groupby
from operator import sub
from typing import NamedTuple

from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import (
    ACCEPTED,
    SEPARATOR,
    STORED_KIND,
    AttemptCounts,
    Fact,
    FactKind,
    shortened,
)
from drumbeat.engine.store.queries import queries


class _OutcomeRun(NamedTuple):
    """A run: neighbouring recipients of one range, claimed by one epoch of one number."""

    range_id: int
    epoch: int
    phone_number_id: str
    first_seq: int
    length: int


async def record_outcome_runs(
    connection: Connection, outcomes: dict[tuple[int, int], Fact], attempts: Sequence[AttemptCounts]
) -> list[Fact]:
    """Store outcomes, except runs in which any recipient has a record. Return the facts of those runs."""
    facts = [outcomes[key] for key in sorted(outcomes)]
    _, range_ids, seqs, attempt_nos, epochs, numbers, kinds, wamids, codes, reasons, attempted_us, *_ = zip(
        *facts, strict=True
    )
    plain = kinds.count(ACCEPTED) == len(kinds)
    stored_kinds = [] if plain else [STORED_KIND[kind] for kind in kinds]
    runs = _outcome_runs(range_ids, epochs, numbers, seqs)
    recorded = await connection.fetchval(
        queries("facts")["record_outcome_runs"],
        *_run_columns(runs, stored_kinds),
        _integers([position for position, run in enumerate(runs, 1) for _ in range(run.length)]),
        _integers(seqs),
        "{}" if attempt_nos.count(1) == len(attempt_nos) else _integers(attempt_nos),
        _integers(stored_kinds),
        _texts(wamids),
        _integers(codes) if codes.count(None) < len(codes) else "{}",
        _texts([shortened(reason) for reason in reasons]) if any(reasons) else "",
        _integers(attempted_us),
        list(attempts),
    )
    ends = list(accumulate(run.length for run in runs)) if recorded else []
    return [
        fact
        for position in recorded
        for fact in facts[ends[position - 1] - runs[position - 1].length : ends[position - 1]]
    ]


def _outcome_runs(
    range_ids: Sequence[int], epochs: Sequence[int], numbers: Sequence[str], seqs: Sequence[int]
) -> list[_OutcomeRun]:
    """Return the runs of columns sorted by range and seq. Within a run, seq and index grow together."""
    runs: list[_OutcomeRun] = []
    begin = 0
    offsets = map(sub, seqs, range(len(seqs)))
    columns = zip(range_ids, epochs, numbers, offsets, strict=True)
    for (range_id, epoch, number, offset), members in groupby(columns):
        length = sum(1 for _ in members)
        runs.append(_OutcomeRun(range_id, epoch, number, offset + begin, length))
        begin += length
    return runs


def _run_columns(runs: Sequence[_OutcomeRun], kinds: Sequence[int]) -> list[str]:
    """Return the columns as `record_outcome_runs` takes them. No `kinds`: all are accepted."""
    range_ids, epochs, numbers, first_seqs, lengths = zip(*runs, strict=True)
    ends = list(accumulate(lengths))
    failures, skips = (
        [kinds[end - length : end].count(kind) for end, length in zip(ends, lengths, strict=True)]
        for kind in (STORED_KIND[FactKind.FAILED], STORED_KIND[FactKind.SKIPPED])
    )
    return [
        _integers(range_ids),
        _integers(epochs),
        _texts(numbers),
        _integers(first_seqs),
        _integers(lengths),
        _integers(failures),
        _integers(skips),
    ]


def _integers(column: Sequence[int | None]) -> str:
    """Return the literal of an array."""
    return "{" + repr(list(column))[1:-1].replace("None", "NULL") + "}"


def _texts(column: Sequence[str | None]) -> str:
    """Return texts joined to one; None becomes empty."""
    joined = SEPARATOR.join([text or "" for text in column])
    if joined.count(SEPARATOR) >= len(column):
        joined = SEPARATOR.join([(text or "").replace(SEPARATOR, " ") for text in column])
    return joined
