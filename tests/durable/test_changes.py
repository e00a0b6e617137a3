"""A durable agent notices when what it depends on has changed, says what, and resumes when that is accepted."""

from __future__ import annotations

import json
import shutil
import sqlite3
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import everlearn as el
from everlearn.durable import fingerprint
from everlearn.durable import store as storing
from everlearn.durable.audit import export
from everlearn.durable.changes import _compare_agent, reopen
from everlearn.durable.checking import check
from everlearn.durable.repair import repair
from everlearn.durable.setup import make_setup
from everlearn.errors import Changed, Corrupt, InputError, SnapshotError
from everlearn.tasks.registry import TASKS
from tests.durable.shops import SHOP, module
from tests.durable.worlds import whole
from tests.few import TASKS_OF_EVERY_KIND, few
from tests.refusal import has, refusal


def opened(place, made, **more):
    """Open an agent for the task, with the design and the schedule, of a module."""
    chosen = {"agent": made.agent} if more.pop("own", True) else {"schedule": made.schedule}
    return el.live(place, made.shop, **{**chosen, "seed": 2, **more})


def drive(agent, steps: int) -> None:
    for step in range(steps):
        agent.act()
        agent.observe("busy" if step % 3 else "idle")


@pytest.fixture
def made(tmp_path):
    return module(tmp_path)


@pytest.fixture
def place(tmp_path, made):
    with opened(tmp_path / "agent", made) as agent:
        drive(agent, 20)
    return tmp_path / "agent"


CHANGES = {
    "every reward halved": (
        ["return 1.0 *", "return 0.5 *"],
        ["the reward changed: r('quiet', 'wait', 'busy') was 1.0 and is now 0.5, and 5 other values differ"],
    ),
    "one reward changed": (
        ["return 1.0 *", 'return 0.25 if s == "loud" and action == "wait" else '],
        ["the reward changed: r('loud', 'wait', 'idle') was 0.0 and is now 0.25, and 1 other value differs"],
    ),
    "f changed at one triple": (
        ['"loud" if observation', '"loud" if (s, action) == ("quiet", "sell") or observation'],
        ["the state function changed: f('quiet', 'sell', 'idle') was 'quiet' and is now 'loud'"],
    ),
    "another start": (['aleatoric("quiet"', 'aleatoric("loud"'], ["the first state was 'quiet' and is now 'loud'"]),
    "a wider range": (["(-1, 1)", "(-2, 2)"], ["the reward range was -1 to 1 and is now -2 to 2"]),
    "raw rewards": (["memory=0", "memory=0, raw=True"], ["rewards are raw now, and were scaled"]),
    "other dynamics": (
        ["0.75 if", "0.625 if"],
        ["the dynamics changed: what follows memory 0 and action 'sell', and 1 other row differs"],
    ),
    "another first memory": (
        ["memory=0", "memory=1"],
        ["the dynamics changed: the first memory was 0 and is now 1"],
    ),
    "learn edited": (
        ["old + RATE", "old + 2 * RATE"],
        ["the source of learn of the agent, or of something that it uses, changed"],
    ),
    "a number that learn uses": (
        ["RATE = 0.5", "RATE = 0.25"],
        ["the source of learn of the agent, or of something that it uses, changed"],
    ),
    "act edited": (
        ["< 0.25", "< 0.5"],
        ["the source of act of the agent, or of something that it uses, changed"],
    ),
    "a constant of build": (["0.1)", "0.2)"], ["bonus in what build returns was 0.1 and is now 0.2"]),
    "what build begins with": (
        ["np.zeros", "np.ones"],
        ["values in what build returns has other values, which matter to a new agent alone"],
    ),
}  # fmt: skip

