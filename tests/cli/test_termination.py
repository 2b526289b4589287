"""A signal that ends a command: wherever it arrives, nothing is left half done."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType

import pytest
import typer
import uvloop

from drumbeat.campaigns.cli import main
from drumbeat.campaigns.cli.main import Terminated


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    former = signal.signal(signal.SIGTERM, main._terminate)
    yield
    signal.signal(signal.SIGTERM, former)
    main._scheduled_ends.clear()
    main._signal_codes.clear()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_it_ends_a_loop_between_two_steps_and_never_inside_one(run: type) -> None:
    whole, cleaned = [], []

    async def command() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            whole.append(True)  # as a driver that reads from its socket
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    with pytest.raises(Terminated) as ended:
        run(command())
    assert (str(ended.value), whole, cleaned) == ("143", [True], [True])


def test_whoever_asks_twice_does_not_wait_for_the_step() -> None:
    async def command() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("the step went on")

    with pytest.raises(Terminated):
        asyncio.run(command())


@pytest.mark.parametrize("loaded", [asyncio, None, ModuleType("half imported")])
def test_without_a_loop_it_ends_at_once(loaded: ModuleType | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if loaded is None:
        monkeypatch.delitem(sys.modules, "asyncio")
    else:
        monkeypatch.setitem(sys.modules, "asyncio", loaded)
    with pytest.raises(Terminated):
        os.kill(os.getpid(), signal.SIGTERM)
        pytest.fail("it went on")


def test_an_exception_in_a_loop_that_is_ended_as_it_starts_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    starting = typer.Typer()

    @starting.callback(invoke_without_command=True)
    def _start() -> None:
        with suppress(Terminated):
            os.kill(os.getpid(), signal.SIGTERM)
        raise RuntimeError("Cannot close a running event loop")

    monkeypatch.setattr(main, "app", starting)
    assert main._run([]) == 143
    assert capsys.readouterr().err == ""
