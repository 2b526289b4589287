"""Each error has an exit code and says what happened, where, and what to do."""

from __future__ import annotations

import pytest

from drumbeat.engine import errors
from drumbeat.engine.api.service_error import ServiceError


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [
        (errors.DrumbeatError, 1),
        (ServiceError, 1),
        (errors.UsageError, 2),
        (errors.Incomplete, 3),
        (errors.Unreachable, 69),
        (errors.TryLater, 75),
        (errors.AuthenticationError, 77),
        (errors.ConfigurationError, 78),
    ],
)
def test_exit_codes(kind: type[errors.DrumbeatError], exit_code: int) -> None:
    assert kind("x").exit_code == exit_code


def test_a_message_is_one_line_of_what_where_and_remedy() -> None:
    error = errors.ConfigurationError("no such column", where="a.csv", remedy="name it with --phone-column")
    assert str(error) == "no such column (a.csv): name it with --phone-column"
    assert str(errors.TryLater("busy")) == "busy"
