"""What every public thing looks like when it is printed: a line or two that a person can read."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable
from typing import Any

import pytest

import everlearn as el
from everlearn.analysis.regret import Regret
from everlearn.experiments.rows import Rows
from tests.worlds import Pendulum, random_mdp, shop

TUNING = {"steps": 20, "runs": 2, "candidates": 2, "final_runs": 2, "task": "riverswim", "agent": "growing-horizon"}
SEARCH = {"schedule.optimism_scale": [0.1, 0.2]}


def compared() -> el.Experiment:
    return el.experiment(random_mdp(1), ["always", "growing-horizon"], steps=20, runs=2, engine="reference")


def result() -> el.Result:
    return el.run(random_mdp(1), steps=20, runs=2, engine="reference")


def evaluation() -> el.Evaluation:
    with el.live(directory := tempfile.mkdtemp(), "riverswim") as agent:
        agent.warm_start([(0, "left")] * 20)
    return el.evaluate(directory, "left")


def replayed() -> el.Replay:
    with el.live(directory := tempfile.mkdtemp(), "riverswim") as agent:
        agent.warm_start([(0, "left")] * 20)
    return el.replay(directory)


def shadow_report() -> el.ShadowReport:
    with el.live(directory := tempfile.mkdtemp(), "riverswim") as agent:
        agent.shadow()
        for _ in range(20):
            agent.observe(0, executed="left")
    return el.shadow_report(directory)


def live() -> el.Live:
    return el.live(tempfile.mkdtemp(), "riverswim")


MADE: dict[str, Callable[[], Any]] = {
    "Agent": lambda: el.Agent(random_mdp(1), "growing-horizon"),
    "AgentState": lambda: el.Agent(random_mdp(1), "growing-horizon").snapshot(),
    "AleatoricPolicy": lambda: el.AleatoricPolicy(random_mdp(1, states=300), [[0.25, 0.25, 0.5]] * 300),
    "AleatoricState": lambda: el.window(2),
    "Client": lambda: el.Client("http://user:secret@127.0.0.1:9/base", "pump", token="secret", fallback="off"),
    "Design": lambda: el.Agent(random_mdp(1), "always", parameters={"agent.policy": [[0.2, 0.3, 0.5]] * 3}).design,
    "Box": lambda: el.Box([0], [1]),
    "Environment": Pendulum,
    "Evaluation": evaluation,
    "EverlearnError": lambda: el.EverlearnError("something is wrong"),
    "Experience": lambda: el.Experience(0, 1, 0, 1.0, 1),
    "Experiment": compared,
    "Features": lambda: el.Features(lambda s: (s,), active=1, size=3),
    "IndexedTask": lambda: el.IndexedTask(random_mdp(1)),
    "Live": live,
    "Model": lambda: shop().finish().model,
    "Network": lambda: el.Network((0.5,), ((1.0,),), (None,), (1,)),
    "Replay": replayed,
    "ScheduleValues": lambda: el.Agent(random_mdp(1)).now,
    "Result": result,
    "Reward": lambda: random_mdp(1).reward,
    "Schedule": lambda: el.Agent(random_mdp(1), schedule="smooth").design.schedule,
    "ShadowReport": shadow_report,
    "Task": lambda: random_mdp(1),
    "Theory": lambda: el.Theory(random_mdp(1)),
    "Tuned": lambda: el.tune({**TUNING, "search": SEARCH}),
    # what public functions return
    "compare": lambda: compared().compare(),
    "regret": lambda: el.regret(result()),
    "task": shop,
}
ALLOWED = {"Environment": "a protocol; what a user writes has the repr that they give it"}
CLASSES = [name for name in el.__all__ if inspect.isclass(getattr(el, name))]


def test_every_public_class_is_looked_at():
    assert set(CLASSES) <= set(MADE)


@pytest.mark.parametrize("name", [name for name in MADE if name not in ALLOWED])
def test_a_repr_is_short(name):
    made = MADE[name]()
    text = repr(made)
    assert " at 0x" not in text
    assert "array(" not in text
    assert "secret" not in text
    if name != "compare":  # which is a matrix
        assert len(text.splitlines()) <= 2
        assert len(text) <= 250
    for printed in (str(made), getattr(made, "_repr_html_", str)()):
        assert "array(" not in printed
        assert " at 0x" not in printed


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Agent", "Agent('growing-horizon' on 'random-1', t = 0)"),
        ("Client", "Client('pump' at http://127.0.0.1:9/base, connected, 0 waiting)"),
        ("Design", "Design('always': policy=[[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]])"),
        ("AgentState", "AgentState(aleatoric 0, epistemic cells 3x"),
        ("Theory", "Theory('random-1': 3 aleatoric states, 3 actions)"),
    ],
)
def test_a_repr_says_what_it_is(name, words):
    assert repr(MADE[name]()).startswith(words)


def test_a_theory_shows_what_it_has_computed():
    theory = el.Theory(random_mdp(1))
    best = theory.best_aleatoric
    assert f"best over aleatoric states {best.average_reward:.6g}" in repr(theory)
    assert "optimum over all policies" in repr(theory)
    assert "over aleatoric states" in repr(best)
    assert "over all policies" in repr(theory.optimum)


@pytest.mark.parametrize("name", ["Result", "Experiment", "Theory", "Tuned", "compare"])
def test_a_notebook_has_something_to_show(name):
    assert "<table>" in MADE[name]()._repr_html_()


def test_rows_are_a_table():
    rows = Rows([{"task": "<b>", "mean": 0.12345, "note": None}])
    assert repr(rows) == str(rows) == "task  mean\n<b>   0.1235"
    assert rows._repr_html_() == (
        "<table><tr><th>task</th><th>mean</th></tr><tr><td>&lt;b&gt;</td><td>0.1235</td></tr></table>"
    )
    assert repr(Rows()) == ""


def test_a_named_tuple_of_arrays_is_printed_in_a_line():
    assert repr(Regret(result().times, *([result().per_run[0]] * 2), result().per_run)).startswith("Regret(2 runs at ")
