"""The bill of materials of an environment, as CycloneDX, and the requirements of an image.

python requirements/sbom.py                         writes what is installed beside this Python
python requirements/sbom.py --without NAME < FILE   writes the pinned requirements of FILE but for NAME

It uses the standard library alone, because an image has nothing else when it is built.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions

SPECIFICATION = "1.5"


def bill() -> dict[str, object]:
    """Return the bill of materials of this environment."""
    components = sorted((_component(each) for each in distributions()), key=lambda found: str(found["purl"]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "components": components,
    }


def without(name: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield pinned requirements but for one package. Its hashes are the indented lines below it."""
    leaves = False
    for line in lines:
        if not line.startswith((" ", "#", "\n")):
            leaves = _normal(re.split(r"[=\s\[]", line, maxsplit=1)[0]) == _normal(name)
        if not leaves:
            yield line


def _component(found: Distribution) -> dict[str, object]:
    said = found.metadata
    name = _normal(said["Name"])
    licence = said.get("License-Expression") or said.get("License")
    component: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": found.version,
        "purl": f"pkg:pypi/{name}@{found.version}",
    }
    # Some packages give the whole text of their licence, which is no name.
    if licence and "\n" not in licence:
        component["licenses"] = [{"license": {"name": licence}}]
    return component


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    if sys.argv[1:2] == ["--without"]:
        sys.stdout.writelines(without(sys.argv[2], sys.stdin))
    else:
        json.dump(bill(), sys.stdout, indent=1)


if __name__ == "__main__":
    main()
