"""The scenarios: faults and their times in a TOML file. With the same seed a scenario repeats exactly."""

import tomllib
from dataclasses import dataclass
from typing import Any

from drumbeat.emulator.config import ConfigError, FaultConfig, fault_config

_MEMBERS = {"name", "seed", "fault"}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario. `seed` None keeps the seed of the emulator."""

    name: str
    seed: int | None
    faults: tuple[FaultConfig, ...]


def read_scenario(text: str) -> Scenario:
    """Return a scenario from TOML. `ConfigError` says what is invalid.

    The file has `name`, `seed`, and any number of `[[fault]]` with `kind`, `probability`, `count`, `number`,
    `from_s`, `until_s` and the options of the kind.
    """
    try:
        content: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"the scenario is not TOML: {error}") from None
    if unknown := set(content) - _MEMBERS:
        raise ConfigError(f"a scenario has {', '.join(sorted(_MEMBERS))}, not {', '.join(sorted(unknown))}")
    seed, faults = content.get("seed"), content.get("fault", [])
    if not isinstance(seed, int | None) or isinstance(seed, bool) or not isinstance(faults, list):
        raise ConfigError("seed is a whole number, and each fault is a table [[fault]]")
    return Scenario(str(content.get("name", "")), seed, tuple(map(fault_config, faults)))
