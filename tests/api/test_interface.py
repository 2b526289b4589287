"""Every row of the service's interface, driven by the client against the emulator.

The table names each row; a row without a call, and an operation of the emulator's own document that no row
covers, fail.
"""

from pathlib import Path

import pytest

from drumbeat.emulator.document.build import build_document

from .interface_rows import CONFIG, FREE_FORM, INTERFACE, ROWS, driven

DOCUMENT = build_document(CONFIG, "http://x")


def test_every_row_of_the_interface_has_a_call() -> None:
    assert ROWS.keys() == INTERFACE


@pytest.mark.parametrize("name", sorted(ROWS))
async def test_the_client_drives(name: str, tmp_path: Path) -> None:
    async with driven(tmp_path) as found:
        await ROWS[name](found)


async def test_the_client_lacks_no_operation_of_the_emulators_document(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    described = {
        (method.upper(), path)
        for path, methods in DOCUMENT["paths"].items()
        for method in methods
        if not path.startswith("/_emulator/")
    }
    assert len(described) >= 18
    asked: set[tuple[str, str]] = set()
    for call in ROWS.values():
        async with driven(tmp_path_factory.mktemp("files")) as found:
            await call(found)
            asked |= found.asked
    assert described - asked == set()


def test_every_message_type_of_the_emulator_has_a_value() -> None:
    types = DOCUMENT["components"]["schemas"]["SendRequest"]["anyOf"][0]["properties"]["type"]["enum"]
    assert {"template", *(message.kind for message, _ in FREE_FORM.values())} == set(types)
