"""The wheel, as somebody installs it who has never seen this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import everlearn as el

ROOT = Path(__file__).parents[1]


def call(*command: object, cwd: Path, **variables: str) -> str:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
    arguments = [os.fspath(part) for part in command]
    done = subprocess.run(
        arguments, cwd=cwd, env=clean | variables, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    call(*pip, "--no-deps", "--no-build-isolation", "-w", folder, ".", cwd=ROOT)
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name.startswith(f"everlearn-{el.__version__}-")
    assert {name.split("/")[0] for name in names} == {"everlearn", f"everlearn-{el.__version__}.dist-info"}
    assert "everlearn/py.typed" in names
    assert {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")} <= set(names)
    assert {"everlearn/play/screen.js", "everlearn/play/style.css"} <= set(names)


def test_the_wheel_runs_elsewhere(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    pip = [programs / "pip", "install", "--quiet", "--disable-pip-version-check"]
    call(*pip, "-c", ROOT / "requirements" / "constraints.txt", wheel, cwd=tmp_path)
    (tmp_path / "elsewhere").mkdir()
    printed = call(
        programs / "everlearn", "run", "service-station", "--steps", "1e3", "--json", cwd=tmp_path / "elsewhere"
    )
    document = json.loads(printed)
    assert (document["steps"], document["version"]) == (1000, el.__version__)
    where = call(programs / "python", "-c", "import everlearn; print(everlearn.__file__)", cwd=tmp_path / "elsewhere")
    assert Path(where.strip()).is_relative_to(tmp_path)
