"""The promotion rule of durable agents: on disk, through crashes, undone, and changed while the agent runs."""

from __future__ import annotations

import random

import pytest
from typer.testing import CliRunner

import everlearn as el
from everlearn.cli.main import app
from everlearn.durable.entry import Kind
from everlearn.durable.looks import Looks
from everlearn.durable.promotion import NEVER, Rule, pack_mode, unpack_mode
from everlearn.durable.reader import Reader
from everlearn.durable.setup import Setup
from everlearn.durable.store import Store
from everlearn.errors import Changed, Corrupt, InputError, StoreFull
from everlearn.protocol import Experience
from tests.refusal import has, refusal

SETUP = {"actions": ["run", "service"], "observations": ["good", "worn"], "start": "good", "reward_range": (0, 1)}
RULE = {"every": 50, "gain": 0.0}


class Machine:
    """A machine that wears; a controller that services it at random, or another that is in control."""

    def __init__(self, seed: int = 1) -> None:
        self.state, self.draw = "good", random.Random(seed).random

    def step(self, agent: el.Live, action: str | None = None) -> None:
        chosen = action or ("service" if self.draw() < 0.3 else "run")
        luck, reward = self.draw(), 0.0 if chosen == "service" else 1.0 if self.state == "good" else 0.4
        if chosen == "service":
            self.state = "good" if luck < 0.9 else self.state
        else:
            self.state = "worn" if luck < 0.2 else self.state
        agent.observe(self.state, executed=chosen, reward=reward)


def shadowed(directory, steps: int = 0, **setup) -> tuple[el.Live, Machine]:
    agent, machine = el.live(directory, **SETUP, seed=1, **setup), Machine()
    agent.shadow()
    for _ in range(steps):
        agent.act()
        machine.step(agent)
    return agent, machine


def until_promoted(agent: el.Live, machine: Machine, most: int = 2000) -> None:
    for _ in range(most):
        agent.act()
        machine.step(agent)
        if agent.mode != "shadow":
            return
    raise AssertionError("it was not promoted")


def events(agent: el.Live) -> list[str]:
    return [row["promotion"]["event"] for row in agent.journal() if "promotion" in row]


def test_an_agent_that_is_better_takes_control_once_and_the_journal_has_the_evidence(tmp_path):
    agent, machine = shadowed(tmp_path, promotion={**RULE, "to": "frozen", "demote": False})
    until_promoted(agent, machine)
    assert agent.mode == "frozen"
    seen = agent.inspect()["promotion"]
    assert seen["promotions"] == 1
    assert seen["in_control"]
    assert seen["promoted"]["lower"] > 0
    (row,) = [row for row in agent.journal() if row.get("promotion", {}).get("event") == "promoted"]
    assert (row["to"], row["mode"]) == ("frozen", "shadow")
    assert row["promotion"]["evidence"]["lower"] == seen["promoted"]["lower"]
    assert row["step"] == seen["promoted"]["step"] == agent.step
    for _ in range(120):
        agent.act()
        machine.step(agent, agent.act())
    assert events(agent).count("promoted") == 1
    agent.close()
    with el.live(tmp_path) as agent, Reader(tmp_path) as reader:
        assert (agent.mode, agent.inspect()["promotion"]) == ("frozen", seen)
        assert reader.standings()["agent"] == (agent.step, "frozen")


def test_the_list_of_agents_reads_the_mode_from_a_row_with_a_note(tmp_path):
    agent, machine = shadowed(tmp_path, promotion={**RULE, "to": "frozen"})
    until_promoted(agent, machine)
    with Reader(tmp_path) as reader:  # the last row is that of the promotion
        assert reader.standings()["agent"] == (agent.step, "frozen")
    agent.close()


def test_every_look_uses_later_steps_alone_and_its_share_of_the_error(tmp_path):
    """In 200 steps there are looks at several candidates, since the policy of the agent still changes."""
    agent, _ = shadowed(tmp_path, 200, promotion={"every": 10, "gain": 0.9})
    fixed, seen = 0, set()
    for row in agent.journal():
        note = row.get("promotion", {})
        if "evidence" in note:
            found = note["evidence"]
            candidate, look = found["candidate"], found["look"]
            assert found["first"] == fixed + 1
            share = 0.05 / (candidate * (candidate + 1) * look * (look + 1))
            assert found["confidence"] == pytest.approx(1 - 2 * share)
            seen.add(candidate)
        if note.get("event") == "candidate":
            fixed = row["step"]
    assert len(seen) > 1
    agent.close()


