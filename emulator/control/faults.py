"""The faults and scenarios, set and cleared while the service runs."""

from collections.abc import Container, Iterable
from dataclasses import replace

from drumbeat.emulator.config import ConfigError, FaultConfig, fault_config
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.faults.table import Faults
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.scenario import read_scenario
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object


class FaultControl:
    """The endpoints `/_emulator/faults` and `/_emulator/scenario`."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def list(self, _request: Request) -> Reply:
        """Return the faults in force, with the number of times that each occurred."""
        return json_reply({"faults": [fault.record() for fault in self._service.faults]})

    def add(self, request: Request) -> Reply:
        """Add faults: `{"kind", "probability"?, "count"?, …}` or `{"faults": [...]}`."""
        content = parse_object(request.body)
        given = content.get("faults", [content])
        if not isinstance(given, list):
            raise Refused(100, "faults is an array")
        try:
            wanted = [fault_config(fault) for fault in given]
            self._try_out(wanted, self._service.numbers)
            for config in wanted:
                self._service.faults.add(config)
        except ConfigError as error:
            raise Refused(100, str(error)) from None
        return self.list(request)

    def clear(self, _request: Request) -> Reply:
        """Remove every fault."""
        self._service.faults.clear()
        return json_reply({"success": True})

    def play(self, request: Request) -> Reply:
        """Play a scenario, given as TOML in the body. The service is reset to its seed, and its
        faults begin.
        """
        try:
            scenario = read_scenario(request.body.decode())
            self._try_out(scenario.faults, {number.id for number in self._service.config.numbers})
            if scenario.seed is not None:
                self._service.config = replace(self._service.config, seed=scenario.seed)
            self._service.reset()
            self._service.faults.clear()
            for fault in scenario.faults:
                self._service.faults.add(fault)
        except (ConfigError, UnicodeDecodeError) as error:
            raise Refused(100, str(error)) from None
        return json_reply({"success": True, "name": scenario.name, "seed": self._service.config.seed})

    def _try_out(self, wanted: Iterable[FaultConfig], numbers: Container[str]) -> None:
        """Raise `ConfigError` for an invalid fault, before anything changes."""
        trial = Faults(0, self._service.clock, numbers)
        for config in wanted:
            trial.add(config)
