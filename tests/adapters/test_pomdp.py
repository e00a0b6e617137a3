"""Files in Cassandra's format: the whole grammar, tasks made of them, and the place of every error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import everlearn as el
from everlearn.adapters.pomdp import from_pomdp
from everlearn.adapters.pomdp_file import read_pomdp
from everlearn.errors import InputError
from everlearn.tasks.registry import make_task
from everlearn.theory.beliefs import bracket
from tests.refusal import refusal

PREAMBLE = "discount: 0.9\nvalues: reward\nstates: a b c\nactions: stay go\nobservations: dim lit\n"
REST = "T: * identity\nO: * uniform\n"

TIGER = """
# The tiger, with comments
discount: 0.95  # which is not used
values: reward
states: left right
actions: listen open-left open-right
observations: hear-left hear-right
start: uniform
T: listen identity
T: open-left uniform
T: open-right : * uniform
O: listen
0.85 0.15
0.15 0.85
O: open-left uniform
O: open-right : left : hear-left 0.5
O: open-right : left : hear-right 0.5
O: 2 : 1
0.5 0.5
R: listen : * : * : * -1
R: open-left : left : * : * -100
R: open-left : right : * : * 10
R: open-right : left
10 10 10 10
R: open-right : right : *
-100 -100
"""


def written(folder: Path, text: str, name: str = "file.pomdp") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_file_is_the_task_that_was_written_by_hand(tmp_path):
    task = el.from_pomdp(written(tmp_path, TIGER))
    assert task.hidden
    assert task.actions == ("listen", "open-left", "open-right")
    assert task.observations[0] == ("hear-left", "-1")
    assert "0.95, is not used" in task.summary
    bounds, tiger = bracket(task), bracket(make_task("tiger"))
    assert [bounds.lower, bounds.upper] == pytest.approx([tiger.lower, tiger.upper], abs=1e-9)


def test_a_file_is_named_wherever_a_task_is(tmp_path, monkeypatch):
    written(tmp_path, TIGER, "tiger.pomdp")
    monkeypatch.chdir(tmp_path)
    result = el.run("pomdp:tiger.pomdp", steps=500, parameters={"task.aleatoric": "window:2"}, engine="compiled")
    slow = el.run("pomdp:tiger.pomdp", steps=500, parameters={"task.aleatoric": "window:2"}, engine="reference")
    assert result.total_reward.tolist() == slow.total_reward.tolist()


def test_a_maze_written_to_a_file_is_the_same_maze(tmp_path):
    """What a step observes there depends on the next state alone, so that the format can say it."""
    maze = make_task("maze-4x3")
    places = [place for place, _ in maze.model.first] + [(0, 3), (1, 3)]
    names = {place: f"s{place[0]}{place[1]}" for place in places}
    lines = [f"states: {' '.join(names.values())}", f"actions: {' '.join(maze.actions)}"]
    lines += [f"observations: {' '.join(maze.observations)}", "start exclude: s03 s13", "R: * : * : * : * -0.04"]
    lines += ["R: * : * : s03 : * 1", "R: * : * : s13 : * -1"]
    for action in maze.actions:
        for place in places:
            totals = dict.fromkeys(places, 0.0)
            for outcome in maze.model.outcomes(place, action):
                totals[outcome.memory] += outcome.probability
                lines.append(f"O: * : {names[outcome.memory]} : {outcome.observation} 1")
            lines += [f"T: {action} : {names[place]} {' '.join(map(repr, totals.values()))}"]
    task = el.from_pomdp(written(tmp_path, "\n".join(lines)))
    assert task.observations == tuple(dict.fromkeys(task.observations))
    for place in places:
        for action in maze.actions:
            mine = {(o.observation, names[o.memory]): 0.0 for o in maze.model.outcomes(place, action)}
            for outcome in maze.model.outcomes(place, action):
                mine[outcome.observation, names[outcome.memory]] += outcome.probability
            theirs = {(o.observation, o.memory): o.probability for o in task.model.outcomes(names[place], action)}
            assert theirs == pytest.approx(mine)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("", [1 / 3, 1 / 3, 1 / 3]),
        ("start: 0.5 0.25 0.25", [0.5, 0.25, 0.25]),
        ("start: uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("start: b", [0, 1, 0]),
        ("start: 1 0 0", [1, 0, 0]),
        ("start include: a c", [0.5, 0, 0.5]),
        ("start exclude: 0", [0, 0.5, 0.5]),
        ("start include: *", [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_the_first_state(start, expected):
    assert read_pomdp(f"{PREAMBLE}{start}\n{REST}", "f").start == pytest.approx(expected)


def test_a_numbered_state_can_be_the_first():
    text = "states: 3 actions: 1 observations: 1 start: 2 T: 0 identity O: 0 uniform"
    assert read_pomdp(text, "f").start.tolist() == [0, 0, 1]


def test_what_comes_later_replaces_what_came_before():
    text = (
        f"{PREAMBLE}{REST}T: go : a : a 0 T: go : a : b 1 R: * : * : * : * 1 R: go : * : b : * 5 R: go : a : * : lit 7"
    )
    process = read_pomdp(text, "f")
    assert process.transitions[1, 0].tolist() == [0, 1, 0]
    assert process.transitions[0, 0].tolist() == [1, 0, 0]
    assert [process.reward(1, 0, 1, seen) for seen in (0, 1)] == [5, 7]
    assert process.reward(0, 0, 1, 1) == 1


def test_reset_costs_and_processes_without_observations():
    text = "values: cost states: 2 actions: 1 start: 1 T: 0 : 0 reset T: 0 : 1 0.25 0.75 R: 0 : 1 : 0 3"
    process = read_pomdp(text, "f")
    assert process.transitions[0].tolist() == [[0, 1], [0.25, 0.75]]
    assert process.reward(0, 1, 0, 0) == -3
    assert str(process.reward(0, 0, 0, 0)) == "0.0"
    assert process.seen[0].tolist() == np.eye(2).tolist()


def test_rounded_rows_are_scaled():
    text = f"{PREAMBLE}T: * identity\nT: go : a 0.3333333 0.3333333 0.3333333\nO: * uniform"
    assert read_pomdp(text, "f").transitions[1, 0].sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "place", "value"),
    [
        (f"{PREAMBLE}T: lift identity", "f, line 6, column 4", "lift"),
        (f"{PREAMBLE}T: go : a\n0.5 x 0.5", "f, line 7, column 5", "x"),
        (f"{PREAMBLE}T: go : a\n0.5 0.5", "f, line 7, column 8", "the end of the file"),
        (f"{PREAMBLE}T: go : a : b : lit 1", "f, line 6, column 15", ":"),
        (f"{PREAMBLE}start: 0.5 0.4 0", "f, line 6, column 8", "0.5"),
        (f"{PREAMBLE}{REST}P: 1", "f, line 8, column 1", "P"),
        ("states: 2\nT: 0 identity", "f, line 2, column 1", "T"),
        ("states: a a", "f, line 1, column 11", "a"),
        (f"{PREAMBLE}values cost", "f, line 6, column 1", "values"),
        (f"{PREAMBLE}states: 3", "f, line 6, column 1", "states"),
        (f"{PREAMBLE}T: * identity\nO: * uniform\nT: go : b 0.5 0.4 0", "f, line 8, column 11", "T: go : b"),
        (f"{PREAMBLE}T: *\n1 0 0\n0 1 0\n 0 0.5 0\nO: * uniform", "f, line 9, column 2", "T: stay : c"),
        (f"{PREAMBLE}T: *\n1 0 0 0 1 0\n0 0.5 0\nO: * uniform", "f, line 8, column 1", "T: stay : c"),
        (f"{PREAMBLE}T: *\n1 0 0\n0 1\n0 0 1\nO: * uniform", "f, line 8, column 1", "0"),
        (f"{PREAMBLE}T: *\n1 0 0\n0 1 0\n0 0 1 0\nO: * uniform", "f, line 9, column 1", "0"),
        (f"{PREAMBLE}T: * identity\nT: go : b : c 0.5\nO: * uniform", "f, line 7, column 15", "T: go : b"),
        (f"{PREAMBLE}T: * identity", "f, line 6, column 14", "O: stay : a"),
        (f"{PREAMBLE}start exclude: *", "f, line 6, column 7", "exclude"),
        (f"{PREAMBLE}T: \u00b2 identity", "f, line 6, column 4", "\u00b2"),
        ("states: 100000000000", "f, line 1, column 9", "100000000000"),
        ("states: " + "9" * 5000, "f, line 1, column 9", "9" * 5000),
    ],
)
def test_errors_say_where(text, place, value):
    with pytest.raises(InputError) as caught:
        read_pomdp(text, "f")
    assert (caught.value.argument, caught.value.value) == (place, value)


def test_a_short_file_that_describes_too_much_is_refused(tmp_path):
    file = tmp_path / "dense.pomdp"
    file.write_text("states: 500 actions: 1 observations: 500 T: * uniform O: * uniform")
    with pytest.raises(InputError, check=refusal("file")):
        from_pomdp(file)
