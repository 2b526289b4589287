"""`drumbeat emulator ledger`: what an emulated service accepted, by number and second, and whom twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import aiohttp
import orjson
import typer

from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import error_part, print_json, print_rows
from drumbeat.campaigns.cli.task_runner import run_loop
from drumbeat.campaigns.demo.ledger_counts import LedgerCounts, NumberCounts
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.api.trust import CA_REMEDY, is_distrusted, trust_of
from drumbeat.engine.errors import ConfigurationError, Incomplete, Unreachable
from drumbeat.engine.process.settings import Settings, load_settings
from drumbeat.engine.system_error import system_error_text

CHUNK_BYTES = 1 << 20
ANSWER_S_MAX = 10.0  # between two parts of the ledger
SHOWN_MAX = 20

app = typer.Typer(add_completion=False)


@app.command()
def ledger(
    by_second: Annotated[
        bool, typer.Option("--by-second", help="Show the messages of each number in each second.")
    ] = False,
    twice: Annotated[
        bool, typer.Option("--twice", help="Look for people who got a message twice; exit with 3 if any did.")
    ] = False,
    json: Json = False,
) -> None:
    """Count what the emulated service at DRUMBEAT_BASE_URL accepted: an independent check of a send.

    A person who is in two campaigns got two messages, and none of them twice.
    """
    counts = run_loop(_counted(load_settings(), LedgerCounts(counts_recipients=twice)))
    problem = None
    if counts.twice:
        problem = Incomplete(f"{pluralise(len(counts.twice), 'person', 'people')} got a message twice")
    if json:
        print_json({**_as_json(counts, by_second=by_second, twice=twice), **error_part(problem)})
    else:
        _print(counts, by_second=by_second, twice=twice)
    if problem is not None:
        raise problem


async def _counted(settings: Settings, counts: LedgerCounts) -> LedgerCounts:
    async for line in _lines(settings):
        counts.add(orjson.loads(line))
    return counts


async def _lines(settings: Settings) -> AsyncIterator[bytes]:
    url = settings.required("base_url").rstrip("/")
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=ANSWER_S_MAX, sock_read=ANSWER_S_MAX)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(
                f"{url}/_emulator/ledger?format=ndjson", ssl=trust_of(settings.ca_file) or True
            ) as response,
        ):
            if response.status != 200:
                raise ConfigurationError(
                    "there is no emulator", where=url, remedy="give the address of `drumbeat emulator serve`"
                )
            rest = b""
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    yield line
            if rest:
                yield rest
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        remedy = CA_REMEDY if is_distrusted(error) else "start it with `drumbeat emulator serve`"
        found = f"the emulator does not answer: {system_error_text(error)}"
        raise Unreachable(found, where=url, remedy=remedy) from error


def _as_json(counts: LedgerCounts, *, by_second: bool, twice: bool) -> dict[str, Any]:
    numbers = [
        {
            "phone_number_id": name,
            "messages": number.messages,
            "most_in_a_second": number.most_in_a_second,
            **({"by_second": _filled(number)} if by_second else {}),
        }
        for name, number in sorted(counts.numbers.items())
    ]
    found: dict[str, Any] = {"schema": 1, "messages": counts.messages, "numbers": numbers}
    return {**found, "twice": counts.twice} if twice else found


def _filled(number: NumberCounts) -> list[int]:
    """Return the counts from the first second of the ledger to the last one of the number."""
    return [number.by_second[second] for second in range(max(number.by_second) + 1)]


def _print(counts: LedgerCounts, *, by_second: bool, twice: bool) -> None:
    names, numbers = sorted(counts.numbers), counts.numbers
    print_rows(
        ("NUMBER", "MESSAGES", "MOST IN A SECOND"),
        [
            (name, f"{counts.numbers[name].messages:,}", counts.numbers[name].most_in_a_second)
            for name in names
        ],
    )
    if by_second and names:
        last = max(max(number.by_second) for number in numbers.values())
        print_rows(
            ("SECOND", *names),
            [
                (second, *(counts.numbers[name].by_second[second] for name in names))
                for second in range(last + 1)
            ],
        )
    if twice:
        typer.echo(f"twice: {len(counts.twice):,}")
        for phone, count in list(counts.twice.items())[:SHOWN_MAX]:
            typer.echo(f"  +{phone}: {count} messages")
