"""axe-core, which finds what people with disabilities cannot use; npm fetches it, since it is needed for tests alone.

Its licence is MPL-2.0.  It is not part of the project: it is kept in ``build/axe``.
"""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.page.browser import ROOT, Tab

VERSION = "4.14.0"
FOLDER = ROOT / "build" / "axe"


def source() -> str:
    """Return the script; skip the test if npm is missing or cannot fetch it."""
    script = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is missing, and with it axe-core")
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = [
            npm,
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(FOLDER),
            f"axe-core@{VERSION}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=FOLDER)
        if done.returncode:
            pytest.skip(f"npm could not fetch axe-core: {done.stderr.strip()[-200:]}")
    return script.read_text(encoding="utf-8")


def violations(tab: Tab) -> list[str]:
    """Return what axe-core finds on the page, one line for each rule."""
    tab.evaluate(f"window.axe || {json.dumps(source())}.length && (0, eval)({json.dumps(source())}); 0")
    found = tab.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v =>"
        " v.id + ': ' + v.nodes.slice(0, 4).map(n => n.target.join(' ') + ' ' + (n.any[0]?.message ?? '')).join('; ')))"
    )
    assert isinstance(found, list)
    return found
