"""The services of deploy/compose.yaml, as plain values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = DEPLOY / "compose.yaml"
DOCKERFILE = DEPLOY / "Dockerfile"

_VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")


@dataclass(frozen=True)
class Service:
    """One service. `given` is its entry in the file, `image` what the Dockerfile gives to those of our image."""

    name: str
    given: Mapping[str, Any]
    image: Mapping[str, Any]

    @property
    def is_ours(self) -> bool:
        return self.given["image"] == "drumbeat"

    @property
    def command(self) -> list[str]:
        entry_point = self.given.get("entrypoint", self.image["entrypoint"] if self.is_ours else [])
        return [*entry_point, *self.given.get("command", [])]

    @property
    def user(self) -> int:
        return int(str(self.given["user"]).partition(":")[0])

    @cached_property
    def environment(self) -> dict[str, str]:
        own = {name: str(value) for name, value in self.given.get("environment", {}).items()}
        return {**(self.image["environment"] if self.is_ours else {}), **own}

    @property
    def temporary(self) -> list[str]:
        return [entry.partition(":")[0] for entry in self.given.get("tmpfs", [])]

    @property
    def volumes(self) -> dict[str, str]:
        """Path in the container → its source: a named volume, or a path relative to the file."""
        pairs = (entry.removesuffix(":ro").rpartition(":") for entry in self.given.get("volumes", []))
        return {target: source for source, _, target in pairs}

    @property
    def replicas(self) -> int:
        return int(self.given.get("deploy", {}).get("replicas", 1))

    @property
    def health_check(self) -> list[str]:
        """The command of its health check, or that of the image; empty if it has none."""
        check = self.given.get("healthcheck", {})
        if check.get("disable"):
            return []
        return list(check["test"][1:]) if "test" in check else list(self.image["health_check"])


def read_services(variables: Mapping[str, str]) -> dict[str, Service]:
    """All services; `variables` are those that a user sets."""
    filled = _VARIABLE.sub(lambda found: variables.get(found[1], found[2]), COMPOSE.read_text("utf-8"))
    image = read_image()
    return {name: Service(name, given, image) for name, given in yaml.safe_load(filled)["services"].items()}


def read_secrets() -> dict[str, Path]:
    """The file of each secret of the trial."""
    filled = _VARIABLE.sub(lambda found: found[2], COMPOSE.read_text("utf-8"))
    return {name: DEPLOY / given["file"] for name, given in yaml.safe_load(filled)["secrets"].items()}


def read_image() -> dict[str, Any]:
    """What the last stage of the Dockerfile sets: entry point, environment, user, directory, health check."""
    words = dict(line.split(maxsplit=1) for line in instructions(DOCKERFILE)[-1])
    return {
        "entrypoint": yaml.safe_load(words["ENTRYPOINT"]),
        "environment": dict(word.split("=", 1) for word in shlex.split(words["ENV"])),
        "user": words["USER"],
        "directory": words["WORKDIR"],
        "health_check": yaml.safe_load(words["HEALTHCHECK"].partition("CMD ")[2]),
        "stop_signal": words["STOPSIGNAL"],
    }


def instructions(dockerfile: Path) -> list[list[str]]:
    """The instructions of each stage, continued lines joined."""
    text = "\n".join(line for line in dockerfile.read_text("utf-8").splitlines() if not line.startswith("#"))
    lines = [line.strip() for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    stages: list[list[str]] = []
    for line in lines:
        if line.startswith("FROM "):
            stages.append([])
        elif stages:
            stages[-1].append(line)
    return stages
