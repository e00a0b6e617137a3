"""Where results come from."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy
import pytest

import everlearn as el
from everlearn.results import provenance as module
from everlearn.results.provenance import arithmetic, commit, provenance


@pytest.fixture
def anew():
    """Nothing is remembered, before and after."""
    commit.cache_clear()
    yield
    commit.cache_clear()


def test_it_tells_versions_and_machine():
    found = provenance()
    assert found["everlearn"] == el.__version__
    assert found["platform"]["numpy"] == numpy.__version__
    assert found["platform"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["processors"] == os.cpu_count()
    assert json.loads(json.dumps(found)) == found


def test_arithmetic_is_the_same_in_another_process(runner, tmp_path):
    code = "from everlearn.results.provenance import arithmetic; print(arithmetic())"
    done = runner("python arithmetic.py", tmp_path, {"arithmetic.py": code})
    assert done.stdout.strip() == arithmetic()
    assert re.fullmatch("[0-9a-f]{16}", arithmetic())


def test_a_commit_is_named_in_a_source_tree_alone(anew, monkeypatch):
    tree = Path(module.__file__).resolve().parents[3] / ".git"
    found = commit()
    assert found is None or re.fullmatch(r"[0-9a-f]{40}(\+changes)?", found)
    assert (found is not None) <= tree.exists()


def test_without_git_there_is_no_commit(anew, monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    assert commit() is None


def test_git_that_fails_is_no_commit(anew, monkeypatch):
    monkeypatch.setattr(module.shutil, "which", lambda name: sys.executable)
    assert commit() is None
