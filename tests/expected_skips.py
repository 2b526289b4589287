"""In CI a skipped test fails, unless its reason is expected: a promise that nobody tries is not kept by anybody.

`make tools` installs what tests need. Elsewhere a skip stays a skip.
"""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

# Reasons that no installation cures, each with why.
EXPECTED = {
    "another C library than glibc 2.33 and later: there is nothing to keep": "the promise is about glibc",
    "this interpreter has given back a larger block before anything of ours runs": (
        "what it measures is then hidden; other versions of Python show it"
    ),
    "no kubectl here to build the overlay": (
        "the kubectl of Debian 12 is of 2020 and cannot build it; newer ones are in no package of Debian 12"
    ),
}

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def in_ci() -> bool:
    return os.environ.get("CI") == "true"


def refuse_unexpected(report: Report) -> Report:
    """Fail a skip in CI that is not expected. An expected failure is reported as a skip too, and stays one."""
    if in_ci() and report.skipped and not hasattr(report, "wasxfail"):
        reason = _reason(report)
        if reason not in EXPECTED:
            report.outcome = "failed"
            report.longrepr = (
                f"skipped in CI: {reason}\nLet `make tools` install what it needs, "
                f"or add the reason to {__name__}.EXPECTED"
            )
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """A skip is reported as its file, line, and `Skipped: REASON`."""
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return said.removeprefix("Skipped: ")


class RefusedSkips:
    """The hooks of pytest."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        return refuse_unexpected((yield))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        return refuse_unexpected((yield))
