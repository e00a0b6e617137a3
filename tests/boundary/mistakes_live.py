"""Mistakes with a durable agent: wrong arguments, a changed task, wrong observations, and a design that fails."""

from __future__ import annotations

from tests.boundary.mistake import Mistake

SHOP = """
import everlearn as el

@el.task(actions=["wait", "sell"], observations=["idle", "busy"], reward_range=(-1, 1), memory=0)
def shop(memory, action):
    yield "busy", 0.5, 0
    yield "idle", 0.5, 0

@shop.reward
def profit(s, action, observation):
    return (observation == "busy") - 0.5 * (action == "sell")
"""

AGENT = """
from typing import NamedTuple
import numpy as np
import everlearn as el

class Known(NamedTuple):
    values: np.ndarray

def build(task):
    return Known(np.zeros((task.states, task.actions)))

def act(knowledge, aleatoric_state, now, stream):
    return 0

def learn(knowledge, experience, now, stream):
    knowledge.values[experience.aleatoric_state, experience.action] += 0.5 * experience.reward

mine = el.Design(build, act, learn, name="mine")
"""

DECLARED = """import everlearn as el

agent = el.live("agent", actions=["wait", "sell"], observations=["idle", "busy"], reward_range=(0, 1))
agent.act()
"""

OPEN = "import everlearn as el\nfrom shop import shop\n\nel.live('agent', shop).close()\n"
OPEN_CHAIN = "import everlearn as el\n\nel.live('agent', 'riverswim')\n"
OPEN_OWN = "import everlearn as el\nfrom own import mine\n\nel.live('agent', 'riverswim', agent=mine)\n"
STEP_OWN = "import everlearn as el\nfrom own import mine\n\nagent = el.live('agent', 'riverswim', agent=mine)\n"
ORDER = "the directory comes first, and then the task: el.live(DIR, task)"
ACCEPT = "to accept this, pass accept_changes=True"


def script(title: str, text: str, answer: str, **files: str) -> Mistake:
    """Return a mistake in a script of a few lines."""
    named = {f"{name}.py": content for name, content in files.items()}
    return Mistake("live", title, {"mine.py": text, **named}, "python mine.py", answer, shown="mine.py")


def declared(title: str, line: str, answer: str) -> Mistake:
    """Return a mistake in a call of a new agent."""
    return script(title, f"{DECLARED}{line}\n", answer)


def changed(title: str, old: str, new: str, answer: str) -> Mistake:
    """Return a mistake: an agent is opened with a task that was edited since."""
    assert old in SHOP, old
    edited = SHOP.replace(old, new)
    files = {
        "shop.py": SHOP,
        "edited.py": edited,
        "first.py": OPEN,
        "mine.py": OPEN.replace("from shop", "from edited"),
    }
    return Mistake(
        "live", title, files, "python mine.py", f"agent: {answer}", before=("python first.py",), shown="edited.py"
    )


def own(title: str, old: str, new: str, line: str, answer: str) -> Mistake:
    """Return a mistake in a durable agent with a user-defined design."""
    assert old in AGENT, old
    return script(title, f"{STEP_OWN}{line}\n", answer, own=AGENT.replace(old, new))


RING = """import numpy as np
import everlearn as el

P = np.zeros((1, 400, 400))
P[0, np.arange(400), (np.arange(400) + 1) % 400] = 1
P[0, 395, [396, 0]] = {}
el.live("agent", el.mdp(P, np.zeros((400, 1)), reward_range=(0, 1))).close()
"""

PARTIAL = """from functools import partial
import everlearn as el

class Coin:
    def __init__(self, p):
        self.p = p

    def start(self, rng):
        self.rng = rng

    def step(self, action):
        return "head" if self.rng.random() < self.p else "tail"

reward = el.Reward(lambda s, action, observation: 0.0)
coin = el.Task(("toss",), ("head", "tail"), el.last_observation(), reward, environment=partial(Coin, {}))
el.live("agent", coin).close()
"""

TABLE = """import everlearn as el

actions, observations = ["a", "b"], list(range(120))
rows = [[s, a, o, 0.0] for s in ["start", *observations] for a in actions for o in observations]
rows[rows.index([77, "b", 13, 0.0])][3] = {}
el.live("agent", actions=actions, observations=observations, reward_range=(0, 1), reward=rows).close()
"""

NARROW = """import everlearn as el

parts = {{"actions": ["a"], "observations": ["x", "y"], "reward_range": (0, 1e-9)}}
el.live("agent", **parts, reward=lambda s, action, observation: {} * 1e-9).close()
"""


