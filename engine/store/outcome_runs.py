"""The short way to record outcomes: of recipients of whom nothing is recorded yet, in one round trip.

What outcomes have in common is told once for each stretch: recipients side by side in one range, claimed by
one epoch of one number. Arrays go as text: Postgres reads it faster than the driver writes their binary form.
"""

from collections.abc import Sequence
from itertools import accumulate, groupby
from operator import sub
from typing import NamedTuple

from engine.store.database import Connection
from engine.store.facts import ACCEPTED, STORED_KIND, Attempts, Fact, FactKind, shortened
from engine.store.queries import queries

SEPARATOR = "\x1f"  # of texts in one argument; no text of ours or of the service's has a use for it


async def record_outcomes(
    connection: Connection, outcomes: dict[tuple[int, int], Fact], attempts: Sequence[Attempts]
) -> list[Fact]:
    """Store outcomes of recipients without a record; returns the other facts, which were not stored."""
    facts = [outcomes[key] for key in sorted(outcomes)]
    _, range_ids, seqs, attempt_nos, epochs, numbers, kinds, wamids, codes, reasons, attempted_us, *_ = zip(
        *facts, strict=True
    )
    plain = kinds.count(ACCEPTED) == len(kinds)
    stored_kinds = [] if plain else [STORED_KIND[kind] for kind in kinds]
    outcome_runs = _outcome_runs(range_ids, epochs, numbers, seqs)
    rows = await connection.fetch(
        queries("facts")["record_outcome_runs"],
        *_run_columns(outcome_runs, stored_kinds),
        _integers(
            [place for place, outcome_run in enumerate(outcome_runs, 1) for _ in range(outcome_run.length)]
        ),
        _integers(seqs),
        "{}" if attempt_nos.count(1) == len(attempt_nos) else _integers(attempt_nos),
        _integers(stored_kinds),
        _texts(wamids),
        _integers(codes) if codes.count(None) < len(codes) else "{}",
        _texts([shortened(reason) for reason in reasons]) if any(reasons) else "",
        _integers(attempted_us),
        list(attempts),
    )
    return [outcomes[row["left_range_id"], row["left_seq"]] for row in rows]


class _OutcomeRun(NamedTuple):
    """Recipients side by side in one range, claimed by one epoch of one number: what their outcomes share."""

    range_id: int
    epoch: int
    phone_number_id: str
    first_seq: int
    length: int


def _outcome_runs(
    range_ids: Sequence[int], epochs: Sequence[int], numbers: Sequence[str], seqs: Sequence[int]
) -> list[_OutcomeRun]:
    """Of columns in the order of range and seq, which grow together within a stretch."""
    outcome_runs: list[_OutcomeRun] = []
    begin = 0
    offsets = map(sub, seqs, range(len(seqs)))
    shared = zip(range_ids, epochs, numbers, offsets, strict=True)
    for (range_id, epoch, number, offset), members in groupby(shared):
        length = sum(1 for _ in members)
        outcome_runs.append(_OutcomeRun(range_id, epoch, number, offset + begin, length))
        begin += length
    return outcome_runs


def _run_columns(outcome_runs: Sequence[_OutcomeRun], kinds: Sequence[int]) -> list[str]:
    """As `record_outcome_runs` wants them; no `kinds`: all are accepted."""
    range_ids, epochs, numbers, first_seqs, lengths = zip(*outcome_runs, strict=True)
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
    """The literal of an array."""
    return "{" + repr(list(column))[1:-1].replace("None", "NULL") + "}"


def _texts(column: Sequence[str | None]) -> str:
    """Texts in one; those that are None are empty in it."""
    joined = SEPARATOR.join([text or "" for text in column])
    if joined.count(SEPARATOR) >= len(column):
        joined = SEPARATOR.join([(text or "").replace(SEPARATOR, " ") for text in column])
    return joined
