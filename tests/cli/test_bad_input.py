"""Mistakes of users: one line with what, where and what to do, the right exit code, and nothing half-done."""

import asyncio
import re
import shlex
import socket
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from drumbeat.engine.process.identity import this_process
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.leases import release_lease, take_lease
from tests.cli.conftest import write_audience
from tests.cli.processes import Done, Drumbeat, Service, until

TEMPLATE = ("--template", "order_shipped", "--language", "en_US")
PARAMS = ("--param", "name", "--param", "order")


def create(
    drumbeat: Drumbeat, audience: Path, *options: str, name: str = "spring", number: str = "1"
) -> Done:
    return drumbeat("campaign", "create", name, "--audience", audience, "--number", number, *options)


def created(drumbeat: Drumbeat, audience: Path, *options: str) -> None:
    done = create(drumbeat, audience, *TEMPLATE, *PARAMS, *options)
    assert done.exit_code == 0, done.stderr


def refused(done: Done, exit_code: int, *parts: str) -> None:
    assert done.exit_code == exit_code, done.stderr
    for part in parts:
        assert part in done.complaint
    assert done.stdout == ""


def nothing_was_created(drumbeat: Drumbeat) -> None:
    assert drumbeat.ok("campaign", "list", "--json").json["campaigns"] == []


