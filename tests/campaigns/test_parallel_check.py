"""Pieces checked by several processes: rows, rejects and lines as read in order, and nothing left behind."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from drumbeat.campaigns.audience.check import parallel_check, staged_batch
from drumbeat.campaigns.audience.check.parallel_check import CheckProcessLost, staged_batches
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.staged_batch import CheckSpec, PieceCheck, StagedBatch, encode_for_copy
from drumbeat.campaigns.audience.open import encoding, reader
from drumbeat.campaigns.audience.open.dialect import Dialect
from drumbeat.campaigns.audience.open.reader import AudienceReader, Piece, open_audience
from drumbeat.campaigns.reject import Reject
from tests.campaigns.conftest import WriteAudience

PHONE = 5511960000000


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of pieces from a few kilobytes; of some parts each, but in processes of their own."""
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 700)
    monkeypatch.setattr(reader, "HEAD_CHARACTERS", 100)
    monkeypatch.setattr(staged_batch, "PART_CHARACTERS", 150)


def awkward_rows() -> Iterator[str]:
    """Good rows, and between them bytes that a piece alone would misread."""
    for row in range(1_500):
        yield f"{PHONE + row},Zoë\\{row},A{row}"
        if row % 7 == 3 and row % 40 < 20:
            yield f'{PHONE + 5_000 + row},"two\nlines, and ""more""",B'
        if row % 110 == 50:
            yield '"never closed,x,y'
        if row % 310 == 30:
            yield f'"{PHONE + 9_000 + row}","quoted, all","C"'
        if row % 190 == 90:
            yield from ["12,x,y"] * 40
        if row % 13 == 0:
            yield from ("12,x,y", f"{PHONE},,", "a,b", "", " , , ")


def spec_of(found: AudienceReader, path: Path) -> CheckSpec:
    return CheckSpec(found.header, str(path), RowRules(params=("name", "=x", "order")), found.dialect)


def in_order(path: Path) -> tuple[bytes, list[Reject], int]:
    with open_audience(path) as file:
        found = AudienceReader(file, str(path))
        check = spec_of(found, path).row_check()
        return summed(encode_for_copy(batch) for batch in check.batches(found))


def by_workers(path: Path, count: int) -> tuple[bytes, list[Reject], int]:
    with open_audience(path) as file:
        found = AudienceReader(file, str(path))
        with closing(staged_batches(found, spec_of(found, path), count)) as batches:
            return summed(batches)


def summed(batches: Iterator[StagedBatch]) -> tuple[bytes, list[Reject], int]:
    every = list(batches)
    for batch in every:
        rows = batch.recipients.splitlines()
        assert len(rows) == batch.rows
        assert [row.rsplit(b"\t", 2)[0] for row in rows] == batch.keys.splitlines()
        assert batch.last_line == (int(rows[-1].split(b"\t")[0]) if rows else 0)
    rejects = [reject for batch in every for reject in batch.rejects]
    recipients = b"".join(batch.recipients + b"\n" for batch in every if batch.rows)
    return recipients, rejects, max(batch.last_line for batch in every)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("count", [0, 2])
def test_what_is_checked_ahead_equals_what_is_read_in_order(
    count: int, ends: str, write_audience: WriteAudience
) -> None:
    path = write_audience(ends.join(["phone,name,order", *awkward_rows()]))
    before = children()

    expected = in_order(path)

    assert len(expected[1]) > 100
    assert expected[0].count(b"\n") > 1_500
    assert by_workers(path, count) == expected
    assert children() == before


@pytest.mark.parametrize("bad_first", [0, 40])
@pytest.mark.parametrize("bad_last", [0, 40])
def test_parts_without_a_good_row_leave_no_trace(bad_first: int, bad_last: int) -> None:
    lines = ["12,x,y"] * bad_first + [f"{PHONE},Ana,A", "", f"{PHONE + 1},Bob,B"] + ["12,x,y"] * bad_last
    spec = CheckSpec(("phone", "name", "order"), "a.csv", RowRules(params=("name",)), Dialect(","))

    batch = PieceCheck(spec)(Piece(2, "".join(line + "\n" for line in lines), 7))

    first = 2 + bad_first
    assert batch is not None
    assert (batch.read_bytes, batch.rows, batch.last_line) == (7, 2, first + 2)
    assert batch.keys == f"{first}\t{PHONE}\n{first + 2}\t{PHONE + 1}".encode()
    assert (
        batch.recipients == f'{first}\t{PHONE}\t0\t{{"Ana"}}\n{first + 2}\t{PHONE + 1}\t0\t{{"Bob"}}'.encode()
    )
    assert len(batch.rejects) == bad_first + bad_last


def test_a_worker_that_is_killed_ends_the_plan(write_audience: WriteAudience) -> None:
    path = write_audience("\n".join(["phone,name,order", *awkward_rows()]))
    before = children()
    with open_audience(path) as file:
        found = AudienceReader(file, str(path))
        with closing(staged_batches(found, spec_of(found, path), 2)) as batches:
            next(batches)
            for pid in children() - before:
                psutil.Process(pid).kill()
            with pytest.raises(CheckProcessLost):
                list(batches)
    assert children() == before


def test_workers_go_when_nobody_wants_their_work(write_audience: WriteAudience) -> None:
    path = write_audience("\n".join(["phone,name,order", *awkward_rows()]))
    before = children()
    with open_audience(path) as file:
        found = AudienceReader(file, str(path))
        batches = staged_batches(found, spec_of(found, path), 2)
        next(batches)
        assert len(children() - before) == 2
        batches.close()
    assert children() == before


def test_small_files_and_single_cores_get_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert parallel_check.worker_count(parallel_check.WORKERS_BYTES_MIN - 1) == 0
    assert parallel_check.worker_count(parallel_check.WORKERS_BYTES_MIN) == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert parallel_check.worker_count(1 << 40) == 0
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert parallel_check.worker_count(1 << 40) == parallel_check.WORKERS_MAX


def test_long_literals_make_no_large_batches(
    write_audience: WriteAudience, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 1 << 20)
    path = write_audience("phone\n" + "".join(f"{PHONE + row}\n" for row in range(10_000)))
    with open_audience(path) as file:
        found = AudienceReader(file, str(path))
        spec = CheckSpec(found.header, str(path), RowRules(params=("=" + "x" * 1_000,)), found.dialect)
        with closing(staged_batches(found, spec, 0)) as batches:
            sizes = [(batch.rows, len(batch.recipients)) for batch in batches]
    assert sum(rows for rows, _ in sizes) == 10_000
    assert max(size for _, size in sizes) < 1.2 * parallel_check.STAGED_CHARACTERS
