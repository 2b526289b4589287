"""How the C library handles a block of the size of a TLS read, in a fresh interpreter."""

import os
import subprocess
import sys

import pytest

SEEN = """
import ctypes, sys
from drumbeat.engine.process.memory import READ_BYTES, keep_large_blocks

class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "free_blocks", "fast_blocks", "mapped_blocks", "mapped_bytes",
        "unused", "fast_bytes", "used_bytes", "free_bytes", "top_bytes")]

library = ctypes.CDLL(None)
if not hasattr(library, "mallinfo2"):
    sys.exit("no glibc")
library.mallinfo2.restype = Mallinfo

def mapped_for_a_read():
    before = library.mallinfo2().mapped_blocks
    read = bytes(READ_BYTES)
    return library.mallinfo2().mapped_blocks - before

if sys.argv[1:]:
    keep_large_blocks()
print(mapped_for_a_read())
"""


def mapped_blocks(*words: str) -> int:
    fixed = ("MALLOC_", "GLIBC_TUNABLES")  # may fix the threshold
    kept = {name: value for name, value in os.environ.items() if not name.startswith(fixed)}
    done = subprocess.run(
        [sys.executable, "-c", SEEN, *words],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.stderr.strip() == "no glibc":
        pytest.skip("another C library than glibc 2.33 and later: there is nothing to keep")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_tls_read_maps_no_new_memory() -> None:
    if mapped_blocks() == 0:
        pytest.skip("this interpreter has given back a larger block before anything of ours runs")
    assert mapped_blocks("keep") == 0
