"""The commands that change or read the account at the service: templates, media, numbers, profile, analytics."""

import asyncio
import json
from pathlib import Path
from typing import Any

from drumbeat.testing.databases import execute
from tests.cli.processes import Drumbeat, Service

NEW = {
    "name": "summer_news",
    "language": "en_US",
    "category": "MARKETING",
    "components": [{"type": "BODY", "text": "Hi {{1}}", "example": {"body_text": [["Ana"]]}}],
}


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def test_a_template_is_created_shown_and_deleted(
    drumbeat: Drumbeat, service: Service, tmp_path: Path
) -> None:
    created = drumbeat.ok("templates", "create", write(tmp_path / "t.json", NEW), "--json").json
    assert {"name": "summer_news", "status": "PENDING", "category": "MARKETING"}.items() <= created.items()
    shown = drumbeat.ok("templates", "show", "summer_news").stdout
    assert shown.endswith("  body: Hi {{1}}\n  --param 1:COLUMN  body {{1}}\n")
    twice = drumbeat("templates", "create", "t.json")
    assert (twice.exit_code, "exists in en_US" in twice.complaint) == (78, True)
    assert drumbeat("templates", "delete", "summer_news").exit_code == 2, "no terminal, and no --yes"
    deleted = drumbeat.ok("templates", "delete", "summer_news", "--yes", "--json").json
    assert deleted["languages"] == ["en_US"]
    assert drumbeat("templates", "show", "summer_news").exit_code == 78
    assert drumbeat("templates", "delete", "summer_news", "--yes").exit_code == 78


def test_one_language_of_a_template_is_deleted(drumbeat: Drumbeat, synced: Service) -> None:
    words = ("templates", "delete", "order_shipped", "--language", "pt_BR", "--yes")
    assert drumbeat.ok(*words).stdout == "order_shipped  pt_BR  deleted\n"
    left = drumbeat.ok("templates", "show", "order_shipped", "--json").json["templates"]
    assert [template["language"] for template in left] == ["en_US"]


def test_a_template_that_cannot_be_is_refused(drumbeat: Drumbeat, service: Service, tmp_path: Path) -> None:
    refusals: list[tuple[Any, int, str]] = [
        ("{", 2, "not JSON"),
        ("[]", 2, "not a JSON object"),
        ({**NEW, "colour": "red"}, 2, "holds colour"),
        ({**NEW, "name": None}, 2, "needs the text 'name'"),
        ({**NEW, "components": "BODY"}, 2, "needs components"),
        ({**NEW, "category": "FUN"}, 78, "category is one of"),
    ]
    for content, exit_code, words in refusals:
        done = drumbeat("templates", "create", write(tmp_path / "t.json", content))
        assert (done.exit_code, done.stdout) == (exit_code, "")
        assert words in done.complaint


def test_a_file_is_uploaded_described_downloaded_and_deleted(
    drumbeat: Drumbeat, service: Service, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"a picture")
    uploaded = drumbeat.ok("media", "upload", "a.png", "--number", "1", "--json").json
    assert uploaded["phone_number_id"] == "1"
    media_id = uploaded["media_id"]
    assert "image/png  9 bytes" in drumbeat.ok("media", "get", media_id).stdout
    assert drumbeat("media", "get", media_id, "--number", "2").exit_code == 78
    found = drumbeat.ok("media", "get", media_id, "--output", "b.png", "--json").json
    assert (found["file_size"], found["file"]) == (9, "b.png")
    assert (tmp_path / "b.png").read_bytes() == b"a picture"
    assert drumbeat("media", "delete", media_id).exit_code == 2
    drumbeat.ok("media", "delete", media_id, "--yes")
    assert drumbeat("media", "get", media_id).exit_code == 78
    assert drumbeat("media", "upload", "nothing.png", "--number", "1").exit_code == 78
    (tmp_path / "empty.png").write_bytes(b"")
    assert "is empty" in drumbeat("media", "upload", "empty.png", "--number", "1").complaint


def test_a_number_is_shown_and_registered(drumbeat: Drumbeat, service: Service, tmp_path: Path) -> None:
    service.post("numbers", {"id": "1", "status": "PENDING"})
    assert drumbeat.ok("numbers", "show", "1", "--json").json["status"] == "PENDING"
    assert "quality_rating: GREEN" in drumbeat.ok("numbers", "show", "1").stdout
    assert drumbeat("numbers", "show", "9").exit_code == 78
    refused = drumbeat("numbers", "register", "1")
    assert (refused.exit_code, "--pin-file" in refused.complaint) == (2, True)
    (tmp_path / "pin").write_text("12345\n")
    assert "6 digits" in drumbeat("numbers", "register", "1", "--pin-file", "pin").complaint
    (tmp_path / "pin").write_text("123456\n")
    assert drumbeat.ok("numbers", "register", "1", "--pin-file", "pin", "--json").json["registered"] is True
    assert drumbeat.ok("numbers", "show", "1", "--json").json["status"] == "CONNECTED"


def test_a_profile_is_updated_and_shown(drumbeat: Drumbeat, service: Service) -> None:
    words = ("profile", "update", "1", "--about", "Lamps", "--website", "https://lantern.example")
    assert drumbeat.ok(*words, "--json").json["changed"] == ["about", "websites"]
    assert drumbeat.ok("profile", "show", "1").stdout == "about: Lamps\nwebsites: https://lantern.example\n"
    drumbeat.ok("profile", "update", "1", "--about", "")
    assert drumbeat.ok("profile", "show", "1", "--json").json["about"] is None
    assert drumbeat("profile", "update", "1").exit_code == 2
    assert "email is an address" in drumbeat("profile", "update", "1", "--email", "nobody").complaint


def test_analytics_of_messages_and_conversations(drumbeat: Drumbeat, synced: Service) -> None:
    words = ("--template", "order_shipped", "--language", "en_US", "--param", "Ana", "--param", "A-1")
    drumbeat.ok("message", "send", "--to", "+5511980000001", "--number", "1", *words)
    points = drumbeat.ok("analytics", "--json").json["points"]
    assert sum(point["sent"] for point in points) == 1
    points = drumbeat.ok("analytics", "--conversations", "--by", "month", "--json").json["points"]
    assert [(point["category"], point["conversations"]) for point in points] == [("UTILITY", 1)]
    assert drumbeat.ok("analytics", "--by", "half-hour").stdout.startswith("START")
    wrong = ("--from", "2026-01-02T00:00Z", "--to", "2026-01-01T00:00Z")
    assert "before the end" in drumbeat("analytics", *wrong).complaint
    assert drumbeat("analytics", "--from", "yesterday").exit_code == 2


def test_commands_share_the_calls_of_an_hour(drumbeat: Drumbeat, service: Service) -> None:
    drumbeat.ok("numbers", "show", "1")
    spend = "UPDATE management_calls SET level = 1000, measured_at = clock_timestamp()"
    asyncio.run(execute(drumbeat.settings["database_url"], spend))
    spent = drumbeat("numbers", "show", "1")
    assert spent.exit_code == 75
    assert "200 management calls of this hour are used up" in spent.complaint
    assert "try again in 5" in spent.complaint  # 901 calls too many, 36 s each: 541 minutes


def test_an_account_command_names_a_refused_token_and_a_missing_service(
    drumbeat: Drumbeat, service: Service
) -> None:
    assert drumbeat("profile", "show", "1", access_token="old").exit_code == 77
    assert drumbeat("media", "get", "7", base_url="http://127.0.0.1:9").exit_code == 69
