"""`make setup` with a Python for which a package is missing, and then with another one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_a_set_up_that_failed_says_what_to_do_and_leaves_no_python_behind(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    requirements = tmp_path / "requirements"
    requirements.mkdir()
    for name in ("run.txt", "develop.txt", "apart.txt"):
        (requirements / name).write_text(f"missing==1 --hash=sha256:{'0' * 64}\n")
    former = tmp_path / ".venv" / "bin" / "python"
    former.parent.mkdir(parents=True)
    former.symlink_to(shutil.which("false") or "/bin/false")
    # A run of the tests may be a make itself, and would hand its own PYTHON down.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(
        ["make", "setup", f"PYTHON={sys.executable}"],
        cwd=tmp_path,
        env={**outside, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    version = ".".join(map(str, sys.version_info[:3]))
    assert done.returncode == 2, done.stderr
    assert f"cannot be installed for Python {version}" in done.stdout
    assert "make PYTHON=python3.13 setup" in done.stdout
    assert former.resolve() == Path(sys.executable).resolve()
    assert not (tmp_path / ".venv" / ".installed").exists()
