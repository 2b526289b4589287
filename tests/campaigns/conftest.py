"""What a campaign needs: a template of two placeholders, two numbers, a directory, ten people."""

from collections.abc import Callable
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.open import encoding, reader
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.cut import range_size
from drumbeat.campaigns.planning.staged import staging
from drumbeat.engine.store.database import Pool
from tests.kit.rows import add_template

DEFINITION = {
    "components": [{"type": "BODY", "text": "Hello {{1}}, your order {{2}} is on its way"}],
    "parameter_format": "POSITIONAL",
}
WriteAudience = Callable[..., Path]
PHONE = 5511960000000  # and those above it


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lists of rejects go to the working directory by default."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write_audience(tmp_path: Path) -> WriteAudience:
    """Writes text, or bytes as they are, to a file of the test's own."""

    def write(content: str | bytes, name: str = "audience.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.fixture
async def ready(pool: Pool, database_url: str) -> str:
    """The URL of a database that knows the template `order` in English and Portuguese, and two numbers."""
    await add_template(pool, "order", DEFINITION, "en", "pt_BR")
    await add_template(pool, "promo", DEFINITION, status="PAUSED")
    await pool.executemany("INSERT INTO numbers (phone_number_id) VALUES ($1)", [("1001",), ("1002",)])
    return database_url


@pytest.fixture
def spec(write_audience: WriteAudience) -> CampaignSpec:
    rows = [f"{PHONE + row},Name {row},A{row}" for row in range(10)]
    path = write_audience("phone,name,order\n" + "\n".join(rows) + "\n")
    return CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=path,
        number=["1001", "1002"],
        param=["name", "order"],
    )


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same arithmetic with hundreds of rows."""
    monkeypatch.setattr(range_size, "RANGE_SIZE", 10)
    monkeypatch.setattr(staging, "CHUNK_ROWS", 50)
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 700)
    monkeypatch.setattr(reader, "HEAD_CHARACTERS", 100)
