"""Output files that a user named: no link is followed, and a device or pipe is written to directly."""

import os
import stat
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.reject_file import RejectFile
from drumbeat.campaigns.audience.suppression_list import import_suppressions
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.output.output_file import output_file
from drumbeat.campaigns.reject import Reject
from drumbeat.campaigns.results.export_files import ExportForm
from drumbeat.campaigns.results.export_writing import write_export
from drumbeat.campaigns.stored_recipients import EVERYBODY
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool

BAD_ROWS = "phone\n12\n"
AUDIENCE = Path("people.csv")


def bad_row() -> Reject:
    return Reject(2, "phone_too_short", "phone", "12")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


class Reading:
    """All bytes of a named pipe until its writers close it."""

    def __init__(self, pipe: Path) -> None:
        self._text = ""
        self._thread = Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: Path) -> None:
        self._text = pipe.read_text("utf-8-sig")

    @property
    def text(self) -> str:
        self._thread.join(30)
        return self._text


def test_an_export_goes_through_a_pipe_which_stays_one(pipe: Path) -> None:
    reading = Reading(pipe)
    with opened(pipe) as file:
        file.write("phone\n")
    assert reading.text == "phone\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(pipe.parent.iterdir()) == [pipe]


def test_a_database_that_does_not_answer_is_no_fault_of_the_export(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError), opened(tmp_path / "all.csv"):
        raise TimeoutError
    assert list(tmp_path.iterdir()) == []


async def test_a_disk_that_fills_up_while_rows_are_written_is(monkeypatch: pytest.MonkeyPatch) -> None:
    async def pages(*_: object) -> AsyncIterator[list[list[str]]]:
        yield [["5511987654321"]] * 10_000

    async def columns(*_: object) -> list[str]:
        return ["phone"]

    async def kept(*_: object) -> None:
        pass

    module = "drumbeat.campaigns.results.export_writing"
    for name, stand_in in (("export_values", pages), ("export_columns", columns), ("require_kept", kept)):
        monkeypatch.setattr(f"{module}.{name}", stand_in)
    full = Path("/dev/full")
    campaign: Any = SimpleNamespace(campaign_id=1, name="spring")
    with (
        pytest.raises(ConfigurationError, match=r"No space left.*/dev/full.*--output"),
        opened(full) as file,
    ):
        await write_export(
            None,
            campaign,
            file.buffer,
            ExportForm.CSV,
            EVERYBODY,
            writing=partial(writing, full),  # type: ignore[arg-type]
        )


def test_rejects_go_through_a_pipe_which_stays_one(pipe: Path) -> None:
    reading = Reading(pipe)
    with RejectFile(pipe, AUDIENCE) as rejects:
        rejects.add([bad_row()])
        assert rejects.publish() == pipe
    assert "phone_too_short" in reading.text
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_reader_of_a_pipe_sees_its_end_where_nothing_is_rejected(pipe: Path) -> None:
    reading = Reading(pipe)
    with RejectFile(pipe, AUDIENCE) as rejects:
        assert rejects.publish() is None
    assert reading.text == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_full_device_is_a_refusal_and_stays_a_device(tmp_path: Path) -> None:
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 7))
        device.open("wb").close()
    except PermissionError:
        pytest.skip("no right to make or to open devices here")
    with pytest.raises(ConfigurationError, match=f"No space left.*{device}"), opened(device) as file:
        file.write("phone\n")
    with pytest.raises(ConfigurationError, match="with rejects"), RejectFile(device, AUDIENCE) as rejects:
        rejects.add([bad_row()])
        rejects.publish()
    assert stat.S_ISCHR(device.stat().st_mode)


def test_an_export_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    path.write_text("the last one")
    with pytest.raises(RuntimeError), opened(path) as file:
        file.write("half of it")
        raise RuntimeError
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [(path.name, "the last one")]


@pytest.mark.parametrize("kept", ["an older one\n", None])
def test_a_link_is_refused_and_what_it_names_stays(tmp_path: Path, kept: str | None) -> None:
    (tmp_path / "kept").mkdir()
    link, file = tmp_path / "link.csv", tmp_path / "kept" / "all.csv"
    if kept is not None:
        file.write_text(kept)
    link.symlink_to(file)
    with pytest.raises(ConfigurationError, match=rf"a link.*link\.csv.*{file}"), opened(link):
        pytest.fail("it was opened")
    with pytest.raises(ConfigurationError, match="a link"), RejectFile(link, AUDIENCE) as rejects:
        rejects.add([bad_row()])
    assert link.readlink() == file
    assert [path.read_text() for path in file.parent.iterdir()] == [kept] * (kept is not None)


def test_a_link_that_appears_while_the_file_is_written_is_replaced_and_not_followed(tmp_path: Path) -> None:
    path, other = tmp_path / "all.csv", tmp_path / "other.csv"
    other.write_text("other\n")
    with opened(path) as file:
        file.write("phone\n")
        path.symlink_to(other)
    assert not path.is_symlink()
    assert (path.read_text(), other.read_text()) == ("phone\n", "other\n")


def test_a_link_to_a_pipe_is_refused_too(pipe: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(pipe)
    with pytest.raises(ConfigurationError, match="a link"), opened(tmp_path / "link"):
        pytest.fail("it was opened")


def test_a_link_in_the_process_file_system_is_followed_to_streams_alone(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "all.csv")
    with pytest.raises(ConfigurationError, match="a link"), opened(Path("/proc/self/cwd/link.csv")):
        pytest.fail("it was opened")


def test_drafts_that_are_links_or_pipes_hold_nobody_up(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("other\n")
    os.utime(other, (0, 0))
    os.mkfifo(tmp_path / ".r.csv.0123abcd")
    (tmp_path / ".r.csv.4567cdef").symlink_to(other)
    with opened(tmp_path / "r.csv") as file:
        file.write("phone\n")
    assert other.read_text() == "other\n"
    assert (tmp_path / ".r.csv.4567cdef").is_symlink()


def test_what_is_open_already_is_never_replaced() -> None:
    assert output_file(Path("/dev/stdout")).is_direct
    assert not output_file(Path("all.csv")).is_direct


@pytest.mark.parametrize("name", ["people.csv", "./people.csv", "link.csv", "hard.csv"])
async def test_the_file_that_is_read_is_never_overwritten(tmp_path: Path, pool: Pool, name: str) -> None:
    audience = tmp_path / "people.csv"
    audience.write_text(BAD_ROWS)
    (tmp_path / "link.csv").symlink_to(audience)
    (tmp_path / "hard.csv").hardlink_to(audience)
    with pytest.raises(UsageError, match="with rejects"):
        inspect_audience(audience, rejects_path=Path(name))
    async with pool.acquire() as connection:
        with pytest.raises(UsageError, match="with rejects"):
            await import_suppressions(connection, audience, reason="x", rejects_path=Path(name))
    assert audience.read_text() == BAD_ROWS


def test_what_a_killed_writer_left_goes_and_what_is_still_written_stays(tmp_path: Path) -> None:
    path, other = tmp_path / "r.csv", tmp_path / ".q.csv.0123abcd"
    written = output_file(path)
    descriptor = written.open()
    left, young = tmp_path / ".r.csv.0123abcd", tmp_path / ".r.csv.4567cdef"
    for draft in (left, young, other):
        draft.write_text("phone\n")
    for draft in (left, other, written.draft):
        os.utime(draft, (0, 0))

    with RejectFile(path, AUDIENCE) as rejects:
        rejects.add([bad_row()])
        rejects.publish()

    assert sorted(tmp_path.iterdir()) == sorted([path, other, young, written.draft])
    os.close(descriptor)
