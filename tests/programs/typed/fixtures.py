"""A test of an application, as type checkers must take it."""

from drumbeat.testing import DrumbeatHome, ServiceClock


def test_it(drumbeat_home: DrumbeatHome, drumbeat_clock: ServiceClock) -> None:
    drumbeat_home.emulator.fault("refusal", count=1, code=131026)
    drumbeat_home.emulator.reply("14155550101", "STOP", number="1")
    drumbeat_clock.advance(60.0)
    assert [message.phone for message in drumbeat_home.emulator.messages] == []
