"""Stops the run's Postgres and removes its directory when the run ends, however it ends.

    python -m drumbeat.testing.reaper HOME

Waits for the end of its standard input, whose other end the run holds: a killed run lets go of it as well.
"""

import shutil
import sys
from pathlib import Path


def main(home: Path) -> None:
    sys.stdin.buffer.read()
    try:
        if (home / "postgres").exists():
            from drumbeat.engine.process.embedded_postgres import (
                stop_embedded,  # late: most runs never start the server
            )

            stop_embedded(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
