"""A certificate for one measurement, and the trust in it of this process and of those that it starts."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from drumbeat.benchmarks.harness.processes import BenchmarkFailed

TRUSTED = "SSL_CERT_FILE"  # the variable that OpenSSL, aiohttp and httpx read


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate of 127.0.0.1, signed by itself, and its key."""

    chain: Path
    key: Path


@contextmanager
def made_certificate() -> Iterator[Certificate]:
    """Make a certificate with `openssl`, and remove it after the block. BenchmarkFailed without openssl."""
    if shutil.which("openssl") is None:
        raise BenchmarkFailed("`openssl` is needed to make a certificate: install it")
    with tempfile.TemporaryDirectory(prefix="drumbeat-bench-") as home:
        made = Certificate(Path(home) / "certificate.pem", Path(home) / "key.pem")
        options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        command = ["openssl", "req", *options.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run([*command, "-keyout", made.key, "-out", made.chain], check=True, capture_output=True)
        yield made


@contextmanager
def trusting(chain: Path) -> Iterator[None]:
    """Trust these certificates, and no others, in this process and in those that it starts in the block."""
    former = os.environ.get(TRUSTED)
    os.environ[TRUSTED] = str(chain)
    try:
        yield
    finally:
        if former is None:
            del os.environ[TRUSTED]
        else:
            os.environ[TRUSTED] = former
