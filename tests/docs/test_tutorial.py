"""The tutorial runs as it stands, and everybody of its list gets the message that it shows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.processes import Drumbeat, Service
from tests.docs.conftest import Before
from tests.docs.reader import Reader
from tests.docs.test_links import ROOT

PAGE = ROOT / "docs/tutorial/two-languages.md"
LAVENDER, OLIVE = "lavender.png", "olive.png"
# Language, values in the order of its text, picture, end of the link. The last one is the test message.
WANTED = {
    "14155550101": ("en_US", ["Ada", "lavender", "Friday"], LAVENDER, "lavender-7"),
    "442079460958": ("en_US", ["Ben", "olive tree", "Friday"], OLIVE, "olive-2"),
    "4930901820": ("de", ["Ihr Lavendel", "Freitag", "Carla"], LAVENDER, "lavender-7"),
    "4915112345678": ("de", ["Ihr Olivenbaum", "Samstag", "Dora"], OLIVE, "olive-2"),
    "33123456789": ("en_US", ["Emil", "olive tree", "Saturday"], OLIVE, "olive-2"),
    "4915123456789": ("de", ["Ihr Rosmarin", "Freitag", "Frida"], LAVENDER, "rosemary-1"),
    "14155550199": ("de", ["Ihr Lavendel", "Freitag", "Carla"], LAVENDER, "lavender-7"),
}


def test_everybody_of_the_list_gets_what_the_tutorial_says(
    reader: Callable[[Before], Reader], tmp_path: Path
) -> None:
    follower = reader(Before(drafts=()))
    text = PAGE.read_text("utf-8").replace("../docs/tutorial/plants", str(ROOT / "docs/tutorial/plants"))
    assert follower.follow(text) == 7
    drumbeat = follower.drumbeat
    messages = Service(drumbeat.settings["base_url"]).ledger()
    pictures = ids_of_pictures(drumbeat, messages, tmp_path)
    assert {message["to"]: seen(message, pictures) for message in messages} == WANTED
    assert len(messages) == len(WANTED)
    page = (tmp_path / "carla.html").read_text("utf-8")
    assert "Ihr Lavendel wartet bis Freitag auf Sie, Carla." in page
    assert 'src="data:image/png;base64,' in page
    (row,) = (tmp_path / "plants.rejects.csv").read_text("utf-8-sig").splitlines()[1:]
    assert row.startswith("7,media_missing,picture,") and row.endswith(",rosemary.png")


def seen(message: dict[str, Any], pictures: dict[str, str]) -> tuple[str, list[str], str, str]:
    header, button = message["components"]
    media_id = header["parameters"][0]["image"]["id"]
    link = button["parameters"][0]["text"]
    return message["language"], message["parameters"], pictures[media_id], link


def ids_of_pictures(drumbeat: Drumbeat, messages: list[dict[str, Any]], directory: Path) -> dict[str, str]:
    """The service's ids in these messages → which picture is stored under them. Each content is there once."""
    ids = sorted({message["components"][0]["parameters"][0]["image"]["id"] for message in messages})
    names = {}
    for media_id in ids:
        drumbeat.ok("media", "get", media_id, "--output", directory / "downloaded.png")
        content = (directory / "downloaded.png").read_bytes()
        names[media_id] = next(
            name for name in (LAVENDER, OLIVE) if (directory / name).read_bytes() == content
        )
    assert sorted(names.values()) == [LAVENDER, OLIVE]
    return names