def made(title: str, argument: str, answer: str) -> Mistake:
    """Return a mistake in one more argument of what an agent is made with."""
    return script(title, DECLARED.partition("agent.act")[0].replace("(0, 1))", f"(0, 1),\n    {argument})"), answer)


def again(title: str, first: str, text: str, answer: str, of: str = "agent: ") -> Mistake:
    """Return a mistake in a script that opens an agent which another has made."""
    files = {"first.py": first, "mine.py": text}
    return Mistake("live", title, files, "python mine.py", of + answer, before=("python first.py",), shown="mine.py")


MISTAKES: list[Mistake] = [
    Mistake(
        "live",
        "a directory with shards, opened as one",
        {"agent/shards.json": '{"shards": 2}\n', "mine.py": OPEN_CHAIN},
        "python mine.py",
        "agent: it has 2 shards; serve it with --shards 2, or open one of agent/shard-0 to shard-1 by itself",
        shown="mine.py",
    ),
    Mistake(
        "live",
        "a directory with shards, served without them",
        {"agents/shards.json": '{"shards": 2}\n'},
        "everlearn serve --data agents",
        "agents: it has 2 shards; serve it with --shards 2, or open one of agents/shard-0 to shard-1 by itself",
    ),
    Mistake(
        "live",
        "a shard that is gone",
        {"agents/shards.json": '{"shards": 2}\n'},
        "everlearn serve --data agents --port 0 --shards 2",
        "agents/shard-0: the shard is gone; put it back, or a backup of it",
    ),
    script(
        "directory and task in the wrong order",
        "import everlearn as el\n\nel.live('riverswim', 'agents/river')\n",
        f"directory: 'riverswim'; is a task; {ORDER}",
    ),
    script(
        "a directory that is None",
        "import everlearn as el\n\nel.live(None, 'riverswim')\n",
        f"directory: None; is no path; {ORDER}",
    ),
    script(
        "a file instead of a directory",
        "import everlearn as el\n\nel.live('mine.py', 'riverswim')\n",
        "mine.py: is a file; give a directory",
    ),
    script(
        "a directory that cannot be made",
        "import everlearn as el\n\nel.live('/proc/agents/river', 'riverswim')\n",
        "/proc/agents: cannot be written (No such file or directory); give another place",
    ),
    script(
        "a design as the task",
        "import everlearn as el\nfrom own import mine\n\nel.live('agent', mine)\n",
        "task: Design('mine'); is an agent; the task comes first, as in el.run(task, agent) or everlearn run TASK "
        "--agent AGENT",
        own=AGENT,
    ),
    script(
        "actions in a set, which has no order",
        "import everlearn as el\n\nel.live('agent', actions={'wait'}, observations=['idle'], reward_range=(0, 1))\n",
        "actions: {'wait'}; give a list of labels",
    ),
    script(
        "a function as the aleatoric state",
        DECLARED.replace("reward_range", "aleatoric=lambda s, a, o: o, reward_range"),
        "aleatoric: '<lambda>'; a function alone has no state to begin in; give el.AleatoricState(start, function)",
    ),
    script(
        "neither rewards nor a task",
        "import everlearn as el\n\nel.live('agent', actions=['wait', 'sell'], observations=['idle', 'busy'])\n",
        "reward_range: None; must be given, unless a task is",
    ),
    declared(
        "a durable agent observes an undeclared label",
        'agent.observe("bsy", reward=0.5)',
        "observation: 'bsy'; declared: idle, busy",
    ),
    declared(
        "a missing reward",
        'agent.observe("busy")',
        'reward: None; the setup has reward="given": pass the reward, a number',
    ),
    declared(
        "a reward outside the range",
        'agent.observe("busy", reward=2)',
        "reward: 2.0; outside its range, 0 to 1; widen reward_range",
    ),
    declared(
        "an observation without an action",
        'agent.observe("busy", reward=1)\nagent.observe("idle", reward=0)',
        "executed: None; no action is pending; call act() first, or name what was executed",
    ),
    declared(
        "a step that is reported again with different content",
        'agent.observe("busy", reward=1, step=1)\nagent.observe("idle", reward=1, step=1)',
        "step 1 is recorded with other content: observation 'busy', not 'idle'; step 2 is due",
    ),
    declared(
        "a snapshot that does not exist",
        "agent.rollback(5)",
        "step: there is no snapshot at step 5; there are snapshots at 0",
    ),
    declared(
        "an agent that was closed",
        'agent.close()\nagent.observe("busy", reward=1)',
        "agent: the agent was closed; open it again with el.live(DIR)",
    ),
    Mistake(
        "live",
        "a task object that is not passed again",
        {"shop.py": SHOP, "first.py": OPEN, "mine.py": "import everlearn as el\n\nel.live('agent')\n"},
        "python mine.py",
        "task: 'a function or an object'; give it again, or a name from the start, as in "
        "'module:attribute'",
        before=("python first.py",),
        shown="mine.py",
    ),
    changed(
        "every reward halved since the agent was created",
        '(observation == "busy") - 0.5 * (action == "sell")',
        '0.5 * ((observation == "busy") - 0.5 * (action == "sell"))',
        "the reward changed: r('start', 'wait', 'busy') was 1.0 and is now 0.5, and 8 other values differ; " + ACCEPT,
    ),
    changed(
        "a wider range of rewards since the agent was created",
        "reward_range=(-1, 1)",
        "reward_range=(-2, 2)",
        f"the reward range was -1 to 1 and is now -2 to 2; {ACCEPT}",
    ),
    changed(
        "different dynamics since the agent was created",
        'yield "busy", 0.5, 0\n    yield "idle", 0.5, 0',
        'yield "busy", 0.75, 0\n    yield "idle", 0.25, 0',
        f"the dynamics changed: what follows memory 0 and action 'wait', and 1 other row differs; {ACCEPT}",
    ),
    changed(
        "a different action since the agent was created",
        '["wait", "sell"]',
        '["wait", "sell", "close"]',
        "the actions changed: 'close' is new; what the agent knows does not fit; use a new directory",
    ),
    Mistake(
        "live",
        "learn edited since the agent was created",
        {"own.py": AGENT, "edited.py": AGENT.replace("0.5 *", "0.25 *"), "first.py": OPEN_OWN}
        | {"mine.py": OPEN_OWN.replace("from own", "from edited")},
        "python mine.py",
        f"agent: the source of learn of the agent, or of something that it uses, changed; {ACCEPT}",
        before=("python first.py",),
        shown="edited.py",
    ),
    own(
        "a durable agent that chooses an invalid action",
        "return 0",
        "return 2",
        "agent.act()",
        "agent 'mine': act returned 2 at step 1; return an index from 0 to 1",
    ),
    own(
        "a durable agent that fails to learn",
        "experience.reward\n",
        "experience.reward / 0\n",
        "agent.act()\nagent.observe(1)",
        "agent 'mine': learn raised ZeroDivisionError at step 1: float division by zero (own.py, line 16)",
    ),
    script(
        "a reward for a durable agent whose task defines the reward",
        "import everlearn as el\n\nel.live('agent', 'riverswim', reward=lambda s, action, observation: 0.0)\n",
        "reward: '<lambda>'; comes from the task; leave it out",
    ),
    script(
        "actions for a durable agent whose task defines them",
        "import everlearn as el\n\nel.live('agent', 'riverswim', actions=['left', 'right'])\n",
        "actions: ['left', 'right']; comes from the task; leave it out",
    ),
    made("late rewards for an agent that defers learning", "agent='differential-sarsa', reward_delay=5",
         "reward_delay: 'differential-sarsa'; this agent cannot learn from rewards that come late; "
         "choose another, such as q-lambda"),
    made("states for an aleatoric state that is not given", "states=['low', 'high']",
         "states: ['low', 'high']; are used only if aleatoric is \"given\"; leave it out"),
    made("a parameter of a task without a task", "parameters={'task.window': 6}",
         "parameter: 'task.window'; there is no task; leave it out"),
    made("a parameter whose name is a number", "parameters={1: 2}",
         "parameter: 1; write task.NAME, agent.NAME or schedule.NAME"),
    made("a function as a label", "states=[print], aleatoric='given'",
         "states: <built-in function print>; builtin_function_or_method is not supported, "
         "use an int, a str or a tuple of these"),
    made("a durable agent with a random reward", "reward=lambda s, action, observation: __import__('random').random()",
         "reward '<lambda>' (mine.py, line 4): '__import__' is used once and the result is cached; make it a function "
         "of (s, action, observation) only; randomness belongs in the dynamics"),
    declared("a reward that is too large for a float", "agent.observe('busy', reward=10**400)",
             "reward: inf; must be finite"),
    declared("a journal from a step that is not a number", "agent.journal('a')", "step: 'a'; give a whole number"),
    declared("a rate of exploration in percent", "el.live('other', 'service-station', explore=2)",
             "explore: 2; give a probability, as in explore=0.02"),
    declared("a duration that is not declared", "agent.observe('busy', reward=1, duration=2.5)",
             "duration: 2.5; the setup declares no duration; leave it out, or create the agent with durations"),
    declared("a cost that is not declared", "agent.observe('busy', reward=1, cost=1)",
             "cost: 1; the setup declares no cost; leave it out, or create the agent with cost_range and limit"),
    declared("no duration where durations are declared",
             "timed = el.live('timed', 'service-station', durations=(1, 8))\ntimed.observe('arrival', 'fast')",
             "duration: None; the setup declares a duration: pass it with each observation, a number from 1 to 8"),
    declared("a cost outside its range",
             "dear = el.live('dear', 'service-station', cost_range=(0, 1), limit=0.5)\n"
             "dear.observe('arrival', 'fast', cost=7)",
             "cost: 7; the setup declares a cost: pass it with each observation, a number from 0 to 1"),
    declared("a duration of nothing", "el.live('other', 'service-station', durations=(0, 8))",
             "durations: [0, 8]; give a least duration above 0"),
    declared("a limit without a range", "el.live('other', 'service-station', limit=0.5)",
             "cost_range: None; a limit and the range of the cost go together; give both, or neither"),
    declared("a limit that cannot be met", "el.live('other', 'service-station', cost_range=(1, 2), limit=0.5)",
             "limit: 0.5; no policy can meet it, since the average cost is at least 1; raise it"),
    declared("costs that are too large to compute with",
             "el.live('other', 'service-station', durations=(1, 8), cost_range=(0, 1e308), limit=1)",
             "cost_range: [0, 1e+308]; give numbers of at most 1e+290"),
    declared("a replay of a log whose reward is no number",
             "open('log.jsonl', 'w').write('{\"observation\": 0, \"action\": 0, \"reward\": \"much\"}')\n"
             "el.replay('log.jsonl', actions=[0], observations=[0], reward_range=(0, 1))",
             "row 1 of the log: 'much'; give a finite number as its reward"),
    declared("an evaluation of an agent with durations",
             "el.live('timed', 'service-station', durations=(1, 8)).close()\nel.evaluate('timed', 'fast')",
             "agent: 'agent'; has durations, and what is estimated is reward per step; to ignore them: "
             "setup={'durations': None}"),
    declared("an evaluation of a setup with durations",
             "timed = el.live('timed', 'service-station', durations=(1, 8))\n"
             "timed.observe('arrival', 'fast', duration=1)\ntimed.observe('arrival', 'fast', duration=1)\n"
             "el.evaluate('timed', setup={'schedule': 'smooth'})",
             "agent: 'schedule=smooth'; has durations, and what is estimated is reward per step; to ignore them: "
             "setup={'durations': None}"),
    declared("a replay with a limit, of steps without costs",
             "agent.observe('busy', reward=1)\nel.replay('agent', cost_range=(0, 1), limit=0.5)",
             "setup: 'cost'; the setup declares one from 0 to 1 for every step, and some steps have none"),
    declared("raw rewards with durations",
             "el.live('other', actions=[0], observations=[0], reward_range=(0, 1), raw=True, durations=(1, 8))",
             "raw: True; with durations or a limit the agent learns from numbers in [0, 1]; leave it out"),
    declared("a report of an agent that was no shadow", "el.shadow_report('agent')",
             "agent: 'agent'; has no observations in shadow mode among these steps; call shadow(), "
             "or choose other steps"),
    declared("a demotion of an agent that was never promoted", "agent.demote()",
             "mode: 'learn'; the agent was never promoted, so there is nothing to undo; "
             "set the mode to shadow, or remove the rule"),
    declared("a directory in which there is no agent yet", "el.live('typo')",
             "directory: 'typo'; there is no agent in it; to create one, pass actions, observations and reward_range, "
             "or a task"),
    declared("a limit that never matters",
             "el.live('other', actions=[0], observations=[0], reward_range=(0, 1), cost_range=(0, 1), limit=3)",
             "limit: 3; it never matters, since the average cost is at most 1; lower it, or leave out both limit and "
             "cost_range"),
    declared("a replay of a log without a setup",
             "open('log.csv', 'w').write('observation,action,reward\\n')\nel.replay('log.csv')",
             "setup: None; a log needs a whole setup: pass actions, observations and reward_range, or a task; "
             "or --setup FILE"),
    declared("a replay of a log with durations that the setup does not declare",
             "open('log.csv', 'w').write('observation,action,reward,duration\\n0,0,1,4\\n')\n"
             "el.replay('log.csv', actions=[0], observations=[0], reward_range=(0, 1))",
             "row 1 of the log: [0, 0, 1.0, 4.0]; duration: 4.0; the setup declares no durations; declare it, "
             "or remove the column"),
    declared("a promotion rule with a wrong probability", "agent.set_promotion({'error': 5})",
             "promotion.error: 5; give a probability from 0.000001 to 0.5"),
    script("a promotion rule that needs more steps than are retained",
           "import everlearn as el\n\nel.live('agent', 'riverswim', retain=100, promotion={'every': 500})\n",
           "retain: 100; the promotion rule looks at 500 steps or more; retain as many"),
    declared("a promotion rule with an unknown key", "agent.set_promotion({'hour': 1})",
             "promotion: 'hour'; known: demote, error, every, gain, hours, steps, to (did you mean hours?)"),
    declared("a promotion rule that is no mapping", "agent.set_promotion('soon')",
             "promotion: 'soon'; give a mapping with any of gain, steps, hours, every, error, to, demote"),
    declared("an evaluation of an empty journal", "el.evaluate('agent', 'sell')",
             "agent: agent 'agent' has no observations among these steps"),
    declared("an evaluation of nothing", "el.evaluate('agent')",
             "policy: None; give either a policy or a setup"),
    declared("a replay into a directory that is there", "el.replay('agent', 'agent')",
             "out: 'agent'; exists already; give a new directory"),
    declared("a confidence of an evaluation in percent", "el.evaluate('agent', 'sell', confidence=95)",
             "confidence: 95; give a number between 0 and 1, such as 0.95"),
    declared("a rollback to a step that is too large", "agent.rollback(2**80)",
             f"step: {2**80}; give a whole number of at most 9,007,199,254,740,992"),
    declared("a log that raises an error",
             "agent.observe('busy', reward=1)\nagent.warm_start(int(row) for row in ['one'])",
             "the log raised ValueError: invalid literal for int() with base 10: 'one' (mine.py, line 6)"),
    script(
        "a file name that is None",
        "import everlearn as el\n\nel.Agent('riverswim').save(None)\n",
        "path: None; give the name of a file",
    ),
    own(
        "a durable agent that shows no table",
        "learn, name",
        "learn, inspect=lambda knowledge, now: 5, name",
        "agent.inspect()",
        "agent 'mine': inspect returned 5; return arrays by name, as in {'Q': knowledge.q}",
    ),
    again(
        "different probabilities far from the initial state of a durable agent",
        RING.format("1.0, 0.0"),
        RING.format("0.5, 0.5"),
        f"the source of the dynamics, or of something that they use, changed; {ACCEPT}",
    ),
    again(
        "an environment that is created with a different argument",
        PARTIAL.format(0.25),
        PARTIAL.format(0.75),
        f"the source of the dynamics, or of something that they use, changed; {ACCEPT}",
    ),
    again(
        "a different entry in a long table of rewards",
        TABLE.format(0.25),
        TABLE.format(0.75),
        f"the reward changed: r(77, 'b', 13) was 0.25 and is now 0.75; {ACCEPT}",
    ),
    again(
        "different rewards in a narrow range",
        NARROW.format(0),
        NARROW.format(1),
        "the reward changed: r('start', 'a', 'x') was 0.0 and is now 1e-09, and 5 other values differ; " + ACCEPT,
    ),
    again(
        "a snapshot from before a change of the reward range",
        "import everlearn as el\n\nwith el.live('agent', actions=['a', 'b'], observations=['x', 'y'], "
        "reward_range=(0, 1)) as agent:\n    agent.observe('x', 'a', reward=1)\n",
        "import everlearn as el\n\nel.live('agent', reward_range=(0, 2), accept_changes=True).rollback(0)\n",
        "step: 0; snapshot: it was saved with rewards 'rewards scaled from [0, 1] to [0, 1]'; this agent has "
        "'rewards scaled from [0, 2] to [0, 1]'; give step 1 or a later one",
        of="",
    ),
    Mistake(
        "live",
        "a directory without an agent",
        {},
        "everlearn policy agent",
        "DIR: 'agent'; has no durable agents; pass the directory that everlearn.live was given",
    ),
]  # fmt: skip
