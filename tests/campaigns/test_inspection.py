"""The check of a file before a campaign: its counts, and duplicates found in bounded memory."""

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.campaigns.audience.check import duplicate_counter, inspection
from drumbeat.campaigns.audience.check.duplicate_counter import DuplicateCounter
from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.progress import PlanProgress
from drumbeat.engine.errors import ConfigurationError, NotReady
from tests.campaigns.conftest import WriteAudience

GOOD = "5511987654321"


def inspected(path: Path) -> Inspection:
    return inspect_audience(path, rejects_path=path.with_name("bad.csv"), rules=RowRules(params=("name",)))


def test_it_counts_what_a_plan_would(write_audience: WriteAudience) -> None:
    rows = [f"{GOOD},Ana", GOOD, f"+{GOOD},Bob", "551199,Eve"] + ["x,y"] * 20
    found = inspected(write_audience("phone,name\n" + "\n".join(rows), encoding="utf-16"))

    assert (found.rows, found.good, found.duplicates, found.rejected) == (24, 2, 1, 22)
    assert (found.encoding, found.encoding_guessed, found.delimiter) == ("UTF-16 LE", False, ",")
    assert found.columns == ("phone", "name")
    assert found.reject_codes == {"variable_empty": 1, "phone_too_short": 1, "phone_malformed": 20}


def test_a_row_that_is_bad_is_no_repeat(write_audience: WriteAudience) -> None:
    assert inspected(write_audience(f"phone,name\n{GOOD},\n{GOOD},Ana\n")).duplicates == 0


def test_another_spelling_of_the_same_person_is_a_repeat(write_audience: WriteAudience) -> None:
    rows = "541123456789,Ana\n5491123456789,Ana\n54 11 15 2345 6789,Ana\n"
    assert inspected(write_audience(f"phone,name\n{rows}")).duplicates == 2


def test_a_guess_is_reported_where_no_name_depends_on_it(write_audience: WriteAudience) -> None:
    found = inspected(write_audience(f"phone,name,city\n{GOOD},Ana,São Paulo\n", encoding="cp1252"))
    assert (found.encoding, found.encoding_guessed) == ("Windows-1252", True)


def test_a_file_that_is_still_written_is_refused(write_audience: WriteAudience) -> None:
    path = write_audience(f"phone,name\n{GOOD},Ana\n")

    def write_on(_: PlanProgress) -> None:
        with path.open("a") as file:
            file.write("more\n")

    with pytest.raises(NotReady, match="changed while it was read"):
        inspect_audience(path, rejects_path=path.with_name("bad.csv"), progress=write_on)


@given(st.lists(st.lists(st.integers(10**6, 10**6 + 40) | st.integers(10**6, 10**15 - 1))))
def test_repeats_are_counted_exactly(batches: list[list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicate_counter, "PARTS", 3)
        patch.setattr(duplicate_counter, "PART_PHONES", 2)
        with DuplicateCounter() as found:
            for batch in batches:
                found.add(batch)
            counted = found.count()
    assert counted == sum(times - 1 for times in Counter(chain(*batches)).values())


def test_many_phones_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    with DuplicateCounter() as found:
        held = 0
        for start in range(0, 3_000_000, 20_000):
            found.add(range(10**12 + start, 10**12 + start + 20_000))
            held = max(held, sum(map(len, found._parts)))
        found.add(range(10**12, 10**12 + 1_000))
        assert found.count() == 1_000
    assert held < 1_100_000


def test_a_lack_of_space_for_the_check_is_reported(
    monkeypatch: pytest.MonkeyPatch, write_audience: WriteAudience
) -> None:
    monkeypatch.setattr(duplicate_counter, "PART_PHONES", 1)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(
        ConfigurationError, match=r"cannot be counted, because a temporary file failed: No space left.*TMPDIR"
    ):
        inspected(write_audience(f"phone,name\n{GOOD},Ana\n"))
    assert inspection.DuplicateCounter is DuplicateCounter


def full(**_: object) -> None:
    raise OSError(28, "No space left on device")
