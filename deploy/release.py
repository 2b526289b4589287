"""A release: its wheel and its image, each tried alone, with what is in them. `make release` runs it.

python deploy/release.py [DIRECTORY]    writes the wheel, its bill of materials, and digests; default: dist
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEMO_ROWS = 1_000  # enough to send, receive and reconcile; the trial takes seconds
# Nothing of this directory, of its environment or of its settings reaches the trial.
KEPT_VARIABLES = frozenset({"PATH", "LANG", "TMPDIR", "SSL_CERT_FILE", "PIP_CERT", "HTTPS_PROXY", "NO_PROXY"})


def build_wheel(directory: Path) -> Path:
    """Build the wheel with the locked builder of this environment, and return its path."""
    _run([sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps",
          "--no-build-isolation", "--wheel-dir", str(directory), str(ROOT)], ROOT)  # fmt: skip
    (wheel,) = directory.glob("drumbeat-*.whl")
    return wheel


def environment_for(wheel: Path, directory: Path) -> Path:
    """Install the wheel and the locked packages into an environment of their own, as pipx does. Return its
    directory of commands.
    """
    _run([sys.executable, "-m", "venv", str(directory)], ROOT)
    pip = [str(directory / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", str(ROOT / "requirements/run.txt")], ROOT)
    _run([*pip, "--no-deps", str(wheel)], ROOT)
    return directory / "bin"


def try_alone(commands: Path) -> str:
    """Send the made-up campaign with an installed Drumbeat, from an empty directory. Return its version.

    Raise CalledProcessError if anybody got a message twice, or none.
    """
    with tempfile.TemporaryDirectory(prefix="drumbeat-release-") as empty:
        version = _run([str(commands / "drumbeat"), "--version"], Path(empty))
        _run([str(commands / "drumbeat"), "demo", "--rows", str(DEMO_ROWS)], Path(empty))
    return version.split()[-1]


def build_image(version: str) -> str | None:
    """Build the image and try its command. Return its tag, or None if no builder is here."""
    builder = next(filter(_answers, ("docker", "podman")), None)
    if builder is None:
        return None
    tag = f"drumbeat:{version}"
    _run([builder, "build", "--file", "deploy/Dockerfile", "--tag", tag, "."], ROOT)
    _run([builder, "run", "--rm", "--network", "none", tag, "--version"], ROOT)
    return tag


def _answers(builder: str) -> bool:
    """Return whether this builder is installed and its daemon, if it needs one, runs."""
    found = shutil.which(builder)
    if found is None:
        return False
    return subprocess.run([found, "info"], capture_output=True, check=False).returncode == 0  # noqa: S603


def _run(words: list[str], directory: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name in KEPT_VARIABLES}
    done = subprocess.run(  # noqa: S603 - commands of this file
        words, cwd=directory, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    wheel = build_wheel(directory)
    with tempfile.TemporaryDirectory(prefix="drumbeat-release-") as place:
        commands = environment_for(wheel, Path(place) / "environment")
        version = try_alone(commands)
        listed = _run([str(commands / "python"), str(ROOT / "requirements/sbom.py")], ROOT)
    wheel.with_name(f"drumbeat-{version}.sbom.json").write_text(listed, encoding="utf-8")
    digests = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(directory.iterdir())
    ]
    (directory / "SHA256SUMS").write_text("".join(digests), encoding="utf-8")
    sys.stdout.write(f"{wheel}: tried alone, {version}\n")
    tag = build_image(version)
    said = f"{tag}: built and tried" if tag else "no docker or podman answers here: the image is not built"
    sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
