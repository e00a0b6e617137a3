"""Mistakes in tasks of a user's own: dynamics, rewards, aleatoric states and labels; and in those of Gymnasium."""

from __future__ import annotations

from dataclasses import replace

from tests.boundary.mistake import Mistake

RUN = "everlearn run shop:shop --steps 100 --runs 2 --engine {engine}"

DYNAMICS = """
def shop(memory, action):
    p = 0.9 if action == "advertise" else 0.4
    yield "busy", p, 1
    yield "idle", 1 - p, 0
"""

REWARD = """
@shop.reward
def profit(s, action, observation):
    return (observation == "busy") - 0.5 * (action == "advertise")
"""

LABELS = 'actions=["wait", "advertise"], observations=["idle", "busy"]'
RANGE = "reward_range=(-0.5, 1)"


def shop(
    dynamics: str = DYNAMICS, reward: str = REWARD, *, head: str = "", labels: str = LABELS, rest: str = "memory=0"
) -> dict[str, str]:
    """Return a file that defines a shop, one part of which is wrong."""
    arguments = ", ".join(part for part in (labels, RANGE if "reward_range" not in rest else "", rest) if part)
    return {"shop.py": f"import everlearn as el\n{head}\n@el.task({arguments})\n{dynamics.lstrip()}\n{reward}"}


def world(step: str, head: str = "", start: str = "self.rng = rng", attributes: str = "") -> dict[str, str]:
    """Return a file with a shop whose dynamics are a class."""
    methods = f"    def start(self, rng):\n        {start}\n\n    def step(self, action):\n        {step}\n"
    return shop("class shop:\n" + attributes + methods, head=head, rest="")


def script(line: str) -> dict[str, str]:
    """Return a file with one line beside the import."""
    return {"mine.py": f"import everlearn as el\n\n{line}\n"}


AGENT = """\
import everlearn as el
from everlearn.agents.always import always


def mine():
    return always()
"""

ONE = 'actions=["wait"], observations=["idle", "busy"]'

