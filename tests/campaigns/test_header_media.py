"""Header media of each row: what is refused, what is uploaded, and what a campaign keeps of it."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.frozen import header_files
from drumbeat.campaigns.reject import REASONS
from drumbeat.campaigns.results.export import COLUMNS, export_columns, export_rows
from drumbeat.engine.core.media_limits import MEGABYTE
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.sending.header_file_uploads import OpenUploads
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import everything, recipients
from tests.kit.rows import add_template

JPEG, PNG = b"\xff\xd8\xff\xe0" + bytes(20), b"\x89PNG\r\n\x1a\n" + bytes(20)
DEFINITION = {
    "components": [
        {"type": "HEADER", "format": "IMAGE"},
        {"type": "BODY", "text": "Hi {{name}}"},
        {"type": "BUTTONS", "buttons": [{"type": "COPY_CODE"}, {"type": "QUICK_REPLY", "text": "No"}]},
    ],
    "parameter_format": "NAMED",
}


@dataclass(slots=True)
class Uploads:
    """Stands for the service: notes what is uploaded. `refusal`: what it raises instead."""

    made: list[tuple[str, str, str]] = field(default_factory=list)
    refusal: Exception | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Callable[[str, Path, str], Awaitable[str]]]:
        yield self._upload

    async def _upload(self, phone_number_id: str, file: Path, mime_type: str) -> str:
        if self.refusal is not None:
            raise self.refusal
        self.made.append((phone_number_id, file.name, mime_type))
        return f"media-{len(self.made)}"


@pytest.fixture
def uploads() -> Uploads:
    return Uploads()


@pytest.fixture
async def offers(ready: str, pool: Pool, tmp_path: Path) -> str:
    """A database with the template `offer`, and pictures beside the audience."""
    await add_template(pool, "offer", DEFINITION)
    (tmp_path / "pictures").mkdir()
    for name, content in (("a.jpg", JPEG), ("b.png", PNG), ("copy of a.jpg", JPEG), ("note.png", b"text")):
        (tmp_path / "pictures" / name).write_bytes(content)
    (tmp_path / "pictures" / "empty.png").touch()
    with (tmp_path / "pictures" / "large.jpg").open("wb") as large:
        large.write(JPEG)
        os.truncate(large.fileno(), 5 * MEGABYTE + 1)
    return ready


def spec_of(audience: Path, **others: Any) -> CampaignSpec:
    spec = CampaignSpec(
        name="spring",
        template="offer",
        language="en",
        audience=audience,
        number=["1001", "1002"],
        param=["name:name", "button-0:code"],
    )
    return replace(spec, **{"header_column": "picture", **others})


def rows(*pictures: str) -> str:
    cells = (f"{PHONE + at},Ana,C{at},{picture}" for at, picture in enumerate(pictures))
    return "phone,name,code,picture\n" + "\n".join(cells) + "\n"


BAD: dict[str, tuple[str, str]] = {
    "an empty cell": (" ", "media_empty"),
    "a link without TLS": ("http://files.example/a.jpg", "media_link"),
    "another scheme": ("file:///etc/passwd", "media_link"),
    "a file that is not there": ("pictures/none.jpg", "media_missing"),
    "a directory": ("pictures", "media_unreadable"),
    "a path that leads out": ("../../etc/passwd", "media_outside"),
    "an absolute path": ("/etc/passwd", "media_outside"),
    "a text that is named a picture": ("pictures/note.png", "media_type"),
    "too large a picture": ("pictures/large.jpg", "media_size"),
    "a file of no bytes": ("pictures/empty.png", "media_type"),
    "a line break": ('"pictures/a.jpg\n2"', "media_missing"),
}


async def test_bad_cells_are_rejected_rows_with_column_and_cure(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads
) -> None:
    audience = write_audience(rows("pictures/a.jpg", *(cell for cell, _ in BAD.values())))
    created = await create_campaign(offers, spec_of(audience), open_uploads=uploads.open)
    assert (created.counts.recipients, created.counts.rejected) == (1, len(BAD))
    assert created.audience.rejects_path is not None
    listed = created.audience.rejects_path.read_text("utf-8-sig").splitlines()[1:]
    text = "\n".join(listed)
    for line, (cell, code) in enumerate(BAD.values(), 3):
        assert f"{line},{code},picture," in text, cell
    assert all(";" in REASONS[code] or ":" in REASONS[code] for _, code in BAD.values())
    assert [name for _, name, _ in uploads.made] == ["a.jpg", "a.jpg"]


async def test_links_that_lead_in_a_circle_and_files_outside_behind_a_link(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads, tmp_path: Path
) -> None:
    (tmp_path / "pictures" / "circle.png").symlink_to("circle.png")
    (tmp_path / "pictures" / "shadow.png").symlink_to("/etc/hostname")
    audience = write_audience(rows("pictures/circle.png", "pictures/shadow.png", "https://x.example/a.png"))
    created = await create_campaign(offers, spec_of(audience), open_uploads=uploads.open)
    assert created.audience.reject_codes == {"media_unreadable": 1, "media_outside": 1}
    assert uploads.made == []


async def test_empty_names_and_codes_are_rejected_too(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads
) -> None:
    audience = write_audience(
        f"phone,name,code,picture,no\n{PHONE},,C,pictures/a.jpg,n\n{PHONE + 1},A, ,pictures/a.jpg,n\n"
        f"{PHONE + 2},A,C,pictures/a.jpg,\n{PHONE + 3},A,C,pictures/a.jpg,n-3\n"
    )
    params = ("name:name", "button-0:code", "button-1:no")
    created = await create_campaign(offers, spec_of(audience, param=params), open_uploads=uploads.open)
    assert created.audience.reject_codes == {"variable_empty": 3}
    assert created.audience.rejects_path is not None
    found = [
        row.split(",")[:3] for row in created.audience.rejects_path.read_text("utf-8-sig").splitlines()[1:]
    ]
    assert found == [[str(at + 2), "variable_empty", each] for at, each in enumerate(("name", "code", "no"))]
    (recipient,) = await recipients(pool)
    assert recipient["variables"] == ["pictures/a.jpg", "A", "C", "n-3"]


async def test_a_content_is_uploaded_once_for_each_number_whatever_its_names(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads, tmp_path: Path
) -> None:
    link = "https://files.example/c.jpg"
    named = (" pictures/a.jpg", "pictures/b.png", "pictures/copy of a.jpg", "pictures/a.jpg", link)
    audience = write_audience(rows(*named))
    await create_campaign(offers, spec_of(audience), open_uploads=uploads.open)
    kinds = sorted((number, mime_type) for number, _, mime_type in uploads.made)
    assert kinds == [(number, f"image/{form}") for number in ("1001", "1002") for form in ("jpeg", "png")]
    assert [row["variables"][0] for row in await recipients(pool)] == [cell.strip() for cell in named]
    files = await pool.fetch("SELECT reference, path, sha256 FROM campaign_files ORDER BY reference")
    assert [file["reference"] for file in files] == sorted({cell.strip() for cell in named} - {link})
    assert [Path(file["path"]) for file in files] == [tmp_path / file["reference"] for file in files]
    again = spec_of(audience, name="again")
    await create_campaign(offers, again, open_uploads=uploads.open)
    assert len(uploads.made) == 4, "the second campaign uses the same uploads"
    await pool.execute("UPDATE uploads SET expires_at = now() + interval '1 day'")
    await create_campaign(offers, replace(again, name="later"), open_uploads=uploads.open)
    assert len(uploads.made) == 8, "ids that end soon are not used"


async def test_one_file_for_all(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads, tmp_path: Path
) -> None:
    audience = write_audience(rows("", "", ""))
    fixed = spec_of(
        audience, header_column=None, header_file=Path("pictures/b.png"), header_directory=tmp_path
    )
    await create_campaign(offers, fixed, open_uploads=uploads.open)
    assert [(number, name) for number, name, _ in sorted(uploads.made)] == [
        ("1001", "b.png"),
        ("1002", "b.png"),
    ]
    assert {row["variables"][0] for row in await recipients(pool)} == {"pictures/b.png"}


@pytest.mark.parametrize(
    ("file", "heading", "shown"),
    [
        (None, "picture", "pictures/b.png"),
        ("pictures/b.png", "variable_1", "b.png"),
        ("{directory}/pictures/b.png", "variable_1", "b.png"),
    ],
)
async def test_an_export_has_each_value_below_its_heading_and_no_path_of_this_machine(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads, tmp_path: Path,
    file: str | None, heading: str, shown: str,
) -> None:  # fmt: skip
    audience = write_audience(rows("pictures/b.png"))
    spec = spec_of(audience)
    if file is not None:
        named = Path(file.format(directory=tmp_path))
        spec = replace(spec, header_column=None, header_file=named, header_directory=tmp_path)
    campaign_id = (await create_campaign(offers, spec, open_uploads=uploads.open)).campaign_id

    async def exported() -> dict[str, str]:
        columns = await export_columns(pool, campaign_id)
        ((row,),) = [page async for page in export_rows(pool, campaign_id)]
        return dict(zip(columns[len(COLUMNS) :], row[len(COLUMNS) :], strict=True))

    assert await exported() == {heading: shown, "name": "Ana", "variable_3": "C0"}, "code is taken"


async def test_the_content_of_the_one_file_is_part_of_the_campaign(
    offers: str, write_audience: WriteAudience, uploads: Uploads, tmp_path: Path
) -> None:
    audience = write_audience(rows("", ""))
    fixed = spec_of(
        audience, header_column=None, header_file=Path("pictures/b.png"), header_directory=tmp_path
    )
    await create_campaign(offers, fixed, open_uploads=uploads.open)
    (tmp_path / "other.png").write_bytes(PNG)
    same = replace(fixed, header_column=None, header_file=Path("other.png"))
    assert (await create_campaign(offers, same, open_uploads=uploads.open)).unchanged
    (tmp_path / "other.png").write_bytes(PNG + b"!")
    with pytest.raises(ConfigurationError, match="content of header_file has changed"):
        await create_campaign(offers, same, open_uploads=uploads.open)
    with pytest.raises(ConfigurationError, match="header_column was not given and is picture"):
        await create_campaign(offers, spec_of(audience), open_uploads=uploads.open)


@pytest.mark.parametrize(("name", "code"), [("note.png", "media_type"), ("large.jpg", "media_size")])
async def test_the_one_file_is_checked_before_anything_is_stored(
    offers: str, pool: Pool, write_audience: WriteAudience, tmp_path: Path, name: str, code: str
) -> None:
    file = Path("pictures", name)
    fixed = spec_of(write_audience(rows("")), header_column=None, header_file=file, header_directory=tmp_path)
    with pytest.raises(UsageError, match=f"header_file .*{name} cannot be sent as image: ") as refused:
        await create_campaign(offers, fixed)
    assert REASONS[code] in str(refused.value)
    assert await everything(pool) == dict.fromkeys(await everything(pool), 0)


async def test_a_dry_run_uploads_nothing(offers: str, write_audience: WriteAudience) -> None:
    spec = spec_of(write_audience(rows("pictures/a.jpg", "none.png")))
    created = await create_campaign(offers, spec, dry_run=True)
    assert (created.counts.recipients, created.audience.reject_codes) == (1, {"media_missing": 1})


async def test_a_refused_upload_leaves_no_campaign_and_the_next_create_tries_again(
    offers: str, pool: Pool, write_audience: WriteAudience, uploads: Uploads
) -> None:
    spec = spec_of(write_audience(rows("pictures/a.jpg")))
    uploads.refusal = ConfigurationError("the service refuses")
    open_uploads: OpenUploads = uploads.open
    with pytest.raises(ConfigurationError, match="the service refuses"):
        await create_campaign(offers, spec, open_uploads=open_uploads)
    assert await everything(pool) == dict.fromkeys(await everything(pool), 0)
    uploads.refusal = None
    await create_campaign(offers, spec, open_uploads=open_uploads)
    assert len(uploads.made) == 2


async def test_too_many_files_are_refused_with_the_way_out(
    offers: str,
    pool: Pool,
    write_audience: WriteAudience,
    uploads: Uploads,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(header_files, "UPLOADS_MAX", 3)
    spec = spec_of(write_audience(rows("pictures/a.jpg", "pictures/b.png")))
    with pytest.raises(
        ConfigurationError, match=r"2 files for 2 numbers; 3 uploads .*HTTPS links"
    ) as refused:
        await create_campaign(offers, spec, open_uploads=uploads.open)
    assert refused.value.exit_code == 78
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 0


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"header_column": "foto"}, 'no column "foto".*the columns are'),
    ({"param": ["name:name"]}, "leaves out button 0 code.*add param button-0:COLUMN"),
    ({"param": ["name:name", "button-0:code", "button-2:code"]}, 'no placeholder "button-2"'),
    ({"header_column": None}, "needs one image in its header.*header_column"),
]


@pytest.mark.parametrize(("changes", "says"), OPTIONS)
async def test_options_that_do_not_fit(
    offers: str, pool: Pool, write_audience: WriteAudience, changes: dict[str, Any], says: str
) -> None:
    spec = spec_of(write_audience(rows("pictures/a.jpg")), **changes)
    with pytest.raises((UsageError, ConfigurationError), match=says):
        await create_campaign(offers, spec)
    assert await everything(pool) == dict.fromkeys(await everything(pool), 0)


async def test_a_one_file_that_is_not_there(
    offers: str, pool: Pool, write_audience: WriteAudience, tmp_path: Path
) -> None:
    fixed = spec_of(
        write_audience(rows("")), header_column=None, header_file=Path("none.jpg"), header_directory=tmp_path
    )
    with pytest.raises(ConfigurationError, match=r"cannot be read: No such file.*none.jpg.*: put it there"):
        await create_campaign(offers, fixed)
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 0