def test_a_look_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("everlearn.analysis.promotion.MOST_EVIDENCE", 70)
    agent, _ = shadowed(tmp_path, 210, promotion={"every": 50, "gain": 0.9})
    last = agent.inspect()["promotion"]["last_look"]
    assert (last["first"], last["last"], last["steps"]) == (131, 200, 70)
    agent.close()


def test_the_bound_must_exceed_the_gain_for_as_long_as_the_rule_says(tmp_path):
    agent, machine = shadowed(tmp_path, promotion={**RULE, "steps": 200})
    until_promoted(agent, machine)
    rows = [row["promotion"] for row in agent.journal() if "promotion" in row]
    since = rows[-1]["since"][0]
    assert rows[-1]["evidence"]["last"] - since >= 200
    assert all(row["evidence"]["lower"] > 0 for row in rows if row.get("evidence", {}).get("last", 0) >= since)
    agent.close()


def test_hours_are_those_of_the_clock(tmp_path, monkeypatch):
    agent, machine = shadowed(tmp_path, promotion={**RULE, "hours": 24})
    for _ in range(600):
        machine.step(agent)
    seen = agent.inspect()["promotion"]
    assert agent.mode == "shadow"
    assert seen["exceeded_since"] is not None
    now = __import__("time").time()
    monkeypatch.setattr("time.time", lambda: now + 86_400)
    until_promoted(agent, machine, 200)
    agent.close()


def test_demotion_undoes_a_promotion_and_disarms_the_rule_until_it_is_set_again(tmp_path):
    agent, machine = shadowed(tmp_path, promotion=RULE)
    until_promoted(agent, machine)
    for _ in range(2):  # the second one changes nothing
        agent.demote()
    assert agent.mode == "shadow"
    assert events(agent).count("demoted") == 1
    assert not agent.inspect()["promotion"]["armed"]
    assert agent.inspect()["promotion"]["demoted"]["by"] == "an operator"
    agent.close()
    agent = el.live(tmp_path)
    for _ in range(500):
        machine.step(agent)
    assert agent.mode == "shadow"
    assert events(agent)[-1] == "demoted"
    agent.set_promotion(RULE)
    until_promoted(agent, machine)
    assert agent.inspect()["promotion"]["promotions"] == 2
    agent.close()


def test_an_agent_that_turns_out_worse_than_the_controller_is_demoted(tmp_path):
    agent, machine = shadowed(tmp_path, promotion=RULE)
    until_promoted(agent, machine)
    for _ in range(2000):
        machine.step(agent, "service")  # something overrules it
        if agent.mode == "shadow":
            break
    seen = agent.inspect()["promotion"]
    assert agent.mode == "shadow"
    assert seen["last_look"]["upper"] < 0
    assert not seen["armed"]
    assert (seen["demoted"]["step"], seen["demoted"]["by"]) == (agent.step, "the rule")
    (row,) = [row for row in agent.journal() if row.get("promotion", {}).get("event") == "demoted"]
    assert row["promotion"]["reason"] == seen["demoted"]["reason"]
    agent.close()
    text = CliRunner().invoke(app, ["shadow", str(tmp_path)]).output
    assert f"demoted by the rule at step {agent.step:,}: it earned 0 per step in control" in " ".join(text.split())
    assert "disarmed until it is set again" in text


def test_what_was_never_promoted_cannot_be_demoted(tmp_path):
    agent, _ = shadowed(tmp_path, 5, promotion=RULE)
    with pytest.raises(InputError, check=refusal("mode", "shadow")):
        agent.demote()
    assert agent.inspect()["promotion"]["armed"]
    agent.close()


def test_a_rule_that_is_set_outside_shadow_mode_rests_and_says_so(tmp_path, caplog):
    with el.live(tmp_path, **SETUP) as agent:
        agent.set_promotion(RULE)
        assert "starts when the agent changes to shadow mode" in caplog.text
        assert agent.inspect()["promotion"]["next_look"] is None
        caplog.clear()
        agent.shadow()
        agent.set_promotion(RULE)
        assert not caplog.text
        assert agent.inspect()["promotion"]["next_look"] == RULE["every"]