TASKS = [
    Mistake(
        group="tasks",
        title="dynamics that sample",
        files=shop(
            """
def shop(memory, action):
    if random.random() < 0.9:
        yield "busy", 1.0, 1
    else:
        yield "idle", 1.0, 0
""",
            head="import random\n",
        ),
        call=RUN,
        answer=(
            "dynamics 'shop' (shop.py, line 6): 'random.random' is used once and the result is cached; yield every "
            "outcome with its probability, as in: yield 'idle', probability, next_memory"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that sample with NumPy",
        files=shop(
            'def shop(memory, action):\n    yield np.random.choice(["idle", "busy"]), 1.0, 0',
            head="import numpy as np\n",
        ),
        call=RUN,
        answer=(
            "dynamics 'shop' (shop.py, line 6): 'np.random.choice' is used once and the result is cached; yield "
            "every outcome with its probability, as in: yield 'idle', probability, next_memory"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that draw from a generator of the module",
        files=shop(
            'def shop(memory, action):\n    yield ("busy" if rng.random() < 0.9 else "idle"), 1.0, 0',
            head="import numpy as np\n\nrng = np.random.default_rng(1)\n",
        ),
        call=RUN,
        answer=(
            "dynamics 'shop' (shop.py, line 8): 'rng' is used once and the result is cached; yield every outcome "
            "with its probability, as in: yield 'idle', probability, next_memory"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that depend on the time of day",
        files=shop(
            'def shop(memory, action):\n    yield ("busy" if time.localtime().tm_hour > 8 else "idle"), 1.0, 0',
            head="import time\n",
        ),
        call=RUN,
        answer=(
            "dynamics 'shop' (shop.py, line 6): 'time.localtime' is used once and the result is cached; yield every "
            "outcome with its probability, as in: yield 'idle', probability, next_memory"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that count how often they are called",
        files=shop(
            """
def shop(memory, action):
    calls.append(action)
    yield ("busy" if len(calls) % 2 else "idle"), 1.0, 0
""",
            head="\ncalls = []\n",
            labels=ONE,
        ),
        call=RUN,
        answer=(
            "dynamics 'shop' at (memory, action): (0, 'wait'); a second call returned something else; yield every "
            "outcome with its probability, as in: yield 'idle', probability, next_memory"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that return instead of yielding",
        files=shop('def shop(memory, action):\n    return "busy", 1.0, 1', labels=ONE),
        call=RUN,
        answer=(
            "dynamics 'shop' after memory 0 and action 'wait': ('busy', 1.0, 1) was returned; yield (observation, "
            "probability, next memory)"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that return nothing",
        files=shop("def shop(memory, action):\n    p = 0.9", labels=ONE),
        call=RUN,
        answer=(
            "dynamics 'shop' after memory 0 and action 'wait': None was returned; yield (observation, probability, "
            "next memory)"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that raise",
        files=shop('def shop(memory, action):\n    yield "busy", {"advertise": 1.0}[action], 1', labels=ONE),
        call=RUN,
        answer="dynamics 'shop' raised KeyError at (memory, action) = (0, 'wait'): 'wait' (shop.py, line 5)",
    ),
    Mistake(
        group="tasks",
        title="dynamics that take one argument",
        files=shop('def shop(memory):\n    yield "busy", 1.0, 1', labels=ONE),
        call=RUN,
        answer=(
            "dynamics 'shop' raised TypeError at (memory, action) = (0, 'wait'): shop() takes 1 positional "
            "argument but 2 were given"
        ),
    ),
    Mistake(
        group="tasks",
        title="probabilities that do not sum to one",
        files=shop('def shop(memory, action):\n    yield "busy", 0.9, 1', labels=ONE),
        call=RUN,
        answer="probabilities after memory 0 and action 'wait': 0.9; must sum to one",
    ),
    Mistake(
        group="tasks",
        title="a probability that is a string",
        files=shop('def shop(memory, action):\n    yield "busy", "1.0", 1', labels=ONE),
        call=RUN,
        answer="probability of 'busy' after memory 0 and action 'wait': '1.0'; must be a number from 0 to 1",
    ),
    Mistake(
        group="tasks",
        title="an observation that was not declared",
        files=shop('def shop(memory, action):\n    yield "closed", 1.0, 1', labels=ONE),
        call=RUN,
        answer="observation after memory 0 and action 'wait': 'closed'; declared: idle, busy",
    ),
    Mistake(
        group="tasks",
        title="an observation that is a boolean",
        files=shop("def shop(memory, action):\n    yield True, 1.0, 1", labels='actions=["wait"], observations=[0, 1]'),
        call=RUN,
        answer=(
            "observation after memory 0 and action 'wait': True; bool is not supported, since True would be the "
            "same label as 1; use an int, a str or a tuple of these"
        ),
    ),
    Mistake(
        group="tasks",
        title="an outcome without its probability",
        files=shop('def shop(memory, action):\n    yield "busy", 1', labels=ONE),
        call=RUN,
        answer=(
            "an outcome after memory 0 and action 'wait': ('busy', 1); yield (observation, probability, next memory)"
        ),
    ),
    Mistake(
        group="tasks",
        title="two memories after one observation",
        files=shop('def shop(memory, action):\n    yield "busy", 0.5, 0\n    yield "busy", 0.5, 1', labels=ONE),
        call=RUN,
        answer=(
            "memory after memory 0 and action 'wait' and observation 'busy': (0, 1); the observation must determine "
            "the memory; if the agent cannot see the memory, say hidden=True"
        ),
    ),
    Mistake(
        group="tasks",
        title="a memory that is a list",
        files=shop(rest="memory=[0, 0]"),
        call=RUN,
        answer="memory: [0, 0]; list is not supported, use an int, a str or a tuple of these",
    ),
    Mistake(
        group="tasks",
        title="a memory that is an array",
        files=shop(rest="memory=np.zeros((2, 2))", head="import numpy as np\n"),
        call=RUN,
        answer=("memory: array([[0., 0.], [0., 0.]]); ndarray is not supported, use an int, a str or a tuple of these"),
    ),
    Mistake(
        group="tasks",
        title="a next memory that is a float",
        files=shop('def shop(memory, action):\n    yield "busy", 1.0, memory + 0.5', labels=ONE),
        call=RUN,
        answer=(
            "memory after memory 0 and action 'wait': 0.5; float is not supported, use an int, a str or a tuple of "
            "these"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics without an initial memory",
        files=shop(rest=""),
        call=RUN,
        answer="memory: None; name the memory of the empty history, such as memory=0",
    ),
    Mistake(
        group="tasks",
        title="a number of actions in place of their labels",
        files=shop(labels='actions=2, observations=["idle", "busy"]'),
        call=RUN,
        answer="actions: 2; give a list of labels, such as [0, 1] or ['slow', 'fast']",
    ),
    Mistake(
        group="tasks",
        title="actions in a set",
        files=shop(labels='actions={"wait"}, observations=["idle", "busy"]'),
        call=RUN,
        answer="actions: {'wait'}; give a list: the order of a set differs from process to process",
    ),
    Mistake(
        group="tasks",
        title="an action that appears twice",
        files=shop(labels='actions=["wait", "wait"], observations=["idle", "busy"]'),
        call=RUN,
        answer="actions: 'wait' appears twice; labels must be unique",
    ),
    Mistake(
        group="tasks",
        title="actions that are booleans",
        files=shop(labels='actions=[True, False], observations=["idle", "busy"]'),
        call=RUN,
        answer=(
            "actions: True; bool is not supported, since True would be the same label as 1; use an int, a str or a "
            "tuple of these"
        ),
    ),
    Mistake(
        group="tasks",
        title="a task without a reward",
        files=shop(reward=""),
        call=RUN,
        answer="task: 'shop'; has no reward; decorate a function of (s, action, observation) with its .reward",
    ),
    Mistake(
        group="tasks",
        title="a class that is not an environment",
        files=shop("class shop:\n    def step(self, action):\n        return 'busy'\n", rest=""),
        call="everlearn run shop:shop --steps 100",
        answer="task shop: <class 'shop.shop'>; an environment needs start(rng) and step(action)",
    ),
    Mistake(
        group="tasks",
        title="an environment that draws from another generator",
        files=world('return random.choice(["idle", "busy"])', head="import random\n"),
        call="everlearn run shop:shop --steps 100",
        answer=(
            "environment 'shop', step (shop.py, line 10): 'random.choice'; draw from the rng that start is given, "
            "as in self.rng = rng and self.rng.random()"
        ),
    ),
    Mistake(
        group="tasks",
        title="an environment that makes a generator without a seed",
        files=world(
            'return "busy" if self.rng.random() < 0.9 else "idle"',
            head="import numpy as np\n",
            start="self.rng = np.random.default_rng()",
        ),
        call="everlearn run shop:shop --steps 100",
        answer=(
            "environment 'shop', start (shop.py, line 7): 'np.random.default_rng'; draw from the rng that start is "
            "given, as in self.rng = rng and self.rng.random()"
        ),
    ),
    Mistake(
        group="tasks",
        title="an environment that gives all runs the same random numbers",
        files=world(
            'return "busy" if self.rng.random() < 0.9 else "idle"',
            head="import numpy as np\n",
            start="self.rng = np.random.default_rng(0)",
        ),
        call="everlearn run shop:shop --steps 100",
        answer=(
            "environment 'shop', start (shop.py, line 7): 'np.random.default_rng'; draw from the rng that start is "
            "given, as in self.rng = rng and self.rng.random()"
        ),
    ),
    Mistake(
        group="tasks",
        title="an environment whose step returns a Gymnasium tuple",
        files=world('return "busy", 1.0, False, False, {}'),
        call="everlearn run shop:shop --steps 100",
        answer="observation: ('busy', 1.0, False, False, {}); declared: idle, busy; return the observation alone",
    ),
    Mistake(
        group="tasks",
        title="dynamics with their arguments in another order",
        files=shop("def shop(action, memory):\n    yield 'busy', 1.0, 0\n"),
        call="everlearn run shop:shop --steps 100 --engine {engine}",
        answer="dynamics 'shop': '(action, memory)'; its arguments come in the order (memory, action)",
    ),
    Mistake(
        group="tasks",
        title="an agent in place of a task",
        files={"mine.py": AGENT + "\nel.run(mine, 'riverswim')\n"},
        call="python mine.py",
        answer="task: 'mine'; is an agent; the task comes first, as in el.run(task, agent) or everlearn run "
        "TASK --agent AGENT",
    ),
    Mistake(
        group="tasks",
        title="a task in place of an agent",
        files=shop(),
        call="everlearn run riverswim --agent shop:shop --steps 100",
        answer="agent: 'shop:shop'; is a task; the agent comes second, as in el.run(task, agent) or "
        "everlearn run TASK --agent AGENT",
    ),
    Mistake(
        group="tasks",
        title="an environment that changes data that all runs share",
        files=world(
            "self.seen.append(action)\n        return 'busy'",
            start="self.last = 'idle'",
            attributes="    seen = []\n\n",
        ),
        call="everlearn run shop:shop --steps 100 --runs 2",
        answer=(
            "environment 'shop': 'seen' changed during a run and is shared by all runs; set it in start, as in "
            "self.seen = ..."
        ),
    ),
    Mistake(
        group="tasks",
        title="an environment whose step raises",
        files=world('return {"open": "busy"}[action]'),
        call="everlearn run shop:shop --steps 100",
        answer="task 'shop': step raised KeyError at action 'wait': 'wait' (shop.py, line 9)",
    ),
    Mistake(
        group="tasks",
        title="an environment whose step returns nothing",
        files=world("self.last = action"),
        call="everlearn run shop:shop --steps 100",
        answer="task 'shop': step: None; it returned nothing; return an observation",
    ),
    Mistake(
        group="tasks",
        title="an environment that returns an undeclared observation",
        files=world("return 1"),
        call="everlearn run shop:shop --steps 100",
        answer="observation: 1; declared: idle, busy",
    ),
    Mistake(
        group="tasks",
        title="an environment that cannot be compiled",
        files=world('return "busy"'),
        call="everlearn run shop:shop --steps 100 --engine compiled",
        answer="engine: 'compiled'; the task 'shop' has no model; give auto or reference",
    ),
    Mistake(
        group="tasks",
        title="an environment that was not made into a task",
        files={"shop.py": "class Shop:\n    def start(self, rng): ...\n    def step(self, action): ...\n"},
        call="everlearn run shop:Shop --steps 100",
        answer=(
            "task: 'shop:Shop'; is an environment; decorate its class with @el.task(actions=..., observations=...)"
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that were not made into a task",
        files={"shop.py": "def shop(memory, action):\n    yield 'idle', 1.0, 0\n"},
        call="everlearn run shop:shop --steps 100",
        answer=(
            "task: 'shop:shop'; is a function of (memory, action), which makes no task; decorate it with "
            "@el.task(actions=..., observations=...)"
        ),
    ),
    Mistake(
        group="tasks",
        title="observations that are left out",
        files=shop(labels='actions=["wait", "advertise"]'),
        call=RUN,
        answer="observations: None; is missing; list the labels, such as [0, 1] or ['slow', 'fast']",
    ),
    Mistake(
        group="tasks",
        title="a file in place of a task",
        files=shop(),
        call="everlearn run ./shop.py",
        answer="task: './shop.py'; write shop:NAME, the name of the module and that of the task in it",
    ),
    Mistake(
        group="tasks",
        title="a dot in place of a colon",
        files=shop(),
        call="everlearn run shop.shop",
        answer="task: 'shop.shop'; write shop:shop, the name of the module and that of the task in it",
    ),
    Mistake(
        group="tasks",
        title="the reward function in place of the task",
        files=shop(),
        call="everlearn run shop:profit --steps 100",
        answer=(
            "task: 'shop:profit'; is a function of (s, action, observation), which makes no task; tasks there: "
            "shop:shop"
        ),
    ),
    Mistake(
        group="tasks",
        title="a task function that raises",
        files={"shop.py": "def shop(*, size: int = 3):\n    return [1, 2][size]\n"},
        call="everlearn run shop:shop --steps 100",
        answer="task 'shop:shop' raised IndexError: list index out of range (shop.py, line 2)",
    ),
    Mistake(
        group="tasks",
        title="a task function that returns nothing",
        files={"shop.py": "def shop(*, size: int = 3): ...\n"},
        call="everlearn run shop:shop --steps 100",
        answer="task: 'shop:shop'; returned None, not a task",
    ),
    Mistake(
        group="tasks",
        title="a parameter that the task does not have",
        files=shop(),
        call="everlearn run shop:shop --set task.size=3 --steps 100",
        answer=(
            "parameter: 'task.size'; the task 'shop' takes only task.aleatoric and task.features; "
            "to set others, define the task with a function"
        ),
    ),
    Mistake(
        group="tasks",
        title="nothing in place of a task",
        files=script("el.run(None)"),
        call="python mine.py",
        answer="task: None; give a task, a function that makes one, or the name of one of these",
    ),
    Mistake(
        group="tasks",
        title="agent and task in the wrong order",
        files=script('el.run("growing-horizon", "riverswim")'),
        call="python mine.py",
        answer="task: 'growing-horizon'; is an agent; the task comes first, as in el.run(task, agent) or everlearn run "
        "TASK --agent AGENT",
    ),
    Mistake(
        group="tasks",
        title="a Gymnasium environment without its prefix",
        files={},
        call="everlearn run FrozenLake-v1 --steps 100",
        answer="task: 'FrozenLake-v1'; did you mean gymnasium:FrozenLake-v1?",
    ),
    Mistake(
        group="tasks",
        title="a Gymnasium environment in place of a task",
        files=script('import gymnasium\n\nel.run(gymnasium.make("FrozenLake-v1"))'),
        call="python mine.py",
        answer=(
            "task: <TimeLimit<OrderEnforcing<PassiveEnvChecker<FrozenLakeEnv<FrozenLake-v1>>>>>; is a Gymnasium "
            "environment; pass a function that makes it to el.from_gymnasium"
        ),
    ),
    Mistake(
        group="tasks",
        title="an option that Gymnasium does not know",
        files={},
        call="everlearn run gymnasium:FrozenLake-v1 --set task.options=map_name=9x9 --steps 100",
        answer=(
            "environment: 'FrozenLake-v1'; Gymnasium cannot make it: KeyError: '9x9'; change task.options=map_name=9x9"
        ),
    ),
    Mistake(
        group="tasks",
        title="a Gymnasium environment whose continuous actions get too few levels",
        files={},
        call="everlearn run gymnasium:Pendulum-v1 --set task.action_levels=1 --steps 100",
        answer=(
            "task.action_levels: 1; give at least 2 levels per coordinate, and at most 1,000 actions in all; every "
            "coordinate must be bounded"
        ),
    ),
    Mistake(
        group="tasks",
        title="a Gymnasium environment with unbounded observations",
        files={},
        call="everlearn run gymnasium:CartPole-v1 --steps 100",
        answer=(
            "agent: 'versatile'; needs a table; give an agent with features, such as linear, or "
            "task.discretiser=quantile"
        ),
    ),
]

REWARDS = [
    Mistake(
        group="rewards",
        title="a reward that is a string",
        files=shop(reward='@shop.reward\ndef profit(s, action, observation):\n    return "0.5"', labels=ONE),
        call=RUN,
        answer="reward of ('start', 'wait', 'busy'): '0.5'; must be a number",
    ),
    Mistake(
        group="rewards",
        title="a reward function without a return",
        files=shop(reward="@shop.reward\ndef profit(s, action, observation):\n    paid = 0.5", labels=ONE),
        call=RUN,
        answer="reward 'profit' of ('start', 'wait', 'busy'): None; it returned nothing; add a return",
    ),
    Mistake(
        group="rewards",
        title="a reward function that raises",
        files=shop(
            reward='@shop.reward\ndef profit(s, action, observation):\n    return {"open": 1}[observation]', labels=ONE
        ),
        call=RUN,
        answer=(
            "reward 'profit' raised KeyError at (s, action, observation) = ('start', 'wait', 'busy'): 'busy' "
            "(shop.py, line 11)"
        ),
    ),
    Mistake(
        group="rewards",
        title="a reward function that samples",
        files=shop(
            reward="@shop.reward\ndef profit(s, action, observation):\n    return random.random()",
            head="import random\n",
        ),
        call=RUN,
        answer=(
            "reward 'profit' (shop.py, line 12): 'random.random' is used once and the result is cached; make it "
            "a function of (s, action, observation) only; randomness belongs in the dynamics"
        ),
    ),
    Mistake(
        group="rewards",
        title="a reward outside its range",
        files=shop(reward="@shop.reward\ndef profit(s, action, observation):\n    return 2", labels=ONE),
        call=RUN,
        answer="reward of ('start', 'wait', 'busy'): 2.0; outside its range, -0.5 to 1; widen reward_range",
    ),
    Mistake(
        group="rewards",
        title="a reward that is not a number",
        files=shop(reward="@shop.reward\ndef profit(s, action, observation):\n    return float('nan')", labels=ONE),
        call=RUN,
        answer="reward of ('start', 'wait', 'busy'): nan; must be finite",
    ),
    Mistake(
        group="rewards",
        title="a range of rewards that is one number",
        files=shop(rest="memory=0, reward_range=1"),
        call=RUN,
        answer="reward_range: 1; give two finite numbers, the lower first",
    ),
    Mistake(
        group="rewards",
        title="a range of rewards in the wrong order",
        files=shop(rest="memory=0, reward_range=(1, -0.5)"),
        call=RUN,
        answer="reward_range: (1, -0.5); give two finite numbers, the lower first",
    ),
    Mistake(
        group="rewards",
        title="a range of rewards that is infinite",
        files=shop(rest='memory=0, reward_range=(0, float("inf"))'),
        call=RUN,
        answer="reward_range: (0, inf); give two finite numbers, the lower first",
    ),
    Mistake(
        group="rewards",
        title="a reward that is not a function",
        files=shop(reward='shop.reward("profit")'),
        call=RUN,
        answer="reward of task 'shop': ('profit',); decorate a function of (s, action, observation)",
    ),
    Mistake(
        group="rewards",
        title="a Gymnasium environment with an undeclared reward",
        files={},
        call="everlearn run gymnasium:Blackjack-v1 --set task.rewards=0,1 --steps 100",
        answer=(
            "reward: -1.0; not among those declared: 0, 1; add it, as in task.rewards=-1,0,1, or round with "
            "task.reward_levels=21 and task.reward_range=-1,1"
        ),
    ),
]

STATES = [
    Mistake(
        group="states",
        title="a window whose length is a string",
        files=shop(rest='memory=0, aleatoric=el.window("3")'),
        call=RUN,
        answer="length of the window: '3'; give a whole number of at least 1",
    ),
    Mistake(
        group="states",
        title="a window whose length is not an integer",
        files=shop(rest="memory=0, aleatoric=el.window(2.5)"),
        call=RUN,
        answer="length of the window: 2.5; give a whole number of at least 1",
    ),
    Mistake(
        group="states",
        title="an aleatoric state that is a string",
        files=shop(rest='memory=0, aleatoric="memory"'),
        call=RUN,
        answer="aleatoric: 'memory'; give an el.AleatoricState, such as el.window(3) or el.last_observation()",
    ),
    Mistake(
        group="states",
        title="an update function without a return",
        files=shop(reward=REWARD + "\n\n@shop.aleatoric(start=0)\ndef streak(s, action, observation):\n    s + 1"),
        call=RUN,
        answer=(
            "aleatoric state after (0, 'wait', 'idle'): None; update function 'streak' returned nothing; add a return"
        ),
    ),
    Mistake(
        group="states",
        title="an update function that returns a float",
        files=shop(
            reward=REWARD + "\n\n@shop.aleatoric(start=0)\ndef smooth(s, action, observation):\n    return 0.9 * s"
        ),
        call=RUN,
        answer=(
            "aleatoric state after (0, 'wait', 'idle'): 0.0; float is not supported, use an int, a str or a tuple "
            "of these"
        ),
    ),
    Mistake(
        group="states",
        title="an update function that raises",
        files=shop(
            reward=REWARD + "\n\n@shop.aleatoric(start=0)\ndef streak(s, action, observation):\n    return [1, 2][s]"
        ),
        call=RUN,
        answer=(
            "update function 'streak' raised IndexError at (s, action, observation) = (2, 'wait', 'idle'): list "
            "index out of range (shop.py, line 17); handle it, or list the states with states="
        ),
    ),
    Mistake(
        group="states",
        title="an update function that samples",
        files=shop(
            reward=REWARD
            + "\n\n@shop.aleatoric(start=0)\ndef guess(s, action, observation):\n    return random.randrange(3)",
            head="import random\n",
        ),
        call=RUN,
        answer=(
            "update function 'guess' (shop.py, line 18): 'random.randrange' is used once and the result is cached; "
            "make it a function of (s, action, observation) only; randomness belongs in the dynamics"
        ),
    ),
    Mistake(
        group="states",
        title="an update function that leaves the listed states",
        files=shop(
            'def shop(memory, action):\n    yield "busy", 1.0, 0',
            labels=ONE,
            reward=REWARD
            + "\n\n@shop.aleatoric(start=0, states=[0, 1])\ndef count(s, action, observation):\n    return s + 1",
        ),
        call=RUN,
        answer=(
            "aleatoric state after (1, 'wait', 'busy'): 2; f left the set of aleatoric states: 0, 1; add it to states="
        ),
    ),
    Mistake(
        group="states",
        title="a start that is not among the listed states",
        files=shop(
            reward=REWARD
            + "\n\n@shop.aleatoric(start=2, states=[0, 1])\ndef count(s, action, observation):\n    return s",
        ),
        call=RUN,
        answer="start of the aleatoric state: 2; declared: 0, 1",
    ),
    Mistake(
        group="states",
        title="an unknown view of a task",
        files=shop(),
        call="everlearn run shop:shop --set task.aleatoric=windows:2 --steps 100",
        answer=(
            "task.aleatoric: 'windows:2'; there is no module 'windows' here or among the installed packages (did you "
            "mean window:2?)"
        ),
    ),
    Mistake(
        group="states",
        title="an agent whose policy names a state twice",
        files=shop(),
        call="everlearn run shop:shop --agent always --set agent.policy=idle=wait,idle=wait --engine {engine}",
        answer="policy: 'idle=wait'; the aleatoric state idle appears twice; name each state once",
    ),
    Mistake(
        group="states",
        title="a policy with an undeclared action",
        files={},
        call="everlearn run riverswim --agent always --set agent.policy=swim --steps 100 --engine {engine}",
        answer="action in the policy: 'swim'; known: left, right",
    ),
]


def with_shown(row: Mistake) -> Mistake:
    """Return a row that shows only what is not as in the right shop: from the first such line to the last."""
    right, lines = shop()["shop.py"].splitlines(), row.files.get("shop.py", "").splitlines()
    wrong = [number for number, line in enumerate(lines) if line not in right]
    return replace(row, shown="\n".join(lines[wrong[0] : wrong[-1] + 1])) if wrong else row


MISTAKES = [with_shown(row) for row in (*TASKS, *REWARDS, *STATES)]
