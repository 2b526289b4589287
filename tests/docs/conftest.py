"""What a reader of the how-tos has: a service, a receiver, files, and campaigns that are not sent yet."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest
import xlsxwriter

from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, Service, serving
from tests.docs.reader import Reader

NUMBER = "106540352242922"
HEADER = ("phone", "first_name", "order")
ROWS = [
    ("+14155550101", "Ada", "A-1001"),
    ("+44 20 7946 0958", "Ben", "A-1002"),
    ("+49 30 901820", "Carla", "A-1003"),
    ("not a number", "Dora", "A-1004"),
    *((f"+49 151 123456{at:02}", "Emil", f"A-{1000 + at}") for at in range(5, 16)),
    ("+49 151 12345678", "Frida", "A-1016"),
]
CREATE = ("campaign", "create", "--template", "order_shipped", "--language", "en_US", "--number", NUMBER)
PARAMS = ("--param", "first_name", "--param", "order")
# As the pages name them.
DATABASE = "postgresql://reader:secret@db.example/shop"
SERVICE = "https://service.example"
SECRETS = "/run/secrets"


@dataclass(frozen=True, slots=True)
class Before:
    """What a reader has before the page. `drafts`: the names of campaigns for the people of customers.csv,
    of which `sent` are sent. `emulator`: further options. `replaced`, `exit_codes`: see `Reader`.
    """

    drafts: tuple[str, ...] = ("spring",)
    sent: tuple[str, ...] = ()
    emulator: tuple[str, ...] = ()
    exit_codes: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)


def write_files(directory: Path) -> None:
    """The files that the how-tos name."""
    table = "".join(",".join(row) + "\n" for row in [HEADER, *ROWS])
    (directory / "customers.csv").write_text(table, "utf-8")
    tongues = ("pt-br", "en", "de", "")
    by_language = [(*row, tongues[at % 4]) for at, row in enumerate(ROWS)]
    table = "".join(",".join(row) + "\n" for row in [(*HEADER, "language"), *by_language])
    (directory / "by-language.csv").write_text(table, "utf-8")
    (directory / "polish.csv").write_text(
        "phone,first_name\n+14155550101,Łukasz\n+14155550102,Žofie\n", "cp1250"
    )
    (directory / "garbled.csv").write_text("phone,first_name\n+14155550101,ZoÃ«\n", "utf-8")
    (directory / "export.csv").write_text("phone,first_name\n+14155550101,NULL\n", "utf-8")
    (directory / "staff.csv").write_text("phone\n+4930901820\n", "utf-8")
    (directory / "local.csv").write_text("phone\n415 555 0101\n479 555 0120\n", "utf-8")
    (directory / "abroad.csv").write_text("country,phone\nUS,(415) 555-0101\nDE,030 901820\n", "utf-8")
    (directory / "old-numbers.csv").write_text("phone\n+22507000001\n+22997000000\n", "utf-8")
    (directory / "mixed.csv").write_text("phone\n+4930901820\n+491713920000\n+19005550100\n", "utf-8")
    (directory / "unsubscribed.csv").write_text("phone\n+442079460958\n", "utf-8")
    (directory / "secrets").mkdir()
    for name, secret in (("token", TOKEN), ("app_secret", SECRET)):
        (directory / "secrets" / name).write_text(secret, "utf-8")
    prices = Path(__file__).parents[2] / "docs/how-to/prices.csv"
    (directory / "prices.csv").write_bytes(prices.read_bytes())
    (directory / "parcel.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(100))
    with xlsxwriter.Workbook(directory / "new-customers.xlsx") as workbook:
        sheet = workbook.add_worksheet("Kunden")
        later = ("+49 30 901821", "Gerd", "A-2001")
        for at, row in enumerate([("Telefon", "Vorname", "order"), *ROWS, later]):
            sheet.write_row(at, 0, row)


async def make_customers(database_url: str) -> None:
    """The table that a query of the how-tos reads."""
    connection = await asyncpg.connect(database_url)
    try:
        await connection.execute(
            "CREATE TABLE customers (phone text, first_name text, order_no text, active bool)"
        )
        rows = [(*row, True) for row in ROWS]
        await connection.copy_records_to_table("customers", records=rows)
    finally:
        await connection.close()


@pytest.fixture
def reader(tmp_path: Path, database_url: str) -> Iterator[Callable[[Before], Reader]]:
    """Makes the reader of a page. A customer, +14155550101, wrote to the number a moment ago."""
    settings = {
        "home": str(tmp_path / "home"),
        "database_url": database_url,
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }
    drumbeat = Drumbeat(tmp_path, settings)
    write_files(tmp_path)
    asyncio.run(make_customers(database_url))
    with ExitStack() as servers:
        servers.callback(drumbeat.close)

        def made(before: Before) -> Reader:
            callback = servers.enter_context(serving(drumbeat, "webhooks", "serve", "--port", "0"))
            usual = (
                "--port",
                "0",
                "--number",
                f"{NUMBER}:1000",
                "--status-delay",
                "0",
                "--callback",
                callback,
            )
            settings["base_url"] = servers.enter_context(
                serving(drumbeat, "emulator", "serve", *usual, *before.emulator)
            )
            Service(settings["base_url"]).post("incoming", {"from": "14155550101", "phone_number_id": NUMBER})
            drumbeat.ok("numbers", "sync")
            drumbeat.ok("templates", "sync")
            for name in before.drafts:
                drumbeat.ok(*CREATE, name, "--audience", "customers.csv", *PARAMS)
            for name in before.sent:
                drumbeat.ok("campaign", "run", name)
            ours = {DATABASE: database_url, SERVICE: settings["base_url"], SECRETS: str(tmp_path / "secrets")}
            return Reader(drumbeat, {**ours, **before.replaced}, before.exit_codes)

        yield made
