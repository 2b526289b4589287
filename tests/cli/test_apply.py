"""Manifests, clones, edits and deletes as commands: what they print, and their exit codes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import write_audience
from tests.cli.processes import Drumbeat, Service

MANIFEST = """
name = "spring"
external_id = "crm-7"
template = "order_shipped"
language = "pt_BR"
number = ["1", "2"]
audience = "people.csv"
param = ["name", "order"]
"""


@pytest.fixture
def manifest(tmp_path: Path, audience: Path, synced: Service) -> Path:
    """A manifest beside its audience, in another directory than the commands."""
    (tmp_path / "elsewhere").mkdir()
    audience.rename(tmp_path / "elsewhere" / audience.name)
    path = tmp_path / "elsewhere" / "spring.toml"
    path.write_text(MANIFEST)
    return path


def effects(document: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {change["option"]: change["effect"] for change in document["changes"]}


def test_a_manifest_from_its_first_apply_to_its_end(
    drumbeat: Drumbeat, service: Service, manifest: Path
) -> None:
    apply = ("campaign", "apply", manifest)
    assert drumbeat.ok(*apply, "--json").json["unchanged"] is False
    assert drumbeat.ok(*apply, "--json").json["unchanged"] is True

    shown = drumbeat.ok(*apply, "--max-failed", "5", "--dry-run").stdout
    assert "--max-failed  not given  \N{RIGHTWARDS ARROW}  5    applied" in shown
    assert effects(drumbeat.ok(*apply, "--max-failed", "5", "--json").json) == {"max_failed": "applied"}
    manifest.write_text(MANIFEST.replace('"name"', '"=friend"'))
    changed = drumbeat.ok(*apply, "--max-failed", "5", "--json").json
    assert effects(changed) == {"param": "planned anew"}
    assert drumbeat.ok(*apply, "--max-failed", "5", "--json").json["unchanged"] is True

    drumbeat.ok("campaign", "run", "external:crm-7", "--quiet")
    assert service.accepted() == 10
    manifest.write_text(MANIFEST)
    refused = drumbeat(*apply, "--json")
    assert (refused.exit_code, refused.json["refused"]) == (78, True)
    assert effects(refused.json) == {"max_failed": "refused", "param": "refused"}
    assert "--param was =friend, order and is name, order" in refused.complaint
    assert service.accepted() == 10


def test_a_wrong_manifest_is_one_line_and_exit_78(drumbeat: Drumbeat, manifest: Path) -> None:
    manifest.write_text(MANIFEST.replace("param", "params"))
    done = drumbeat("campaign", "apply", manifest)
    assert done.exit_code == 78
    assert f"there is no key params: did you mean param? ({manifest})" in done.complaint
    manifest.write_text(MANIFEST + 'window = "always"')
    done = drumbeat("campaign", "apply", manifest)
    assert (done.exit_code, done.stdout) == (78, "")
    assert f"window 'always' cannot be read ({manifest})" in done.complaint


def test_drafts_are_cloned_edited_and_deleted(drumbeat: Drumbeat, manifest: Path) -> None:
    drumbeat.ok("campaign", "apply", manifest)
    clone = drumbeat.ok("campaign", "clone", "external:crm-7", "summer", "--param", "=Hi", "--param", "order")
    assert 'recipients are also in the campaign "spring", planned since' in clone.stdout
    edited = drumbeat.ok("campaign", "edit", "summer", "--window", "09:00-20:00", "--json").json
    assert effects(edited) == {"window": "applied"}
    assert drumbeat.ok("campaign", "edit", "summer", "--json").json["unchanged"] is True
    anew = drumbeat.ok(
        "campaign", "edit", "summer", "--language", "en_US", "--unset", "window", "--json"
    ).json
    assert effects(anew) == {"language": "planned anew", "window": "applied"}

    assert drumbeat("campaign", "delete", "summer").exit_code == 2  # no terminal confirms it
    gone = drumbeat.ok("campaign", "delete", "summer", "--yes", "--json").json
    assert gone == {"schema": 1, "deleted": True, "name": "summer", "recipients": 10}
    drumbeat.ok("campaign", "start", "spring")
    refused = drumbeat("campaign", "delete", "external:crm-7", "--yes")
    assert refused.exit_code == 2
    assert "a running campaign that was started cannot be deleted" in refused.complaint
    refused = drumbeat("campaign", "edit", "spring", "--language", "en_US")
    assert refused.exit_code == 78
    assert "refused: it may change only in a draft, and the campaign is running" in refused.stdout


def test_a_run_ends_at_its_time_and_the_next_one_continues(
    drumbeat: Drumbeat, synced: Service, tmp_path: Path
) -> None:
    people = write_audience(tmp_path / "many.csv", 3_000)
    options = ("--template", "order_shipped", "--language", "pt_BR", "--number", "1", "--audience", people)
    drumbeat.ok("campaign", "create", "spring", *options, "--param", "name", "--param", "order")
    run = ("campaign", "run", "spring", "--quiet", "--until")
    late = drumbeat(*run, "2020-01-01T00:00Z")
    assert (late.exit_code, synced.accepted()) == (75, 0)
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["state"] == "draft"

    soon = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    ended = drumbeat(*run, soon)  # 3,000 people take 15 s at 200/s
    assert ended.exit_code == 75
    assert "recipients left: run it again to continue" in ended.complaint
    status = drumbeat.ok("campaign", "status", "spring", "--json").json
    assert status["state"] == "running"
    assert status["counts"]["unknown"] == 0
    assert 0 < synced.accepted() == status["counts"]["accepted"] < 3_000
