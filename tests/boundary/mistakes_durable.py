"""Mistakes with durable agents that are declared by their labels: setups, rewards, logs, changes and damage."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_gymnasium import line

LABELS = 'actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1)'


def pump(title: str, more: str, text: str, answer: str) -> Mistake:
    """Return a mistake with a new agent, which may have more arguments."""
    return line("live", title, f'agent = el.live("agent", {LABELS}{more})\n{text}', answer)


def setup(title: str, more: str, answer: str) -> Mistake:
    """Return a mistake in the setup of a new agent."""
    return line("live", title, f'el.live("agent", {LABELS}, {more})', answer)


def log(title: str, text: str, answer: str) -> Mistake:
    """Return a mistake in a file of a log."""
    script = f'import everlearn as el\n\nel.live("agent", {LABELS}).warm_start("log.csv")\n'
    return Mistake("live", title, {"log.csv": text, "mine.py": script}, "python mine.py", answer)


def reopened(title: str, old: str, new: str, answer: str) -> Mistake:
    """Return a mistake in the arguments with which an agent is opened again."""
    return line("live", title, f'el.live("agent", {LABELS}{old}).close()\nel.live("agent"{new})', answer)


def damaged(title: str, statement: str, answer: str) -> Mistake:
    """Return what is said of an agent whose database was damaged."""
    text = f"""import sqlite3

with el.live("agent", {LABELS}) as agent:
    agent.warm_start([("dry", "on", 1.0)] * 9)
