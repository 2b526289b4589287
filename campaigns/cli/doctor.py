"""`drumbeat doctor`: check everything that sending needs."""

from dataclasses import asdict

import typer
import uvloop

from drumbeat.campaigns.cli.options import Json
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.doctor.at_service import check_service
from drumbeat.campaigns.doctor.exposure import check_connection, check_secret_files
from drumbeat.campaigns.doctor.finding import Finding, failed, worst_exit_code
from drumbeat.campaigns.doctor.machine import (
    check_disk,
    check_machine,
    check_notifications,
    check_secrets,
    check_variables,
)
from drumbeat.campaigns.doctor.receiving import check_receiving
from drumbeat.campaigns.doctor.stored import (
    check_database,
    check_deliveries,
    check_messaging_limits,
    check_room,
)
from drumbeat.engine.errors import DrumbeatError
from drumbeat.engine.process.settings import Settings, load_settings
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)


@app.command()
def doctor(json: Json = False) -> None:
    """Check settings, database and service. Say what is wrong and what to do about it. Send nothing.

    It starts the embedded Postgres and migrates the database if necessary.
    """
    findings = _check(load_settings())
    if json:
        print_json({"schema": 1, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            typer.echo(f"{finding.level:<4}  {finding.subject}: {finding.found}{remedy}")
    raise typer.Exit(worst_exit_code(findings))


def _check(settings: Settings) -> list[Finding]:
    findings = check_machine(settings) + check_variables()
    if worst_exit_code(findings):
        return findings
    findings += _database()
    findings += check_disk(settings)
    findings += uvloop.run(check_service(settings))
    return findings + check_secrets(settings) + check_secret_files() + check_notifications(settings)


def _database() -> list[Finding]:
    try:
        return with_database(_stored)
    except DrumbeatError as error:
        return [failed("database", error)]


async def _stored(pool: Pool) -> list[Finding]:
    settings = load_settings()
    return [
        *await check_database(pool),
        *await check_connection(pool, settings),
        *await check_room(pool, settings),
        *await check_messaging_limits(pool),
        *await check_deliveries(pool),
        *await check_receiving(pool),
    ]
