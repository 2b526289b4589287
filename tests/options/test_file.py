"""A manifest has a key for each option, is read from its own directory, and names what is wrong and the cure."""

import re
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_group

from drumbeat.campaigns.cli.main import app
from drumbeat.campaigns.command_text import flag
from drumbeat.campaigns.options.identity import as_given
from drumbeat.campaigns.options.manifest_file import MANIFEST_BYTES_MAX, read_manifest
from drumbeat.campaigns.options.sources import Format
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.options.values import of_file
from drumbeat.engine.errors import ConfigurationError, UsageError

LEAST = """
name = "spring"
template = "order"
language = "en"
number = ["1001"]
audience = "people.csv"
"""
# Of the command alone: they say how it is run, not what the campaign is.
OF_THE_COMMAND = {"dry_run", "json", "quiet", "help"}
OF_A_CHANGE = OF_THE_COMMAND | {"keep_audience", "manifest", "new", "now", "unset"}


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return tmp_path / "spring.toml"


def read(manifest: Path, text: str, **changes: Any) -> dict[str, Any]:
    manifest.write_text(LEAST + text)
    return read_manifest(manifest, changes)


def keys_of_command(name: str) -> set[str]:
    group: Any = get_group(app)
    for word in ("campaign", name):
        group = group.get_command(Context(group), word)
    return {
        max(parameter.opts, key=len).lstrip("-").replace("-", "_")
        for parameter in [*group.params, group.get_help_option(Context(group))]
    }


def test_the_keys_are_the_options_of_create_both_ways() -> None:
    assert keys_of_command("create") - OF_THE_COMMAND == OPTIONS.keys()


@pytest.mark.parametrize("name", ["apply", "clone", "edit"])
def test_what_changes_a_campaign_takes_every_option(name: str) -> None:
    assert keys_of_command(name) - OF_A_CHANGE == OPTIONS.keys()


def test_paths_are_relative_to_the_manifest(manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "lapsed.csv").touch()
    found = read(manifest, 'rejects = "/var/r.csv"\nexclude = ["lapsed.csv", "spring"]')
    assert found["audience"] == tmp_path / "people.csv"
    assert found["rejects"] == Path("/var/r.csv")
    assert found["exclude"] == [str(tmp_path / "lapsed.csv"), "spring"]


def test_standard_input_stays_standard_input(manifest: Path) -> None:
    manifest.write_text(LEAST.replace("people.csv", "-"))
    assert read_manifest(manifest)["audience"] == Path("-")


def test_values_are_written_as_people_write_them(manifest: Path) -> None:
    found = read(
        manifest,
        "start_at = 2030-01-01T09:00:00-03:00\nmax_failed = 5\nformat = 'csv'\nstrict = true\n"
        "[map]\nfirst_name = 'Vorname'\n",
    )
    assert found["start_at"] == "2030-01-01T09:00:00-03:00"
    assert found["max_failed"] == "5"
    assert found["format"] is Format.CSV
    assert found["strict"] is True
    assert found["map"] == ["first_name=Vorname"]
    assert read(manifest, "").keys() == {"name", "template", "language", "number", "audience"}


OF_A_FILE = (
    'region = "DE"\nrepair_old = ["BR"]\nphone_column = "Telefon"\n[map]\na = "b"\n[default]\na = "x"\n'
)


def test_what_says_how_a_file_is_read_goes_with_the_file(manifest: Path) -> None:
    found = read(manifest, OF_A_FILE, audience_campaign="winter")
    assert found.keys() == {"name", "template", "language", "number", "audience_campaign"}
    kept = read(manifest, OF_A_FILE, audience="other.csv")
    assert {"region", "repair_old", "phone_column", "map", "default"} <= kept.keys()
    excluding = read(manifest, f'exclude = ["stop.csv"]\n{OF_A_FILE}', audience_campaign="winter")
    assert (excluding["region"], excluding["exclude"]) == ("DE", ["stop.csv"]), "read like the file was"


