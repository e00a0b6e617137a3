"""Platforms: what they are made of, how they are told apart, and that results keep them."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict, fields, replace
from importlib.metadata import version

import numpy as np
import pytest

import everlearn as el
from everlearn.results.platform import UNKNOWN, Platform

HERE = Platform.here()


def test_it_is_told_in_one_line_with_all_its_parts():
    assert "\n" not in str(HERE)
    assert all(getattr(HERE, field.name) in str(HERE) for field in fields(Platform))
    assert str(HERE).startswith(f"{platform.system()} {platform.machine()}, C library ")
    assert f"Python {platform.python_version()}, numba {version('numba')}, numpy {np.__version__}" in str(HERE)


def test_it_is_the_same_in_another_process(runner, tmp_path):
    script = "from everlearn.results.platform import Platform\nprint(Platform.here())\n"
    assert runner("python tell.py", tmp_path, {"tell.py": script}).stdout == f"{HERE}\n"


@pytest.mark.skipif("openblas" not in HERE.blas or sys.platform != "linux", reason="NumPy HAS NO OpenBLAS OF ITS OWN")
def test_the_core_for_which_blas_works_is_part_of_it(tmp_path):
    """In a process that is really started, since BLAS picks its kernels when it is loaded."""
    from tests.boundary.runner import spawn

    script = "from everlearn.results.platform import Platform\nprint(Platform.here().blas)\n"
    told = spawn("python tell.py", tmp_path, {"tell.py": script}, OPENBLAS_CORETYPE="Nehalem").stdout
    assert told.split()[:-1] == HERE.blas.split()[:-1]
    assert told.split()[-1] == "Nehalem"


@pytest.mark.parametrize("name", [field.name for field in fields(Platform)])
def test_a_difference_is_told_by_its_name(name):
    other = replace(HERE, **{name: "another"})
    assert other != HERE
    [told] = HERE.differences(other)
    assert told.endswith(f" another there, {getattr(HERE, name)} here")
    assert told.casefold().startswith("c library" if name == "library" else name)


def test_what_was_stored_is_read_back_and_what_was_not_is_unknown():
    stored = json.loads(json.dumps(asdict(HERE)))
    assert Platform.read({**stored, "later": "more"}) == HERE
    del stored["scipy"]
    assert Platform.read(stored) == replace(HERE, scipy=UNKNOWN)


def test_a_result_keeps_it_and_is_equal_to_one_of_another_platform(tmp_path):
    result = el.run("riverswim", "always", steps=20, engine="reference")
    assert result.platform == HERE
    assert result.to_dict()["platform"] == str(HERE)
    other = replace(result, platform=replace(HERE, numpy="1.0"))
    assert el.load(other.save(tmp_path / "result.npz")).platform.numpy == "1.0"
    assert other == result