FINAL = {
    "an action renamed": (['"wait", "sell"]', '"rest", "sell"]'], "the actions changed: 'wait' is gone, 'rest' is new"),
    "actions reordered": (['"wait", "sell"]', '"sell", "wait"]'], "the actions come in another order"),
    "an action added": (['"wait", "sell"]', '"wait", "sell", "rest"]'], "the actions changed: 'rest' is new"),
    "an observation added": (['"busy"], reward', '"busy", "gone"], reward'], "the observations changed: 'gone' is new"),
    "a state added": (['["quiet", "loud"]', '["quiet", "loud", "mad"]'], "the states changed: 'mad' is new"),
    "an array of another shape": (
        ["indexed.actions))", "indexed.actions + 1))"],
        "values in what build returns was float64 (2, 2) and is now float64 (2, 3)",
    ),
    "an array of another type": (
        ["indexed.actions))", "indexed.actions), dtype=np.int64)"],
        "values in what build returns was float64 (2, 2) and is now int64 (2, 2)",
    ),
    "an array added": (
        ["    bonus: float", "    bonus: float\n    more: float = 1.0"],
        "what build returns had bonus, values and has bonus, more, values now",
    ),
}


@pytest.mark.parametrize(("edit", "words"), CHANGES.values(), ids=CHANGES)
def test_a_change_is_refused_in_words_and_can_be_accepted(tmp_path, place, edit, words):
    other = module(tmp_path, tuple(edit))
    with pytest.raises(Changed) as caught:
        opened(place, other)
    assert caught.value.changes == words
    assert "\n" not in str(caught.value)
    with opened(place, other, accept_changes=True) as agent:
        (row,) = [row for row in agent.journal() if row["kind"] == "change"]
        assert (row["step"], row["changes"]) == (20, words)
        assert agent.inspect()["changed"] == {"step": 20, "changes": words}
    with opened(place, other) as agent:
        drive(agent, 3)
        assert agent.step == 23


@pytest.mark.parametrize(("edit", "words"), FINAL.values(), ids=FINAL)
def test_what_no_longer_fits_cannot_be_accepted(tmp_path, place, made, edit, words):
    other = module(tmp_path, tuple(edit))
    for accept in (False, True):
        with pytest.raises(Changed) as caught:
            opened(place, other, accept_changes=accept)
        assert caught.value.changes == [words]
    with opened(place, made) as agent:
        assert agent.step == 20


HARMLESS = {
    "nothing": [],
    "comments": [("# towards the reward", "# at all")],
    "a docstring": [("    # towards the reward\n", '    """Learn."""\n')],
    "learn renamed": [("def learn(", "def study("), ("act, learn,", "act, study,")],
    "the reward renamed": [("def profit(", "def earned(")],
    "the task renamed": [("def shop(", "def store("), ("@shop.", "@store."), ("def pat", "shop = store\ndef pat")],
    "the design renamed": [('name="mine"', 'name="yours"')],
    "the reward written otherwise": [("- 0.5 * (action", "- (1 / 2) * (action")],
    "states in another order": [('["quiet", "loud"]', '["loud", "quiet"]')],
    "the last bit of a reward": [("return 1.0 *", "return (1 + 1e-15) *")],
}  # fmt: skip