@pytest.mark.parametrize("key", ['region = "DE"', 'repair_old = ["BR"]', 'map = ["a=b"]', 'sheet = "Mai"'])
def test_what_says_how_a_file_is_read_is_refused_where_there_is_none(manifest: Path, key: str) -> None:
    manifest.write_text(LEAST.replace('audience = "people.csv"', f'audience_campaign = "winter"\n{key}'))
    with pytest.raises(UsageError, match=f"{key.split()[0]} says how a file is read"):
        read_manifest(manifest)


def test_an_option_of_the_command_line_replaces_a_key_and_those_of_its_group(manifest: Path) -> None:
    found = read(manifest, "sheet = 'Mai'", audience_campaign="winter", name="summer")
    assert found["name"] == "summer"
    assert found["audience_campaign"] == "winter"
    assert not {"audience", "sheet"} & found.keys()
    manifest.write_text(LEAST.replace('name = "spring"', ""))
    assert read_manifest(manifest, {"name": "autumn"})["name"] == "autumn"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("start-at = 1", "there is no key start-at: did you mean start_at?"),
        ("xyzzy = 1", "there is no key xyzzy: keys are name, audience,"),
        ('param = "name"', """the key param is 'name': write a list, such as ["a", "b"]"""),
        ("region = true", "the key region is True: write a text in quotes"),
        ('strict = "perhaps"', "the key strict is 'perhaps': write true or false"),
        ('format = "docx"', "the key format is 'docx': it must be 'csv', 'jsonl'"),
        ("code = 'x'", "the key code is 'x': it must be a valid integer"),
        ("rejects = 7", "the key rejects is 7: write a path in quotes"),
        ("name = 'again'", "the manifest is not TOML: Cannot overwrite a value"),
        ("= 3", "the manifest is not TOML"),
    ],
)
def test_what_is_wrong_names_file_key_and_cure(manifest: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)) as refused:
        read(manifest, text)
    assert refused.value.where == str(manifest)


def test_every_problem_of_a_manifest_is_named_at_once(manifest: Path) -> None:
    manifest.write_text('audience = "a.csv"\nspeed = 3\n')
    with pytest.raises(ConfigurationError, match=r"key name is missing; .*number is missing.*no key speed"):
        read_manifest(manifest)


def test_a_file_that_is_no_manifest_is_named(manifest: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        read_manifest(manifest)
    manifest.write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read_manifest(manifest)
    manifest.write_bytes(b"#" * (MANIFEST_BYTES_MAX + 1))
    with pytest.raises(ConfigurationError, match="longer than 1,048,576 bytes"):
        read_manifest(manifest)


def test_an_error_about_options_speaks_of_keys_in_a_manifest() -> None:
    error = UsageError(
        "{audience_sql} needs a database", remedy="give {audience_database} or {param}", values={}
    )
    assert error.line(flag) == "--audience-sql needs a database: give --audience-database or --param"
    found = of_file(error, "spring.toml")
    words = "audience_sql needs a database (spring.toml): give audience_database or param"
    assert (str(found), found.exit_code) == (words, 78)


def test_what_was_given_makes_the_same_campaign_again_without_passwords(
    manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clone starts from it, perhaps in another directory."""
    monkeypatch.chdir(tmp_path)
    first = CampaignSpec(
        name="a",
        language="en",
        number=["1"],
        template="order",
        audience=Path("a.csv"),
        format=Format.CSV,
    )
    assert as_given(first) == {
        "name": "a",
        "template": "order",
        "language": "en",
        "number": ["1"],
        "audience": str(tmp_path / "a.csv"),
        "format": "csv",
    }
    secret = CampaignSpec(
        name="a",
        language="en",
        number=["1"],
        template="t",
        audience_sql="SELECT 1",
        audience_database="postgres://:x@h/",
    )
    assert as_given(secret).keys() == {"name", "template", "language", "number", "audience_sql"}
