"""References: by which names they are known, and when they are computed."""

from __future__ import annotations

import pytest

import everlearn as el
from everlearn.experiments.references import OptimumWarning
from everlearn.results.references import BEST, FOUND, OPTIMUM, References
from tests.worlds import pendulum, random_mdp, shop


def test_what_is_found_comes_first_and_what_is_given_stays():
    references = References({"always": 0.1, "optimum": 0.5}, lambda: {OPTIMUM: 0.4999, FOUND: 0.3})
    assert dict(references) == {OPTIMUM: 0.5, FOUND: 0.3, "always": 0.1}
    assert list(references) == [OPTIMUM, FOUND, "always"]


@pytest.mark.parametrize("name", [OPTIMUM, "optimum"])
def test_the_optimum_has_two_names(name):
    references = References({"optimum": 0.5})
    assert (references[name], name in references, references.get(name)) == (0.5, True, 0.5)


@pytest.mark.parametrize("label", [BEST, FOUND])
def test_the_best_is_found_however_it_is_known(label):
    references = References({label: 0.25})
    assert references["best_aleatoric"] == references[BEST] == references[label] == 0.25
    assert references.short() == {"best_aleatoric": 0.25}
    assert "optimum" not in references


def test_they_are_computed_once_and_only_when_asked_for():
    calls = []

    def find() -> dict[str, float]:
        calls.append(1)
        return {OPTIMUM: 0.5}

    references = References({}, find)
    assert not calls
    assert (len(references), repr(references), references["optimum"]) == (1, f"{{{OPTIMUM!r}: 0.5}}", 0.5)
    assert len(calls) == 1


def test_a_run_computes_none_until_it_is_looked_at(monkeypatch):
    calls = []
    monkeypatch.setattr("everlearn.experiments.references.reference_lines", lambda *_: calls.append(1) or {})
    result = el.run(random_mdp(1), "always", steps=5, engine="reference")
    assert repr(result)
    assert not calls
    assert str(result)
    assert calls == [1]


def test_a_task_of_ones_own_has_them():
    result = el.run(shop(), steps=20, engine="reference")
    assert result.references["optimum"] == pytest.approx(0.4)
    assert result.references[BEST] == pytest.approx(0.4)


def test_a_task_without_a_model_has_none():
    assert not el.run(pendulum(), "always", steps=5).references


def test_an_optimum_that_is_stated_wrongly_is_told():
    @el.task(actions=["a"], observations=[0], memory=0, references={"optimum": 0.7}, reward_range=(0, 1))
    def dull(memory, action):
        yield 0, 1.0, 0

    dull.reward(lambda s, action, observation: 0.5)
    with pytest.warns(OptimumWarning) as caught:
        str(el.run(dull, "always", steps=5, engine="reference"))
    warning = caught.pop(OptimumWarning).message
    assert (warning.task, warning.stated, warning.optimum) == ("dull", 0.7, pytest.approx(0.5))