@pytest.mark.parametrize("edits", HARMLESS.values(), ids=HARMLESS)
def test_a_harmless_edit_is_no_change(tmp_path, place, made, edits):
    with opened(place, made) as agent:
        expected = whole(agent.core)
    with opened(place, module(tmp_path, *edits)) as agent:
        assert whole(agent.core) == expected
        assert [row for row in agent.journal() if row["kind"] == "change"] == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (("2.0 + t", "3.0 + t"), "the schedule changed: horizon(1) was 3.0 and is now 4.0, and 77 other values differ"),
        (
            ("lambda t: 0.5,", "lambda t: 0.25 if t == 100 else 0.5,"),
            "the source of the schedule, or of something that",
        ),
        (("lambda t: 1.0)", "lambda t: 1.0, rarity=2.0)"), "schedule.rarity was 0.0 and is now 2.0"),
    ],
)
def test_a_schedule_of_ones_own(tmp_path, edit, words):
    made, other = module(tmp_path), module(tmp_path, edit)
    with opened(tmp_path / "agent", made, own=False) as agent:
        drive(agent, 5)
    with pytest.raises(Changed) as caught:
        opened(tmp_path / "agent", other, own=False)
    assert [change[: len(words)] for change in caught.value.changes] == [words]
    renamed = [("def patience", "def wait"), ("(patience", "(wait"), ("t: 1.0)", "t: 1.0, name='other')")]
    opened(tmp_path / "agent", module(tmp_path, *renamed), own=False).close()
    opened(tmp_path / "agent", other, own=False, accept_changes=True).close()
    opened(tmp_path / "agent", other, own=False).close()


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"reward_range": (0, 1)}, {"reward_range": (0, 2)}, "the reward range was 0 to 1 and is now 0 to 2"),
        ({}, {"raw": True}, "rewards are raw now, and were scaled"),
        ({"schedule": "smooth"}, {"schedule": "fixed"}, "the schedule was 'smooth' and is now 'fixed'"),
        (
            {"agent": "growing-horizon"},
            {"parameters": {"schedule.horizon_scale": 3}},
            "schedule.horizon_scale was 12.0 and is now 3.0",
        ),
        ({}, {"snapshot_every": 5}, "snapshot_every was 10000 and is now 5"),
        ({}, {"retain": 5}, "retain was None and is now 5"),
        ({}, {"reward": lambda s, a, o: 0.5}, "the reward follows from the setup now, and was not"),
    ],
)
def test_what_is_declared_can_change_too(tmp_path, before, after, words):
    declared = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1), **before}
    with el.live(tmp_path, **declared) as agent:
        agent.act()
        agent.observe("x", reward=1)
    with pytest.raises(Changed) as caught:
        el.live(tmp_path, **{**declared, **after})
    assert caught.value.changes == [words]
    el.live(tmp_path, **{**declared, **after}, accept_changes=True).close()
    el.live(tmp_path, **{**declared, **after}).close()
    with el.live(tmp_path, **{key: value for key, value in after.items() if callable(value)}) as agent:
        assert agent.step == 1


UNCHANGEABLE = {"seed": 1, "allowed": {"x": ["a"]}, "drift": {"batch": 3}, "agent": "always"}


@pytest.mark.parametrize("key", UNCHANGEABLE)
def test_what_cannot_change(tmp_path, key):
    declared = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
    el.live(tmp_path, **declared).close()
    with pytest.raises(Changed):
        el.live(tmp_path, **declared, **{key: UNCHANGEABLE[key]}, accept_changes=True)
    el.live(tmp_path, **declared).close()


@pytest.mark.parametrize(
    ("argument", "given"),
    [("parameter", {"parameters": {"schedule.forgetting": 0.1}}), ("schedule", {"schedule": "smooth"})],
)
@pytest.mark.parametrize("accept", [True, False])
def test_the_default_agent_keeps_its_name_and_takes_no_schedule(tmp_path, argument, given, accept):
    declared = {"actions": ["a", "b"], "observations": ["x", "y"], "reward_range": (0, 1)}
    el.live(tmp_path, **declared).close()
    with pytest.raises(InputError, check=refusal(argument)):
        el.live(tmp_path, **given, accept_changes=accept)
    with el.live(tmp_path, **declared) as agent:
        assert agent.core.setup.document["agent"] == "versatile"


