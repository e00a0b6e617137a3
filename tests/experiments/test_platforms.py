"""Experiments keep the platforms on which they were computed, and tell who adds another."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import everlearn as el
from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import execute
from everlearn.experiments.manifest import PlatformWarning, platforms
from everlearn.experiments.merge import merge
from everlearn.results.platform import UNKNOWN, Platform
from tests.experiments.small import described, tables

HERE = Platform.here()
MADE_UP = replace(HERE, numpy="1.0", blas="an abacus")
SPEC, LONGER = described(steps=50, runs=2), described(steps=60, runs=2)


def computed_on(path: Path, *others: Platform) -> None:
    """Make an experiment look as if it was computed on these platforms."""
    manifest = Directory(path).read_manifest()
    Directory(path).write_manifest({**manifest, "platforms": [asdict(one) for one in others]})


@pytest.fixture
def out(tmp_path) -> Path:
    return execute(SPEC, tmp_path / "out").path


def test_it_is_in_the_manifest_in_results_and_in_what_is_told(out):
    assert platforms(Directory(out).manifest) == [HERE]
    experiment = el.Experiment(out)
    assert experiment.status["platforms"] == [str(HERE)]
    assert {result.platform for result in experiment.results} == {HERE}


def test_a_visit_that_computes_nothing_changes_nothing(out):
    computed_on(out, MADE_UP)
    before = tables(out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute(SPEC, out)
    assert platforms(Directory(out).manifest) == [MADE_UP]
    assert tables(out) == before


def test_whoever_resumes_on_another_is_told_by_what_it_differs(out):
    computed_on(out, MADE_UP)
    with pytest.warns(PlatformWarning) as caught:
        execute(LONGER, out)
    assert [str(one.message) for one in caught] == [
        f"{out}: was computed on another platform (BLAS an abacus there, {HERE.blas} here; "
        f"numpy 1.0 there, {HERE.numpy} here); results may differ in the last bit"
    ]
    assert platforms(Directory(out).manifest) == [MADE_UP, HERE]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute(LONGER, out)


def test_whoever_finishes_what_was_begun_on_another_is_told_although_others_were_here(tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Platform, "here", classmethod(lambda _: MADE_UP))
        out = execute(SPEC, tmp_path / "out").path
    computed_on(out, MADE_UP, HERE)
    with pytest.warns(PlatformWarning) as caught:
        execute(LONGER, out)
    warning = caught.pop(PlatformWarning).message
    assert warning.path == out
    assert any("an abacus" in difference for difference in warning.differences)


@pytest.mark.soak
def test_the_command_says_it_in_one_line(out, runner):
    computed_on(out, MADE_UP)
    done = runner(f"everlearn experiment extend {out} --steps 60", out)
    assert done.status == 0
    [line] = done.stderr.splitlines()
    assert line.startswith(f"everlearn: warning: {out}: was computed on another platform (BLAS an abacus there, ")
    status = runner(f"everlearn experiment status {out}", out).stdout.splitlines()
    assert [line for line in status if line.startswith("on ")] == [f"on {MADE_UP}", f"on {HERE}"]


def test_where_none_was_stored_nothing_is_said(out):
    computed_on(out)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute(SPEC, out)
    computed_on(out)
    assert {result.platform.numpy for result in el.Experiment(out).results} == {UNKNOWN}


def test_what_is_merged_was_computed_on_all_of_them(out, tmp_path):
    second = execute(SPEC, tmp_path / "second").path
    computed_on(out, MADE_UP)
    assert platforms(merge([out, second], tmp_path / "merged").manifest) == [MADE_UP, HERE]


def test_it_is_in_no_table(out):
    for content in tables(out).values():
        assert HERE.blas.encode() not in content
