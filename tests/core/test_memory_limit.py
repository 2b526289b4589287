"""The limit of memory, by the files of control groups as Linux writes them."""

import pytest

from drumbeat.engine.core.memory_limit import (
    KEPT_BYTES,
    READER_BYTES_MAX,
    READER_BYTES_MIN,
    group_files,
    least_limit_bytes,
    reader_bytes,
)

GIB = 1 << 30


@pytest.mark.parametrize(
    ("membership", "files"),
    [
        pytest.param(
            "0::/system.slice/drumbeat-console.service\n",
            ["system.slice/drumbeat-console.service/memory.max", "system.slice/memory.max", "memory.max"],
            id="a unit of systemd",
        ),
        pytest.param("0::/\n", ["memory.max"], id="a container"),
        pytest.param(
            "5:cpu,cpuacct:/a\n4:memory:/docker/b\n1:name=systemd:/c\n",
            [
                "memory/docker/b/memory.limit_in_bytes",
                "memory/docker/memory.limit_in_bytes",
                "memory/memory.limit_in_bytes",
            ],
            id="version 1",
        ),
        pytest.param("", [], id="no control groups"),
    ],
)
def test_the_files_of_a_group_and_of_all_above_it(membership: str, files: list[str]) -> None:
    assert group_files(membership) == files


@pytest.mark.parametrize(
    ("texts", "limit_bytes"),
    [
        pytest.param(["max\n", ""], 8 * GIB, id="no limit"),
        pytest.param(
            ["max\n", f"{GIB}\n", f"{2 * GIB}\n"], GIB, id="the least of a group and those above it"
        ),
        pytest.param(["9223372036854771712\n"], 8 * GIB, id="no limit in version 1"),
        pytest.param([f"{64 * GIB}\n"], 8 * GIB, id="more than the machine has"),
    ],
)
def test_the_least_limit_holds(texts: list[str], limit_bytes: int) -> None:
    assert least_limit_bytes(texts, 8 * GIB) == limit_bytes


@pytest.mark.parametrize(
    ("limit_bytes", "share_bytes"),
    [(64 * GIB, READER_BYTES_MAX), (GIB, GIB - KEPT_BYTES), (128 << 20, READER_BYTES_MIN)],
)
def test_a_reader_gets_what_its_starter_leaves(limit_bytes: int, share_bytes: int) -> None:
    assert reader_bytes(limit_bytes) == share_bytes