class TestForgetting:
    DECLARED: ClassVar = {
        "agent": "growing-horizon",
        "actions": ["a", "b"],
        "observations": ["x", "y"],
        "reward_range": (0, 1),
        "parameters": {"schedule.horizon_scale": 3},
    }

    @staticmethod
    def drive(agent, steps):
        for step in range(steps):
            action = agent.act()
            agent.observe("xy"[step % 3 % 2], reward=float(action == "a"))

    def test_it_changes_while_the_agent_runs_as_if_it_was_opened_again(self, tmp_path):
        with el.live(tmp_path / "running", **self.DECLARED) as agent:
            self.drive(agent, 30)
            agent.forgetting(0.2)
            assert agent.core.changed == {"step": 30, "changes": ["schedule.forgetting was 0.0 and is now 0.2"]}
            agent.forgetting(0.2)
            agent._current = False  # as after a commit that failed: it is read from the disk again
            self.drive(agent, 30)
            values, rows = agent.inspect()["values"], [row["kind"] for row in agent.journal()]
            assert [snapshot["step"] for snapshot in agent.snapshots()][:2] == [0, 30]
        assert rows.count("change") == 1
        el.live(tmp_path / "running", parameters={"schedule.horizon_scale": 3, "schedule.forgetting": 0.2}).close()
        with el.live(tmp_path / "again", **self.DECLARED) as agent:
            self.drive(agent, 30)
        changed = {**self.DECLARED["parameters"], "schedule.forgetting": 0.2}
        with el.live(tmp_path / "again", parameters=changed, accept_changes=True) as agent:
            self.drive(agent, 30)
            assert agent.inspect()["values"] == values

    def test_the_pending_action_stays(self, tmp_path):
        with el.live(tmp_path, **self.DECLARED) as agent:
            self.drive(agent, 5)
            action = agent.act(allowed=["b"])
            agent.forgetting(0.2)
            assert agent.act() == action == "b"
            agent.observe("x", reward=0.5)

    def test_what_is_refused_changes_nothing(self, tmp_path):
        with el.live(tmp_path / "taken", **self.DECLARED) as agent:
            for wrong in (1.5, -0.1, "0.1", True, None, float("nan")):
                with pytest.raises(InputError, check=refusal("forgetting")):
                    agent.forgetting(wrong)
            self.drive(agent, 2)
        with el.live(tmp_path / "none", **{**self.DECLARED, "agent": None, "parameters": None}) as agent:
            with pytest.raises(InputError, check=refusal("forgetting", 0.1)):
                agent.forgetting(0.1)
            self.drive(agent, 2)
        with el.live(tmp_path / "other", **{**self.DECLARED, "schedule": "fixed", "parameters": None}) as agent:
            with pytest.raises(InputError, check=refusal("parameter")):
                agent.forgetting(0.1)  # this schedule has no such parameter
            self.drive(agent, 2)


def test_a_name_and_the_object_that_it_names_are_the_same(tmp_path, made, place):
    name = made.__name__
    named = {"agent": f"{name}:agent", "seed": 2}
    with el.live(place, f"{name}:shop", **named) as agent:
        drive(agent, 3)
    with opened(place, made) as agent:
        assert agent.step == 23
    el.live(tmp_path / "named", f"{name}:shop", **named).close()
    with opened(tmp_path / "named", made) as agent:
        drive(agent, 3)
    with el.live(tmp_path / "named") as agent:
        assert agent.step == 3


def test_an_agent_that_was_stored_without_a_name_may_have_one():
    stored, named = ({"name": name, "parameters": {}, "functions": None, "begins": None} for name in ("agent", "mine"))
    assert [*_compare_agent(stored, named, {})] == []
    assert [change.words for change in _compare_agent(named, stored, {})] == ["the agent was 'mine' and is now 'agent'"]


@pytest.mark.parametrize("name", few(sorted(TASKS), TASKS_OF_EVERY_KIND))
def test_every_named_task_is_the_same_again(name):
    made = make_setup(task=name)
    again = reopen(made.encoded(), made.face(), {"task": name})
    assert (again.changes, again.recorded) == ([], True)


def test_a_named_task_that_changed_with_a_version_is_refused(tmp_path, made, monkeypatch):
    monkeypatch.setitem(TASKS, "station", f"{made.__name__}:shop")
    with el.live(tmp_path / "agent", "station") as agent:
        drive(agent, 3)
    other = module(tmp_path, ("return 1.0 *", "return 0.5 *"))
    monkeypatch.setitem(TASKS, "station", f"{other.__name__}:shop")
    with pytest.raises(Changed):
        el.live(tmp_path / "agent")
    assert check(tmp_path / "agent").sound
    el.live(tmp_path / "agent", accept_changes=True).close()
    with el.live(tmp_path / "agent") as agent:
        assert agent.step == 3


def test_a_function_that_raises_where_it_did_not_is_a_change(tmp_path, place):
    other = module(tmp_path, ("return 1.0 *", 'return 0 / (observation != "busy") + '))
    with pytest.raises(Changed) as caught:
        opened(place, other)
    first = "the reward changed: r('quiet', 'wait', 'busy') was 1.0 and now raises an error"
    assert caught.value.changes == [f"{first}, and 3 other values differ"]