def test_the_rule_can_be_changed_while_the_agent_runs_and_survives(tmp_path):
    agent, machine = shadowed(tmp_path, 120)
    assert agent.core.look_at == NEVER
    assert agent.inspect()["promotion"] is None
    agent.set_promotion({"every": 40})
    for _ in range(100):
        machine.step(agent)
    before = agent.core.snapshot().more
    assert before["trial"]["candidates"] == 1
    agent.close()
    agent = el.live(tmp_path)
    assert agent.core.snapshot().more == before
    assert agent.core.setup.document["promotion"]["every"] == 40
    agent.set_promotion(None)
    assert agent.core.look_at == NEVER
    agent.close()
    with pytest.raises(Changed, check=has(keys=["promotion"])):
        el.live(tmp_path, promotion=RULE)
    with el.live(tmp_path, promotion=RULE, accept_changes=True) as agent:
        assert agent.core.look_at == agent.step + 50
    with el.live(tmp_path) as agent:
        assert agent.core.look_at == agent.step + 50


def test_steps_with_another_reward_are_no_evidence_any_more(tmp_path):
    rule = {"every": 50, "gain": 0.9}
    agent, machine = shadowed(tmp_path, 220, promotion=rule)
    before = agent.core.rule_state
    assert before.looks > 0
    agent.close()
    with el.live(tmp_path, snapshot_every=77, accept_changes=True) as agent:  # this matters to no evidence
        assert agent.core.rule_state == before
    with el.live(tmp_path, reward=lambda s, action, o: float(action == "service"), accept_changes=True) as agent:
        for _ in range(100):
            agent.act()
            agent.observe("good", executed="run" if machine.draw() < 0.5 else "service")
        (last,) = looks(agent)[-1:]
        assert (last["first"], last["last"]) == (271, 320)


def test_a_warm_start_is_no_evidence(tmp_path):
    agent, machine = shadowed(tmp_path, promotion={**RULE, "to": "frozen"})
    until_promoted(agent, machine)
    agent.learn()  # a warm start of a frozen agent is refused
    agent.demote()
    agent.set_promotion({**RULE, "gain": 0.9})
    for _ in range(60):
        machine.step(agent)
    assert agent.core.rule_state.policy
    agent.warm_start([("worn", "run", 0.0)] * 500)
    for _ in range(3):
        machine.step(agent)
    assert looks(agent)[-1]["steps"] < 60
    agent.close()


def test_a_rule_that_could_not_be_set_changes_nothing(tmp_path, monkeypatch):
    agent, _ = shadowed(tmp_path, 5)
    agent.learn()
    action = agent.act(allowed=["service"])

    def full(*_: object) -> None:
        raise StoreFull("full")

    with monkeypatch.context() as patched:
        patched.setattr(agent.store, "arm", full)
        with pytest.raises(StoreFull):
            agent.set_promotion(RULE)
    assert (agent.core.setup.promotion, agent.core.asked_labels) == (None, ["service"])
    assert agent.observe("good", reward=0.0) == 0.0
    assert [row["executed"] for row in agent.journal() if row["step"] == 6] == [action]
    agent.close()


def looks(agent: el.Live) -> list[dict]:
    return [row["promotion"]["evidence"] for row in agent.journal() if "evidence" in row.get("promotion", {})]


def test_after_a_crash_before_the_row_of_a_look_the_same_look_is_taken(tmp_path, monkeypatch):
    steady, machine = shadowed(tmp_path / "steady", 230, promotion=RULE)
    smooth = looks(steady)
    steady.close()
    agent, machine = shadowed(tmp_path / "killed", promotion=RULE)
    take = Looks.take
    for _ in range(230):
        agent.act()
        monkeypatch.setattr(Looks, "take", lambda *_given: None)  # the process ends before
        machine.step(agent)
        monkeypatch.setattr(Looks, "take", take)
        if agent.step >= agent.core.look_at:
            agent.close()
            agent = el.live(tmp_path / "killed")
    assert looks(agent) == smooth
    assert len(smooth) >= 3
    agent.close()


def test_a_full_disk_delays_a_look_and_loses_nothing(tmp_path, monkeypatch):
    agent, machine = shadowed(tmp_path, 49, promotion=RULE)
    append = Store.append_one

    def full(self, number, entry):
        if entry.kind == Kind.MODE:
            raise StoreFull("full")
        append(self, number, entry)

    monkeypatch.setattr(Store, "append_one", full)
    for _ in range(3):
        machine.step(agent)
    assert (agent.step, agent.core.rule_state.candidates) == (52, 0)
    monkeypatch.setattr(Store, "append_one", append)
    machine.step(agent)
    assert (agent.step, agent.core.rule_state.candidates, agent.core.rule_state.anchor) == (53, 1, 53)
    agent.close()


