"""A command that drains: what asks it to stop, what hurries it, and what it leaves alone."""

import asyncio
import signal
from collections.abc import Iterator

import pytest
import uvloop

from drumbeat.campaigns.cli.signals import STOP_SIGNALS, stop_on_signals


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """The run's own handlers are back, whatever a test leaves."""
    former = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


async def send_signal(number: int) -> None:
    """The signal has come, and the loop has heard of it."""
    heard = asyncio.Event()
    signal.raise_signal(number)
    asyncio.get_running_loop().call_later(0.05, heard.set)
    await heard.wait()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_second_ctrl_c_stops_at_once_and_is_no_bug_of_a_task(run: type) -> None:
    """Raised inside a task of ours, it stood in the log with a traceback."""
    whole, cleaned, said = [], [], []

    async def part() -> None:
        await asyncio.sleep(0)
        signal.raise_signal(signal.SIGINT)
        whole.append(True)

    async def command() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
        with stop_on_signals() as stop:
            await send_signal(signal.SIGINT)
            assert (stop.event.is_set(), stop.exit_code) == (True, 130)
            try:
                await asyncio.gather(part(), asyncio.sleep(60))
            finally:
                with pytest.raises(KeyboardInterrupt):  # a third one does not even wait for this step
                    signal.raise_signal(signal.SIGINT)
                cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run(command())
    assert (whole, cleaned, said) == ([True], [True], [])


async def test_a_terminal_that_closes_hurries_nobody() -> None:
    """The system and the shell both send the signal."""
    with stop_on_signals() as stop:
        for _ in range(3):
            await send_signal(signal.SIGHUP)
        assert (stop.event.is_set(), stop.exit_code) == (True, 129)
        await send_signal(signal.SIGINT)
        await send_signal(signal.SIGHUP)
        assert stop.exit_code == 130


async def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with stop_on_signals() as stop:
        await send_signal(signal.SIGHUP)
        assert not stop.asked
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


async def test_what_handled_signals_before_handles_them_again() -> None:
    """Work after the drain, such as printing, also ends with the exit code."""

    def handler(number: int, frame: object) -> None: ...

    for number in STOP_SIGNALS:
        signal.signal(number, handler)
    with stop_on_signals():
        await send_signal(signal.SIGTERM)
    assert {signal.getsignal(number) for number in STOP_SIGNALS} == {handler}