def test_of_too_many_values_some_are_compared_and_else_the_source(tmp_path, made, monkeypatch):
    monkeypatch.setattr(fingerprint, "MOST_VALUES", 3)
    monkeypatch.setattr(fingerprint, "MOST_OUTCOMES", 3)
    opened(tmp_path / "large", made).close()
    opened(tmp_path / "large", module(tmp_path, ("def profit(", "def earned("))).close()
    source = "the source of {}, or of something that {}, changed"
    for edit, words in {
        ("return 1.0 *", "return 0.5 *"): "the reward changed: r('quiet', 'sell', 'idle')",
        ("return 1.0 *", "return 1.0 * 1.0 *"): source.format("the reward", "it uses"),
        ('return "loud"', 'return "lo" + "ud"'): source.format("the state function", "it uses"),
        ("p = 0.75", "p = 0.5 + 0.25"): source.format("the dynamics", "they use"),
    }.items():
        with pytest.raises(Changed) as caught:
            opened(tmp_path / "large", module(tmp_path, edit))
        assert [change[: len(words)] for change in caught.value.changes] == [words]


def test_an_environment_without_a_model_is_compared_by_its_source(tmp_path):
    world = "class World:\n    def start(self, rng): self.p = 0.5\n    def step(self, action): return 'idle'\n"
    declared = '@el.task(actions=["wait", "sell"], observations=["idle", "busy"], reward_range=(-1, 1))\n'
    head = SHOP[SHOP.index("@el.task") : SHOP.index("@shop.reward")]
    edit = (head, f"{declared}{world}\nshop = World\n")
    opened(tmp_path / "agent", module(tmp_path, edit)).close()
    opened(tmp_path / "agent", module(tmp_path, edit)).close()
    with pytest.raises(Changed) as caught:
        opened(tmp_path / "agent", module(tmp_path, edit, ("self.p = 0.5", "self.p = 0.25")))
    assert caught.value.changes == ["the source of the dynamics, or of something that they use, changed"]


def test_accepting_keeps_all_that_was_learned(tmp_path, made, place):
    other = module(tmp_path, ("return 1.0 *", "return 0.5 *"), ("(-1, 1)", "(-2, 2)"))
    with opened(place, made) as agent:
        asked = agent.act(["sell"])
        agent.shadow()
        before = whole(agent.core)
    with opened(place, other, accept_changes=True) as agent:
        after = whole(agent.core)
        assert agent.act() == asked
    assert (after["seq"], after["step"], after["mode"]) == (before["seq"] + 1, before["step"], "shadow")
    kept = ("t", "asked", "pending", "gauge")
    assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    with opened(place, other) as agent:
        assert whole(agent.core) == after
        values = agent.core.agent.knowledge.values.tolist()
        agent.save(tmp_path / "after.npz")
    with opened(tmp_path / "again", made) as twin:
        drive(twin, 20)
        assert twin.core.agent.knowledge.values.tolist() == values
        with pytest.raises(SnapshotError, check=has(part="rewards")):
            twin.load(tmp_path / "after.npz")


def test_rows_before_a_wider_range_are_learned_from_with_the_narrow_one(tmp_path, made):
    """Recovery comes to what there was, whether or not a snapshot was taken in between."""
    wide = module(tmp_path, ("(-1, 1)", "(-2, 2)"))
    found = []
    for every in (1, 1000):
        place = tmp_path / str(every)
        with opened(place, made, own=False, snapshot_every=every) as agent:
            drive(agent, 20)
        opened(place, wide, own=False, accept_changes=True).close()
        with opened(place, wide, own=False) as agent:
            drive(agent, 5)
            found.append(agent.core.agent.snapshot().epistemic["cells"].tolist())
    assert found[0] == found[1]


def test_where_learn_changed_rows_since_the_last_snapshot_are_learned_from_again(tmp_path, made):
    other = module(tmp_path, ("old + RATE", "old + 0.1 * RATE"), ("< 0.25", "< 0.75"))
    with opened(tmp_path / "agent", made, snapshot_every=8) as agent:
        drive(agent, 20)
        snapped = agent.snapshots()[-1]["step"]
    with opened(tmp_path / "agent", other, accept_changes=True) as agent:
        row = [*agent.journal()][-1]
        assert row["relearned_since"] == snapped == 16
        expected = whole(agent.core)
        assert [row["observation"] for row in agent.journal()][:3] == ["idle", "busy", "busy"]
    with opened(tmp_path / "agent", other) as agent:
        assert whole(agent.core) == expected
        agent.snapshot()
    with opened(tmp_path / "agent", made, accept_changes=True) as agent:
        assert [*agent.journal()][-1]["relearned_since"] is None


