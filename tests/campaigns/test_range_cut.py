"""A chunk's batches cut into ranges: every row once, in order, with the next seq."""

from hypothesis import given
from hypothesis import strategies as st

from drumbeat.campaigns.audience.check.row_check import CheckedBatch
from drumbeat.campaigns.audience.check.staged_batch import encode_for_copy
from drumbeat.campaigns.planning.cut.range_cut import COLUMNS, RangeCut
from drumbeat.campaigns.planning.cut.range_size import plan_ranges

PHONE = 5511960000000


def staged(lines: list[int]) -> bytes:
    phones = [PHONE + line for line in lines]
    return encode_for_copy(CheckedBatch(0, lines, phones, [("Ana",)] * len(lines), [])).recipients


def written(text: bytes) -> list[dict[str, str]]:
    assert text.endswith(b"\n") or not text
    return [dict(zip(COLUMNS, row.split("\t"), strict=True)) for row in text.decode().splitlines()]


def keys_of(rows: list[dict[str, str]]) -> list[tuple[int, int, int]]:
    return [(int(row["line"]), int(row["range_id"]), int(row["seq"])) for row in rows]


def test_ranges_continue_from_batch_to_batch() -> None:
    cut = RangeCut([70, 80], [3, 3])

    assert keys_of(written(cut.recipients(staged([2, 3])))) == [(2, 70, 1), (3, 70, 2)]
    assert keys_of(written(cut.recipients(staged([5, 9])))) == [(5, 70, 3), (9, 80, 1)]


def test_a_row_is_written_as_it_was_staged() -> None:
    assert (
        RangeCut([70], [3]).recipients(staged([2])) == f'70\t1\t\\N\t2\t{PHONE + 2}\t0\t{{"Ana"}}\n'.encode()
    )


def test_duplicates_are_left_out_and_suppressed_rows_are_skipped() -> None:
    cut = RangeCut([70, 80], [2, 2], duplicates=[3, 9], suppressed=[2, 3, 7, 11])

    rows = written(cut.recipients(staged([2, 3, 4]))) + written(cut.recipients(staged([7, 9, 11])))

    assert keys_of(rows) == [(2, 70, 1), (4, 70, 2), (7, 80, 1), (11, 80, 2)]
    assert [row["skip_reason"] for row in rows] == ["suppressed", "\\N", "suppressed", "suppressed"]


def test_a_batch_of_duplicates_writes_nothing() -> None:
    assert RangeCut([70], [2], duplicates=[2, 3]).recipients(staged([2, 3])) == b""


lines_of_a_chunk = st.lists(st.integers(2, 400), unique=True, min_size=1).map(sorted)


@given(lines_of_a_chunk, st.data())
def test_any_chunk_is_written_once_and_in_order(lines: list[int], data: st.DataObject) -> None:
    some = st.lists(st.sampled_from(lines), unique=True).map(sorted)
    duplicates, suppressed, ends = data.draw(some), data.draw(some), data.draw(some)
    size = data.draw(st.integers(1, 50))
    recipients = [line for line in lines if line not in duplicates]
    canary = data.draw(st.integers(0, 60))
    [sizes] = plan_ranges([len(recipients)], size, canary, numbers=data.draw(st.integers(1, 4))).sizes
    cut = RangeCut(range(len(sizes)), sizes, duplicates, suppressed)

    rows = []
    for above, end in zip([0, *ends], [*ends, lines[-1]], strict=True):
        batch = [line for line in lines if above < line <= end]
        if batch:
            rows += written(cut.recipients(staged(batch)))

    places = [(ordinal, seq + 1) for ordinal, size in enumerate(sizes) for seq in range(size)]
    assert keys_of(rows) == [(line, *place) for line, place in zip(recipients, places, strict=True)]
    skipped = [int(row["line"]) for row in rows if row["skip_reason"] == "suppressed"]
    assert skipped == [line for line in suppressed if line not in duplicates]
