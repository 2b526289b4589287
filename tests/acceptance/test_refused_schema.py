"""A process whose schema was taken away while it was cut off from the database stops, and says why."""

from pathlib import Path

import pytest

from drumbeat.engine.store.database import Connection
from tests.acceptance.conftest import Scene
from tests.cli.processes import until

PROGRAMS = {
    "worker": ("worker",),
    "receiver": ("webhooks", "serve", "--port", "0"),
    "console": ("console", "serve", "--port", "0", "--metrics-port", "0"),
}
CONNECTED = "FROM pg_stat_activity WHERE application_name LIKE 'drumbeat ' || $1 || ' %'"


@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_process_that_the_schema_no_longer_serves_ends_with_the_reason(
    scene: Scene, other: Connection, tmp_path: Path, name: str
) -> None:
    log = tmp_path / f"{name}.log"
    process = scene.drumbeat.start(*PROGRAMS[name], log=log)
    ready = {"worker": lambda: "number_taken" in log.read_text()}.get(name)
    if ready is None:
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
    else:
        until(ready, "it works")
    sql = "INSERT INTO schema_migrations (number, name, checksum, requires) VALUES (9, 'less', '', 9)"
    await other.execute(sql)
    await other.fetch(f"SELECT pg_terminate_backend(pid) {CONNECTED}", str(process.pid))
    assert process.wait(timeout=60) == 78, log.read_text()
    assert "needs a version of Drumbeat that knows schema 0009" in log.read_text()
