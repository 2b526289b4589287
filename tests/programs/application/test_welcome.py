"""The tests that the shop has of its own program."""

import asyncio
import sys
from pathlib import Path

from campaigns.welcome import welcome

import campaigns
from drumbeat.testing import DrumbeatHome

CUSTOMERS = [
    {"phone": "+14155550101", "first_name": "Ada", "order": 1},
    {"phone": "nobody", "first_name": "Bob", "order": 2},
    {"phone": "+14155550103", "first_name": None, "order": 3},
]


def test_the_names_do_not_clash() -> None:
    assert Path(campaigns.__file__).parent == Path(__file__).parent / "campaigns"
    assert not {"engine", "api", "testing", "emulator"} & sys.modules.keys()


def test_customers_are_welcomed(drumbeat_home: DrumbeatHome) -> None:
    rejected, status = asyncio.run(welcome("welcome", CUSTOMERS))
    assert rejected == [1]
    assert status.state == "finished"
    assert {message.phone for message in drumbeat_home.emulator.messages} == {"14155550101", "14155550103"}


def test_each_test_has_a_home_of_its_own(drumbeat_home: DrumbeatHome) -> None:
    assert drumbeat_home.emulator.messages == []