@pytest.mark.parametrize("moment", ["_update", "_insert_snapshot", "_thin_out"])
def test_interrupted_while_it_is_accepted_nothing_changed(tmp_path, made, place, monkeypatch, moment):
    other = module(tmp_path, ("return 1.0 *", "return 0.5 *"))
    with opened(place, made) as agent:
        expected = whole(agent.core)

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(storing, moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            opened(place, other, accept_changes=True)
    with pytest.raises(Changed):
        opened(place, other)
    with opened(place, made) as agent:
        assert whole(agent.core) == expected


def test_crashed_after_it_was_accepted_it_is_there(tmp_path, place):
    other = module(tmp_path, ("return 1.0 *", "return 0.5 *"))
    with opened(place, other, accept_changes=True) as agent:
        shutil.copytree(place, tmp_path / "crashed")
        expected = whole(agent.core)
    with opened(tmp_path / "crashed", other) as agent:
        assert whole(agent.core) == expected


def lose_snapshots(place, least: int) -> None:
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("DELETE FROM snapshots WHERE seq >= ?", (least,))
    connection.close()


def test_without_its_snapshot_a_change_is_resumed_from_the_journal(tmp_path, made):
    wide = module(tmp_path, ("(-1, 1)", "(-2, 2)"))
    place = tmp_path / "agent"
    with opened(place, made, own=False) as agent:
        drive(agent, 20)
    with opened(place, wide, own=False, accept_changes=True) as agent:
        drive(agent, 4)
        expected = whole(agent.core)
    lose_snapshots(place, 1)
    shutil.copytree(place, tmp_path / "repaired")
    with opened(place, wide, own=False) as agent:
        assert whole(agent.core) == expected
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("DELETE FROM journal WHERE seq = 21")
    connection.close()
    with pytest.raises(Corrupt, check=has(table="journal", row=21)):
        opened(place, wide, own=False)


def test_a_repair_resumes_from_a_change(tmp_path, monkeypatch, made):
    wide = module(tmp_path, ("(-1, 1)", "(-2, 2)"))
    place = tmp_path / "agent"
    monkeypatch.setitem(TASKS, "station", f"{made.__name__}:shop")
    with el.live(place, "station") as agent:
        drive(agent, 20)
    monkeypatch.setitem(TASKS, "station", f"{wide.__name__}:shop")
    with el.live(place, accept_changes=True) as agent:
        drive(agent, 4)
        expected = whole(agent.core)
    lose_snapshots(place, 1)
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE journal SET at = at + 1 WHERE seq = 25")
    connection.close()
    assert repair(place)["agents"] == [{"name": "agent", "step": 23, "rows": 24, "unsaved_rows": 0, "lost_rows": 1}]
    assert check(place).sound
    with el.live(place) as agent:
        assert (agent.step, agent.inspect()["changed"]["step"]) == (23, 20)
        agent.act()
        agent.observe("busy" if 3 % 3 else "idle")
        assert whole(agent.core)["state"] == expected["state"]


def test_a_design_is_not_needed_to_check_a_directory_or_to_read_its_journal(place):
    assert check(place).sound
    (found,) = check(place).agents
    assert (found["step"], found["rows"], found["snapshots"], found["verdict"]) == (20, 20, 1, "unknown")
    assert len([*export(place)]) == 20


def test_every_part_of_a_fingerprint_can_be_written_and_is_sealed(place):
    connection = sqlite3.connect(place / "everlearn.db", isolation_level=None)
    (text,) = connection.execute("SELECT face FROM agents").fetchone()
    found = json.loads(text)
    assert len(found["rewards"]["values"]) == len(found["update"]["values"]) == 8
    assert found["changed"] is None
    found["rewards"]["values"][0] = 0.125
    connection.execute("UPDATE agents SET face = ?", (json.dumps(found),))
    connection.close()
    with pytest.raises(Corrupt, check=has(table="agents", agent="agent")):
        el.live(place)


RING = np.roll(np.eye(400), 1, axis=1)


def test_the_same_matrices_are_no_change_and_others_are_one(tmp_path):
    task = el.mdp([RING], np.zeros((400, 1)), reward_range=(0, 1))
    other = RING.copy()
    other[395, [396, 0]] = 0.5
    el.live(tmp_path, task).close()
    for same in (task, el.mdp([RING], np.zeros((400, 1)), reward_range=(0, 1))):
        el.live(tmp_path, same).close()
    with pytest.raises(Changed, check=has(keys=["dynamics"])):
        el.live(tmp_path, el.mdp([other], np.zeros((400, 1)), reward_range=(0, 1)))


@pytest.mark.soak
def test_a_long_table_in_another_order_is_no_change(tmp_path):
    labels = {"actions": ["a"], "observations": list(range(120)), "reward_range": (0, 1)}
    table = [[s, "a", o, o / 120] for s in ["start", *range(120)] for o in range(120)]
    el.live(tmp_path, **labels, reward=table).close()
    el.live(tmp_path, reward=table[::-1]).close()
    missed = min({*range(len(table))} - {*fingerprint.places((range(121), range(1), range(120)))})
    table[missed][3] = 0.99
    with pytest.raises(Changed, check=has(keys=["reward"])):
        el.live(tmp_path, reward=table)


def test_the_last_bits_of_a_reward_are_no_change(tmp_path):
    labels = {"actions": ["a"], "observations": ["x"], "reward_range": (0, 1e-3)}
    el.live(tmp_path, **labels, reward=lambda s, a, o: 1e-4).close()
    el.live(tmp_path, reward=lambda s, a, o: 1e-4 * (1 + 1e-12)).close()
    with pytest.raises(Changed):
        el.live(tmp_path, reward=lambda s, a, o: 1e-4 * (1 + 1e-6))


def test_a_repair_does_without_the_row_of_a_change(tmp_path):
    with el.live(tmp_path, actions=["a", "b"], observations=["x", "y"], reward_range=(0, 1)) as agent:
        for _ in range(20):
            agent.observe("x", "a", reward=0.5)
    with el.live(tmp_path, reward_range=(0, 2), accept_changes=True) as agent:
        agent.observe("y", "b", reward=2)
    connection = sqlite3.connect(tmp_path / "everlearn.db", isolation_level=None)
    connection.execute("UPDATE journal SET payload = zeroblob(10) WHERE seq = 21")
    connection.execute("UPDATE snapshots SET state = zeroblob(9) WHERE seq = 21")
    connection.close()
    assert repair(tmp_path)["agents"] == [{"name": "agent", "step": 20, "rows": 20, "unsaved_rows": 0, "lost_rows": 2}]
    assert check(tmp_path).sound
    with el.live(tmp_path) as agent:
        assert agent.inspect()["counts"][1] == {"state": "x", "actions": {"a": 19.0, "b": 0.0}}
        assert agent.observe("y", "b", reward=2) == 2


class Known(NamedTuple):
    q: np.ndarray


def design_that_shows(*, rate: float = 0.5) -> el.Design:
    def learn(knowledge, experience, now, stream):
        knowledge.q[experience.aleatoric_state] += rate

    return el.Design(
        lambda task: Known(np.zeros(task.states)),
        lambda knowledge, aleatoric_state, now, stream: 0,
        learn,
        inspect=lambda knowledge, now: {"level": knowledge.q},
    )


def test_a_design_in_place_of_the_function_that_made_it_is_named(tmp_path):
    el.live(tmp_path, "riverswim", agent=design_that_shows).close()
    with pytest.raises(Changed, check=has(keys=["agent"])):
        el.live(tmp_path, agent=design_that_shows())


def test_a_design_shows_its_own_arrays(tmp_path):
    with el.live(tmp_path, "riverswim", agent=design_that_shows) as agent:
        agent.observe(1, agent.act())
        assert agent.inspect()["arrays"] == {"level": [0.5, 0, 0, 0, 0, 0]}
