"""A skip fails in CI unless it is expected, and only there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.expected_skips import EXPECTED, RefusedSkips

ROOT = Path(__file__).parents[1]
CONFTEST = """
from tests.expected_skips import RefusedSkips

def pytest_configure(config):
    config.pluginmanager.register(RefusedSkips())
"""
SKIPS = f"""
import pytest

@pytest.mark.skipif(True, reason="no such program here")
def test_marked(): ...

def test_in_the_middle():
    pytest.skip("no right to do it")

@pytest.fixture
def tool():
    pytest.skip("no such tool")

def test_of_a_fixture(tool): ...

def test_expected():
    pytest.skip({next(iter(EXPECTED))!r})

@pytest.mark.xfail(strict=True)
def test_known_to_fail():
    assert False

def test_passes(): ...
"""
WHOLE_FILE = 'import pytest\npytest.skip("not on this system", allow_module_level=True)\n'


def run(tmp_path: Path, *, ci: bool) -> str:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_skips.py").write_text(SKIPS)
    (tmp_path / "test_whole_file.py").write_text(WHOLE_FILE)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"PYTHONPATH": str(ROOT)} | ({"CI": "true"} if ci else {})
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-ra",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
    ]
    done = subprocess.run(
        [*words, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode != 0) == ci, done.stdout
    return done.stdout


def test_in_ci_each_skip_that_is_not_expected_fails_with_its_reason(tmp_path: Path) -> None:
    said = run(tmp_path, ci=True)
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 3 errors" in said
    for reason in ("no such program here", "no right to do it", "no such tool", "not on this system"):
        assert f"skipped in CI: {reason}" in said


def test_elsewhere_a_skip_stays_a_skip(tmp_path: Path) -> None:
    assert "1 passed, 5 skipped, 1 xfailed" in run(tmp_path, ci=False)


def test_this_run_is_guarded(pytestconfig: pytest.Config) -> None:
    assert any(isinstance(each, RefusedSkips) for each in pytestconfig.pluginmanager.get_plugins())
