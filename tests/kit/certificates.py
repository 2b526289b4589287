"""A certificate for localhost, signed by itself, as a service of one's own may have."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certificate(NamedTuple):
    chain: Path
    key: Path


def make_certificate(directory: Path) -> Certificate:
    made = Certificate(directory / "chain.pem", directory / "key.pem")
    words = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        f" -keyout {made.key} -out {made.chain} -subj /CN=localhost"
        " -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    )
    subprocess.run(words.split(), check=True, capture_output=True)
    return made