connection = sqlite3.connect("agent/everlearn.db", isolation_level=None)
connection.execute("DELETE FROM snapshots")
connection.execute({statement!r})
connection.close()
el.live("agent")"""
    return line("live", title, text, answer)


MISTAKES = [
    pump(
        "a late reward that contradicts the one that came",
        ", reward_delay=1",
        'agent.act()\nagent.observe("dry")\nagent.reward(1, 0.5)\nagent.reward(1, 0.25)',
        "step 1 has the reward 0.5, not 0.25; step 2 is due",
    ),
    pump(
        "a reward of a step that is not observed",
        ", reward_delay=1",
        "agent.reward(1, 0.5)",
        "step 1 is not observed yet; step 1 is due",
    ),
    pump(
        "a reward that comes too late",
        ", reward_delay=1",
        'for _ in range(2):\n    agent.act()\n    agent.observe("dry")\nagent.reward(1, 0.5)',
        "step 1 has no reward, and 0.5 comes too late: it was to come within 1 steps; step 3 is due",
    ),
    pump(
        "a reward with a repeated observation that awaits it",
        ", reward_delay=1",
        'agent.act()\nagent.observe("dry")\nagent.observe("dry", reward=1.0, step=1)',
        "step 1 is recorded, and its reward is awaited; call reward(1, 1.0); step 2 is due",
    ),
    pump(
        "an executed action that there is not",
        "",
        'agent.act()\nagent.observe("dry", executed="turbo", reward=1.0)',
        "executed: 'turbo'; known: off, on",
    ),
    pump(
        "an allowed action that there is not",
        "",
        'agent.act(["turbo"])',
        "allowed: 'turbo'; known: off, on",
    ),
    pump(
        "a step that is not due",
        "",
        'agent.observe("dry", executed="on", reward=1.0, step=3)',
        "step 3 is not due; step 1 is",
    ),
    pump(
        "a step that is recorded with another observation",
        "",
        'agent.observe("dry", executed="on", reward=1.0)\nagent.observe("wet", executed="on", reward=1.0, step=1)',
        "step 1 is recorded with other content: observation 'dry', not 'wet'; step 2 is due",
    ),
    pump(
        "a log with an unknown action",
        "",
        'agent.warm_start([("dry", "turbo", 1.0)])',
        "row 1 of the log: ['dry', 'turbo', 1.0, None, None, None]; action: 'turbo'; known: off, on",
    ),
    pump(
        "a log with an unknown observation",
        "",
        'agent.warm_start([("dry", "on", 1.0), ("damp", "on", 1.0)])',
        "row 2 of the log: ['damp', 'on', 1.0, None, None, None]; observation: 'damp'; declared: dry, wet",
    ),
    log(
        "a file of a log without a column of actions",
        "observation,reward\ndry,1\n",
        "header of the log: 'observation,reward'; has no column action; a log has the columns observation "
        "and action, and if needed reward, state, duration, cost",
    ),
    log(
        "a file of a log with a column too many",
        "observation,action,reward,weight\ndry,on,1,2\n",
        "header of the log: 'weight'; is in no log; a log has the columns observation and action, and if "
        "needed reward, state, duration, cost; remove other columns",
    ),
    log(
        "a file of a log with nothing in it",
        "",
        "header of the log: ''; has no column observation and action; a log has the columns observation "
        "and action, and if needed reward, state, duration, cost",
    ),
    log(
        "a file of a log with an unknown observation",
        "observation,action,reward\ndry,on,1\ndamp,on,1\n",
        "row 2 of the log, observation: 'damp'; known: dry, wet",
    ),
    pump(
        "a warm start while an action is pending",
        "",
        'agent.act()\nagent.warm_start([("dry", "on", 1.0)])',
        "an action was asked for and is not yet observed; observe it before a warm start",
    ),
    pump(
        "a warm start of a frozen agent",
        "",
        'agent.freeze()\nagent.warm_start([("dry", "on", 1.0)])',
        "the agent is frozen and would learn nothing; let it learn before a warm start",
    ),
    pump(
        "a rollback to a step without a snapshot",
        "",
        "agent.rollback(51)",
        "step: there is no snapshot at step 51; there are snapshots at 0",
    ),
    pump(
        "a state that is loaded from a file that does not exist",
        "",
        'agent.load("none.npz")',
        "none.npz: No such file or directory",
    ),
    setup(
        "a promotion to shadow mode",
        'promotion={"to": "shadow"}',
        "promotion.to: 'shadow'; give learn or frozen",
    ),
    setup(
        "a promotion after hours below zero",
        'promotion={"hours": -1}',
        "promotion.hours: -1; give a number of hours",
    ),
    setup(
        "a promotion rule for an agent with durations",
        'durations=(1, 2), promotion={"every": 50}',
        "promotion: {'gain': 0.0, 'steps': 0, 'hours': 0.0, 'every': 50, 'error': 0.05, 'to': 'frozen', "
        "'demote': True}; a rule judges reward per step, and this agent has durations or costs; leave it out",
    ),
    setup(
        "a window of no observations",
        'aleatoric="window:0"',
        "aleatoric: 'window:0'; give last, window:K or window:K+actions (K from 1 to 100), given, or a table",
    ),
    setup(
        "a window with too many contents",
        'aleatoric="window:90"',
        "aleatoric: 'window:90'; has 2,475,880,078,570,760,549,798,248,447 contents, at most 1,000,000; keep less",
    ),
    setup(
        "aleatoric states that are given and not listed",
        'aleatoric="given"',
        "states: None; list the aleatoric states that will be given",
    ),
    setup(
        "a window with a first state",
        'aleatoric="window:1", start="dry"',
        "start: 'dry'; a window begins empty; leave it out",
    ),
    setup(
        "a row of a state function that is too short",
        'aleatoric=[["s", "on", "dry"]]',
        "aleatoric: ['s', 'on', 'dry']; a row is [state, action, observation, entry]",
    ),
    setup(
        "a state function with a row missing",
        'aleatoric=[["s", "on", "dry", "s"]]',
        "aleatoric: ['s', 'off', 'dry']; is missing; a table has an entry for every state, action and observation",
    ),
    setup(
        "a reward by a name",
        'reward="mine"',
        "reward: 'mine'; known: given; or a function, rows, or a mapping by state, action and observation",
    ),
    setup(
        "drift with a misspelt key",
        'drift={"bath": 3}',
        "drift: {'bath': 3}; give a mapping with batch and rarity",
    ),
    setup(
        "drift that is not rare",
        'drift={"rarity": 1}',
        "drift.rarity: 1; give a finite number of batches above 1",
    ),
    setup(
        "an unknown state in allowed",
        'allowed={"damp": ["on"]}',
        "state in allowed: 'damp'; known: start, dry, wet",
    ),
    setup(
        "an unknown action in allowed",
        'allowed={"dry": ["turbo"]}',
        "action in allowed: 'turbo'; known: off, on",
    ),
    setup(
        "a state that allows nothing",
        'allowed={"dry": []}',
        "allowed: ['dry', []]; a row is [state, [actions]], with at least one action",
    ),
    setup(
        "a number as allowed",
        "allowed=3",
        "allowed: 3; give a mapping, or rows [state, [actions]]",
    ),
    line(
        "live",
        "half a character as an action",
        'el.live("agent", actions=["on", "\\ud800"], observations=["dry"], reward_range=(0, 1))',
        "actions: \"'\\\\ud800'\"; is half a character",
    ),
    line(
        "live",
        "an unknown next state in a table",
        'el.live("agent", actions=["on"], observations=["dry"], reward_range=(0, 1), aleatoric={"s": '
        '{"on": {"dry": "u"}}})',
        "next state in aleatoric: 'u'; known: s",
    ),
    reopened(
        "another seed for an agent that exists",
        "",
        ", seed=4",
        "agent: seed was 0 and is now 4; what the agent knows does not fit; use a new directory",
    ),
    reopened(
        "another rate of exploration for an agent that exists",
        ", explore=0.5",
        ", explore=0.1",
        "agent: explore was 0.5 and is now 0.1; to accept this, pass accept_changes=True",
    ),
    reopened(
        "another parameter of the schedule for an agent that exists",
        ', agent="growing-horizon"',
        ', parameters={"schedule.forgetting": 0.5}',
        "agent: schedule.forgetting was 0.0 and is now 0.5; to accept this, pass accept_changes=True",
    ),
    reopened(
        "a promotion rule for an agent that exists",
        "",
        ', promotion={"every": 50}',
        "agent: promotion was None and is now {'gain': 0.0, 'steps': 0, 'hours': 0.0, 'every': 50, "
        "'error': 0.05, 'to': 'frozen', 'demote': True}; to accept this, pass accept_changes=True",
    ),
    reopened(
        "a schedule that is not given again",
        ", schedule=el.Schedule(lambda t: 2.0, lambda t: 1.0, lambda t: 0.0, lambda t: 1.0)",
        "",
        "schedule: 'a function or an object'; give it again, or a name from the start, as in 'module:attribute'",
    ),
    line(
        "live",
        "a durable agent in the directory of an experiment",
        'el.experiment("riverswim", ["always"], steps=10, runs=1, out="agent")\nel.live("agent", "riverswim")',
        "agent: there is an experiment in it; give the agents a directory of their own",
    ),
    line(
        "live",
        "an evaluation of an agent that does not exist",
        'el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1)).close()\n'
        'el.evaluate("agent", "on", agent="south")',
        "agent: there is no agent 'south'",
    ),
    line(
        "live",
        "an evaluation of an agent without observations",
        'el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1)).close()\n'
        'el.evaluate("agent", "on")',
        "agent: agent 'agent' has no observations among these steps",
    ),
    line(
        "live",
        "an evaluation by halves of too few steps",
        'with el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1)) as '
        "agent:\n"
        '    agent.warm_start([("dry", "on", 1.0)])\n'
        'el.evaluate("agent", setup={})',
        "agent: there are too few steps with a reward to learn from one half and judge by the other",
    ),
    line(
        "live",
        "a log to replay that does not exist",
        'el.replay("past.csv")',
        "source: 'past.csv'; there is no such file or directory",
    ),
    line(
        "live",
        "a log to replay that has no rows",
        "import pathlib\n"
        "\n"
        'pathlib.Path("log.csv").write_text("observation,action,reward\\n")\n'
        'el.replay("log.csv", task="riverswim")',
        "log: 'log.csv'; has no rows",
    ),
    damaged(
        "a durable agent of a later version",
        "UPDATE meta SET value = '99' WHERE key = 'schema'",
        "agent/everlearn.db: schema version 99, this everlearn reads 4; use a newer everlearn",
    ),
    damaged(
        "a durable agent with a changed row",
        "UPDATE journal SET reward = 0.5 WHERE seq = 5",
        "agent/everlearn.db: table journal: agent 1: row 5: is damaged; see what can be saved with: "
        "everlearn check agent",
    ),
    damaged(
        "a durable agent with a missing row",
        "DELETE FROM journal WHERE seq = 5",
        "agent/everlearn.db: table journal: agent 1: row 5: is missing, up to 5; see what can be saved "
        "with: everlearn check agent",
    ),
    damaged(
        "a durable agent that lacks its last rows",
        "DELETE FROM journal WHERE seq > 5",
        "agent/everlearn.db: table journal: agent 1: row 6: is missing, up to 9; see what can be saved "
        "with: everlearn check agent",
    ),
    damaged(
        "a durable agent with a changed setup",
        "UPDATE agents SET created = 0",
        "agent/everlearn.db: table agents: the row of 'agent' is damaged; see what can be saved with: "
        "everlearn check agent",
    ),
    damaged(
        "a durable agent with a changed head",
        "UPDATE heads SET seq = 3",
        "agent/everlearn.db: table heads: agent 1: the row is damaged or missing; see what can be saved "
        "with: everlearn check agent",
    ),
    line(
        "live",
        "a durable agent whose file is cut off",
        "import pathlib\n"
        "\n"
        'el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1)).close()\n'
        'path = pathlib.Path("agent/everlearn.db")\n'
        "path.write_bytes(path.read_bytes()[:5000])\n"
        'el.live("agent")',
        "agent/everlearn.db: it is 5,000 bytes long, and was longer; see what can be saved with: everlearn check agent",
    ),
    line(
        "live",
        "a durable agent whose file is empty",
        "import pathlib\n"
        "\n"
        'el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1)).close()\n'
        'pathlib.Path("agent/everlearn.db").write_bytes(b"")\n'
        'el.live("agent")',
        "agent/everlearn.db: there are no tables in it; put a backup in its place",
    ),
    line(
        "live",
        "a token of two lines",
        'el.Client("http://127.0.0.1:1", "pump", token="a\\nb")',
        "token: '...'; must be one line of ASCII characters",
    ),
    line(
        "live",
        "an agent that is open in the same process",
        'el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1))\nel.live("agent")',
        "agent: this process has it open already; close it first",
    ),
]
