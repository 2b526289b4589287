"""`drumbeat doctor`: is everything there that sending needs?"""

from __future__ import annotations

from dataclasses import asdict

import typer
import uvloop

from campaigns.cli.edge import print_json, with_database
from campaigns.cli.options import Json
from campaigns.doctor import (
    Finding,
    failed,
    look_at_database,
    look_at_disk,
    look_at_machine,
    look_at_secrets,
    look_at_service,
    look_at_variables,
    worst_exit_code,
)
from engine.errors import DrumbeatError
from engine.process.settings import Settings, load_settings

app = typer.Typer(add_completion=False)


@app.command()
def doctor(json: Json = False) -> None:
    """Check settings, database and service; say what is wrong and what to do. Sends nothing.

    It starts the embedded Postgres and migrates the database if necessary.
    """
    findings = _look(load_settings())
    if json:
        print_json({"schema": 1, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            remedy = f": {finding.remedy}" if finding.remedy else ""
            typer.echo(f"{finding.level:<4}  {finding.subject}: {finding.found}{remedy}")
    raise typer.Exit(worst_exit_code(findings))


def _look(settings: Settings) -> list[Finding]:
    findings = look_at_machine(settings) + look_at_variables()
    if worst_exit_code(findings):
        return findings
    findings += _database()
    findings += look_at_disk(settings)
    findings += uvloop.run(look_at_service(settings))
    return findings + look_at_secrets(settings)


def _database() -> list[Finding]:
    try:
        return with_database(look_at_database)
    except DrumbeatError as error:
        return [failed("database", error)]