def test_recovery_is_exact_at_every_row(tmp_path):
    """Close without a snapshot after each of many steps; what is replayed is what was."""
    agent, machine = shadowed(tmp_path, promotion={**RULE, "every": 20, "error": 0.5}, snapshot_every=70)
    for step in range(260):
        machine.step(agent)
        if step % 20 in (18, 19, 0):
            before = agent.core.snapshot()
            agent.close()
            agent = el.live(tmp_path)
            assert agent.core.snapshot() == before
            assert agent.core.look_at == agent.core.rule_state.next_look(agent.core.setup.promotion, agent.mode)
    assert "candidate" in events(agent)
    agent.close()


def test_without_support_the_rule_waits(tmp_path):
    agent, machine = shadowed(tmp_path, promotion=RULE)
    for _ in range(400):
        machine.step(agent, "run")  # the controller never services it
    assert agent.mode == "shadow"
    last = agent.inspect()["promotion"]["last_look"]
    assert last is not None
    assert agent.core.rule_state.since is None
    agent.close()


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"gain": "much"}, ("promotion.gain", "much")),
        ({"every": 1}, ("promotion.every", 1)),
        ({"error": 0}, ("promotion.error", 0)),
        ({"error": 0.9}, ("promotion.error", 0.9)),
        ({"to": "shadow"}, ("promotion.to", "shadow")),
        ({"demote": 1}, ("promotion.demote", 1)),
        ({"hours": -1}, ("promotion.hours", -1)),
        ({"day": 1}, ("promotion", "day")),
        ("at once", ("promotion", "at once")),
    ],
)
def test_bad_rules_are_refused_before_anything_is_written(tmp_path, rule, refused):
    with pytest.raises(InputError, check=refusal(*refused)):
        el.live(tmp_path / "new", **SETUP, promotion=rule)
    assert not (tmp_path / "new").exists()


def test_a_design_without_a_policy_cannot_have_a_rule(tmp_path):
    plain = el.Design(lambda _: Experience(0, 0, 0, 0.0, 0), lambda *_: 0, lambda *_: None, name="plain")
    with pytest.raises(InputError):
        el.live(tmp_path / "new", **SETUP, agent=plain, promotion={})


def test_an_agent_with_durations_cannot_have_a_rule(tmp_path):
    with pytest.raises(InputError, check=refusal("promotion")):
        el.live(tmp_path / "new", **SETUP, durations=(1, 2), promotion={})
    with el.live(tmp_path / "new", **SETUP, durations=(1, 2)) as agent:
        with pytest.raises(InputError, check=refusal("promotion")):
            agent.set_promotion({})
        assert agent.inspect()["promotion"] is None


def test_levels_add_up_to_the_error():
    rule = Rule(error=0.05)
    total = sum(rule.level(candidate, look) for candidate in range(1, 300) for look in range(1, 300))
    assert 0.049 < total < 0.05


def test_notes_are_read_as_they_were_written_and_damage_is_noticed():
    assert unpack_mode(b"shadow", 1) == ("shadow", None)
    assert unpack_mode(pack_mode("learn", {"event": "armed"}), 1) == ("learn", {"event": "armed"})
    for damaged in (b"learn\n{", b'learn\n{"event":"other"}', b"learn\n[]", b"\xff"):
        with pytest.raises(Corrupt, check=has(row=7)):
            unpack_mode(damaged, 7)


def test_a_look_that_fails_is_tried_seldom_and_reported_once(tmp_path, monkeypatch, caplog):
    """As without SciPy: the observations are safe, and the look is taken when it can be."""
    tried = []

    def missing(*_arguments):
        tried.append(agent.step)
        raise ModuleNotFoundError("No module named 'scipy'")

    agent, machine = shadowed(tmp_path, promotion=RULE)
    with monkeypatch.context() as broken:
        broken.setattr("everlearn.analysis.promotion.answer", missing)
        for _ in range(310):
            agent.act()
            machine.step(agent)
    assert tried == [100, 101, 103, 107, 115, 131, 163, 213, 263]
    assert caplog.text.count("No module named 'scipy'") == 1
    assert events(agent) == ["candidate"]
    until_promoted(agent, machine)
    agent.close()


def test_a_rule_cannot_be_set_that_needs_more_steps_than_are_retained(tmp_path):
    agent, _ = shadowed(tmp_path, retain=400)
    with pytest.raises(InputError, check=refusal("retain", 400)):
        agent.set_promotion({"every": 100, "steps": 350})
    assert events(agent) == []
    agent.set_promotion({"every": 100, "steps": 300})
    agent.close()


def test_a_directory_with_such_a_rule_opens(tmp_path, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(Setup, "check_evidence", lambda *_arguments: None)
        shadowed(tmp_path, 10, retain=20, promotion={"every": 100})[0].close()
    with el.live(tmp_path) as agent:
        assert agent.step == 10