def test_a_file_that_is_not_there(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    refused(create(drumbeat, tmp_path / "none.csv", *TEMPLATE, *PARAMS), 75, "none.csv")
    nothing_was_created(drumbeat)


def test_a_file_that_is_no_text(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    (tmp_path / "photo.csv").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40)
    refused(create(drumbeat, tmp_path / "photo.csv", *TEMPLATE, *PARAMS), 78, "photo.csv")
    nothing_was_created(drumbeat)


def test_a_column_that_is_not_there(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    done = create(drumbeat, audience, *TEMPLATE, "--param", "name", "--param", "colour")
    refused(done, 78, '"colour"', str(audience), '"order"')
    nothing_was_created(drumbeat)


def test_a_template_a_language_and_a_number_that_are_not_there(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    unknown = create(drumbeat, audience, "--template", "order_shiped", "--language", "en_US", *PARAMS)
    refused(unknown, 78, "order_shiped", "order_shipped", "templates sync")
    language = create(drumbeat, audience, "--template", "order_shipped", "--language", "de", *PARAMS)
    refused(language, 78, '"de"', "en_US", "pt_BR")
    refused(create(drumbeat, audience, *TEMPLATE, *PARAMS, number="77"), 78, "77", "numbers sync")
    nothing_was_created(drumbeat)


def test_a_template_that_is_not_approved(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    done = create(drumbeat, audience, "--template", "winter_sale", "--language", "en_US", *PARAMS)
    refused(done, 78, "winter_sale", "PAUSED", "APPROVED")
    nothing_was_created(drumbeat)


def test_a_wrong_number_of_params(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    refused(create(drumbeat, audience, *TEMPLATE, "--param", "name"), 2, "2 placeholders", "given once")
    nothing_was_created(drumbeat)


def test_nobody_to_send_to(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("phone,name,order\n12,Ana,A\n")
    refused(create(drumbeat, tmp_path / "bad.csv", *TEMPLATE, *PARAMS), 78, "nobody", "bad.rejects.csv")
    nothing_was_created(drumbeat)


def test_phones_in_another_column(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    (tmp_path / "german.csv").write_text("Telefon;name;order\n5511980000000;Ana;A\n")
    done = create(drumbeat, tmp_path / "german.csv", *TEMPLATE, *PARAMS)
    refused(done, 78, 'no column "phone"', '"Telefon"', "--phone-column")


def test_a_list_of_rejects_is_no_audience(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    """Its duplicates are people whom the campaign reaches."""
    rows = ["5511980000000,Ana,A", "5511980000000,Bia,B", "12,Caio,C"]
    (tmp_path / "people.csv").write_text("\n".join(("phone,name,order", *rows)))
    assert create(drumbeat, tmp_path / "people.csv", *TEMPLATE, *PARAMS).exit_code == 0
    listed, expected = (
        tmp_path / "people.rejects.csv",
        ("list of rejected rows", "drumbeat audience rejected"),
    )
    phones = ("--phone-column", "value")

    literals = ("--param", "=Hi", "--param", "=A")
    refused(create(drumbeat, listed, *TEMPLATE, *phones, *literals, name="again"), 78, *expected)
    refused(drumbeat("audience", "check", listed, *phones), 78, *expected)

    words = ("audience", "rejected", tmp_path / "people.csv", listed)
    assert drumbeat.ok(*words).stdout.split() == ["phone,name,order", "12,Caio,C"]
    drumbeat.ok(*words, "--output", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text("utf-8-sig").split() == ["phone,name,order", "12,Caio,C"]
    for source in words[2:]:
        refused(drumbeat(*words, "--output", source), 2, "would overwrite")


def test_another_campaign_of_the_same_file_is_reported(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    created(drumbeat, audience)
    again = create(drumbeat, audience, *TEMPLATE, *PARAMS, name="again")
    assert 'the same file is the audience of "spring"' in again.stdout

    drumbeat.ok("campaign", "cancel", "spring")  # before it has sent anything
    third = create(drumbeat, audience, *TEMPLATE, *PARAMS, "--json", name="third")
    assert third.json["same_audience"] == ["again"]


def test_a_guess_at_the_encoding_is_reported(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    rows = "phone,name,order,city\n5511980000000,Ana,A,São Paulo\n"
    (tmp_path / "old.csv").write_bytes(rows.encode("cp1252"))
    said = "Windows-1252.*a guess; if letters are wrong, export the file as UTF-8"
    done = create(drumbeat, tmp_path / "old.csv", *TEMPLATE, *PARAMS)
    assert re.search(f"read as {said}", done.stdout)
    assert re.search(said, drumbeat.ok("audience", "check", tmp_path / "old.csv").stdout)
    assert drumbeat.ok("audience", "check", tmp_path / "old.csv", "--json").json["encoding_guessed"] is True


def test_an_export_of_who_was_pruned(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    created(drumbeat, audience)
    asyncio.run(forget_recipients(drumbeat.settings["database_url"]))
    (audience.parent / "export.csv").write_text("of before\n")
    done = drumbeat("campaign", "export", "spring", "--output", audience.parent / "export.csv")
    refused(done, 78, '"spring" were dropped', "prune", "drumbeat campaign report spring")
    assert (audience.parent / "export.csv").read_text() == "of before\n"
    refused(drumbeat("campaign", "export", "spring", "--state", "failed"), 78, "prune")


async def forget_recipients(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("DELETE FROM recipients")
        await connection.execute("DELETE FROM ranges")
    finally:
        await connection.close()


def test_the_same_again_changes_nothing_and_something_else_is_refused(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    assert create(drumbeat, audience, *TEMPLATE, *PARAMS, "--json").json["unchanged"] is False
    assert create(drumbeat, audience, *TEMPLATE, *PARAMS, "--json").json["unchanged"] is True
    refused(create(drumbeat, audience, *TEMPLATE, *PARAMS, "--on-unknown", "resend"), 78, "--on-unknown")


def test_a_token_that_has_expired(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    refused(drumbeat("numbers", "sync", access_token="old"), 77, "token")
    created(drumbeat, audience)
    run = drumbeat("campaign", "run", "spring", "--quiet", access_token="old")
    assert run.exit_code == 77
    assert "paused" in run.complaint
    assert "token" in run.complaint
    status = drumbeat.ok("campaign", "status", "spring", "--json").json
    assert status["state"] == "paused"
    assert status["counts"]["failed"] == status["counts"]["unknown"] == 0
    assert synced.accepted() == 0
    refused(drumbeat("campaign", "run", "spring", "--quiet"), 77, "paused", "resume")
    for words in (("spring",), ("--all",)):
        refused(drumbeat("campaign", "resume", *words, access_token="old"), 77, "token", "190", "repeat")
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["state"] == "paused"
    unchecked = drumbeat.ok("campaign", "resume", "spring", access_token="")
    assert "the access token was not checked: the setting access_token is missing" in unchecked.stderr
    drumbeat.ok("campaign", "pause", "spring")
    drumbeat.ok("campaign", "resume", "spring", access_token="old")  # a pause by hand needs no token
    drumbeat.ok("campaign", "run", "spring", "--quiet")
    assert len(set(synced.recipients())) == synced.accepted() == 10


async def test_a_run_that_is_refused_leaves_the_campaign_as_it_was(
    drumbeat: Drumbeat, synced: Service, audience: Path, other: Connection
) -> None:
    created(drumbeat, audience)
    lease = await take_lease(other, "1", this_process())
    await other.execute("UPDATE numbers SET leased_until = now() + interval '1 hour'")
    refused(drumbeat("campaign", "run", "spring", "--quiet"), 75, "number 1 is sending for")
    refused(drumbeat("campaign", "run", "spring", "--quiet", base_url="http://127.0.0.1:9"), 69)
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["state"] == "draft"
    await release_lease(other, lease)
    run = drumbeat.ok("campaign", "run", "spring", "--quiet", "--json").json
    assert run["state"] == "finished" and run["started_at"] is not None


def test_a_service_that_does_not_answer(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    nobody = {"base_url": "http://127.0.0.1:9"}
    refused(drumbeat("numbers", "sync", **nobody), 69, "127.0.0.1:9")
    created(drumbeat, audience)
    run = drumbeat("campaign", "run", "spring", "--quiet", **nobody)
    refused(run, 69, "does not answer", "127.0.0.1:9")
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["counts"]["pending"] == 10


def test_a_database_that_does_not_answer_and_one_that_is_not_there(drumbeat: Drumbeat) -> None:
    away = drumbeat("campaign", "list", database_url="postgresql://me:s3cr3t@127.0.0.1:9/x")
    refused(away, 69, "127.0.0.1:9")
    assert "s3cr3t" not in away.stderr
    url = drumbeat.settings["database_url"]
    name = urlsplit(url).path
    missing = drumbeat("campaign", "list", database_url=url.replace(name, "/nowhere_to_be_found"))
    refused(missing, 78, "nowhere_to_be_found")


def test_a_campaign_that_is_not_there_names_the_database(drumbeat: Drumbeat) -> None:
    name = urlsplit(drumbeat.settings["database_url"]).path[1:]
    for words in (("status",), ("run",), ("report",), ("export",), ("pause",), ("settle",)):
        refused(drumbeat("campaign", *words, "nothing"), 78, '"nothing"', name)


def test_an_account_that_is_not_there(drumbeat: Drumbeat, service: Service) -> None:
    refused(drumbeat("numbers", "sync", waba_id="999"), 78, "999", "check DRUMBEAT_WABA_ID")
    refused(drumbeat("templates", "sync", waba_id="999"), 78, "999", "check DRUMBEAT_WABA_ID")


def test_a_version_that_the_service_does_not_speak(drumbeat: Drumbeat, service: Service) -> None:
    refused(drumbeat("numbers", "sync", api_version="v1.0"), 78, "v1.0", "check DRUMBEAT_API_VERSION")


def test_a_worker_without_its_number_names_the_database(drumbeat: Drumbeat, synced: Service) -> None:
    """Most often the wrong one was asked."""
    refused(drumbeat("worker", "--number", "9"), 78, "no number 9 (database test_", "numbers sync")


def test_a_region_that_is_not_there_is_a_usage_error(drumbeat: Drumbeat, audience: Path) -> None:
    refused(drumbeat("audience", "check", audience, "--region", "XX"), 2, '"XX"', "such as BR")


def test_the_error_of_a_missing_service_quotes_the_system(drumbeat: Drumbeat) -> None:
    refused(drumbeat("numbers", "sync"), 69, "did not answer: Connection refused (http://127.0.0.1:9)")
    (found,) = [
        finding for finding in drumbeat("doctor", "--json").json["findings"] if finding["level"] == "fail"
    ]
    assert found["found"] == "does not answer: Connection refused"


def test_missing_settings_are_named(drumbeat: Drumbeat) -> None:
    refused(drumbeat("numbers", "sync", base_url=""), 78, "DRUMBEAT_BASE_URL")
    refused(drumbeat("numbers", "sync", access_token=""), 78, "DRUMBEAT_ACCESS_TOKEN")
    refused(drumbeat("numbers", "sync", waba_id=""), 78, "DRUMBEAT_WABA_ID")
    refused(drumbeat("webhooks", "serve", app_secret=""), 78, "DRUMBEAT_APP_SECRET")


@pytest.mark.parametrize("command", ["webhooks", "emulator"])
def test_a_port_in_use(drumbeat: Drumbeat, command: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = drumbeat(command, "serve", "--port", str(port))
    assert done.exit_code == 78
    assert str(port) in done.complaint
    assert "in use" in done.complaint
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_start_that_lies_ahead(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    created(drumbeat, audience, "--start-at", tomorrow)
    refused(drumbeat("campaign", "run", "spring", "--quiet"), 75, "starts at")
    assert synced.accepted() == 0


def test_a_run_of_a_cancelled_campaign_is_no_success(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    created(drumbeat, audience)
    drumbeat.ok("campaign", "cancel", "spring")
    done = drumbeat("campaign", "run", "spring", "--quiet")
    assert done.exit_code == 3
    assert done.complaint == "drumbeat: cancelled (cancelled by hand): 10 of 10 skipped"


def test_what_has_ended_does_not_start(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    created(drumbeat, audience, "--start-at", (datetime.now(UTC) + timedelta(days=1)).isoformat())
    assert "\nstarts " in drumbeat.ok("campaign", "status", "spring").stdout
    drumbeat.ok("campaign", "cancel", "spring")
    assert "\nstarts " not in drumbeat.ok("campaign", "status", "spring").stdout
    assert synced.accepted() == 0


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\x7f", "a\u202eb", "a\u2028b"])
def test_control_characters_in_names(drumbeat: Drumbeat, audience: Path, name: str) -> None:
    refused(create(drumbeat, audience, *TEMPLATE, *PARAMS, name=name), 2, "name holds a control character")
    key = create(drumbeat, audience, *TEMPLATE, *PARAMS, "--external-id", name)
    refused(key, 2, "--external-id holds a control character")


def test_a_hint_can_be_given_to_a_shell(drumbeat: Drumbeat, synced: Service, audience: Path) -> None:
    done = create(drumbeat, audience, *TEMPLATE, *PARAMS, name="Ana's x")
    hint = done.stdout.partition("send it with: ")[2]
    assert shlex.split(hint) == ["drumbeat", "campaign", "run", "Ana's x"]


def test_a_second_runner_is_sent_away_at_once(drumbeat: Drumbeat, synced: Service, tmp_path: Path) -> None:
    created(drumbeat, write_audience(tmp_path / "many.csv", 2_000))
    drumbeat.ok("numbers", "limit", "1", "20")
    first = drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: synced.accepted() > 0, "the first runner sends")
    second = drumbeat("campaign", "run", "spring")
    refused(second, 75, "number 1", str(first.pid))
    assert "campaign_started" not in second.stderr, (
        "it does not run here; with --wait that was told each second"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="a directory that nobody may write to, not even root")
def test_a_home_that_cannot_be_made(drumbeat: Drumbeat) -> None:
    refused(drumbeat("campaign", "list", database_url="", home="/proc/drumbeat"), 78, "/proc/drumbeat")
