"""Mistakes in what a user's module does beside its task: it exits, hides another, or depends on more than it should."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_tasks import RUN, script, shop, world

FEATURES = """\
import everlearn as el

near = el.Features(lambda s: [s, 6], active=2, size=6)
"""

MISTAKES = [
    Mistake(
        group="agents",
        title="a feature whose index is out of range",
        files={"mine.py": FEATURES},
        call="everlearn run riverswim --agent linear --set agent.features=mine:near --steps 100",
        answer="features of state 0: 6; give indices from 0 to 5",
    ),
    Mistake(
        group="tasks",
        title="an environment that exits the process",
        files=world("raise SystemExit"),
        call="everlearn run shop:shop --steps 100",
        answer="task 'shop': step raised SystemExit at action 'wait' (shop.py, line 9)",
    ),
    Mistake(
        group="rewards",
        title="a reward that exits",
        files=shop(reward="@shop.reward\ndef profit(s, action, observation):\n    raise SystemExit(0)\n"),
        call=RUN,
        answer=(
            "reward 'profit' raised SystemExit at (s, action, observation) = ('start', 'wait', 'busy'): 0 "
            "(shop.py, line 11)"
        ),
    ),
    Mistake(
        group="tasks",
        title="a module of the same name in another folder",
        files={
            "mine.py": "import os\n\nimport everlearn as el\n\nel.run('shop:shop', steps=9)\n"
            "os.chdir('other')\nel.run('shop:shop', steps=9)\n",
            **shop(),
            "other/shop.py": shop()["shop.py"],
        },
        call="python mine.py",
        answer="task: 'shop:shop'; shop.py here has the name of a module in {here}; rename it",
        shown="mine.py",
    ),
    Mistake(
        group="tasks",
        title="an environment with its own generator without a seed",
        files=world(
            'return "busy" if self.rng.random() < 0.5 else "idle"',
            head="import numpy as np\n",
            start="self.rng = np.random.default_rng(None)",
        ),
        call="everlearn run shop:shop --steps 100",
        answer=(
            "environment 'shop', start (shop.py, line 7): 'np.random.default_rng'; draw from the rng that start is "
            "given, as in self.rng = rng and self.rng.random()"
        ),
    ),
    Mistake(
        group="tasks",
        title="an environment that counts in a module variable",
        files=world(
            'global count\n        count += 1\n        return "busy" if count % 3 else "idle"', head="\ncount = 0\n"
        ),
        call="everlearn run shop:shop --steps 100",
        answer=(
            "environment 'shop', step (shop.py, line 12): 'count'; all runs share it; keep it in self, and set it in "
            "start"
        ),
    ),
    Mistake(
        group="tasks",
        title="an environment that counts in a class attribute",
        files=world(
            'type(self).count += 1\n        return "busy" if self.count % 3 else "idle"', attributes="    count = 0\n\n"
        ),
        call="everlearn run shop:shop --steps 100 --runs 2",
        answer=(
            "environment 'shop': 'count' changed during a run and is shared by all runs; set it in start, as in "
            "self.count = ..."
        ),
    ),
    Mistake(
        group="tasks",
        title="dynamics that iterate over a set",
        files=shop('def shop(memory, action):\n    for name in {"idle", "busy"}:\n        yield name, 0.5, 0\n'),
        call=RUN,
        answer=(
            "dynamics 'shop' (shop.py, line 5): 'the order of a set' differs from process to process; compare labels "
            "themselves, and iterate over a tuple or sorted(...)"
        ),
    ),
    Mistake(
        group="rewards",
        title="a reward that hashes",
        files=shop(
            reward="@shop.reward\ndef profit(s, action, observation):\n    return hash(observation) % 2\n",
        ),
        call=RUN,
        answer=(
            "reward 'profit' (shop.py, line 11): 'hash' differs from process to process; compare labels themselves, "
            "and iterate over a tuple or sorted(...)"
        ),
    ),
    Mistake(
        group="command line",
        title="the path of a file in place of a module",
        files=shop(),
        call="everlearn run /tmp/shop.py:shop --steps 9",
        answer="task: '/tmp/shop.py:shop'; write shop:shop, in the folder /tmp",
        shown="",
    ),
    Mistake(
        group="tasks",
        title="one label in place of a list",
        files={"shop.py": 'import everlearn as el\n\nshop = el.task(actions="wait")\n'},
        call="everlearn run shop:shop --steps 9",
        answer="actions: 'wait'; give a list of labels, such as [0, 1] or ['slow', 'fast']",
    ),
    Mistake(
        group="tasks",
        title="a string in place of labels for the states of arrays",
        files=script('el.mdp([[[0.5, 0.5], [0.5, 0.5]]], [[0], [1]], aggregate="ab")'),
        call="python mine.py",
        answer="aggregate: 'ab'; give a list of labels, such as [0, 1] or ['slow', 'fast']",
    ),
    Mistake(
        group="tasks",
        title="arrays without a state",
        files=script("import numpy as np\n\nel.mdp([np.zeros((0, 0))], [])"),
        call="python mine.py",
        answer="shape of P[0]: (0, 0); give at least one state",
    ),
    Mistake(
        group="tasks",
        title="arrays by state and then by action",
        files=script("import numpy as np\n\nel.mdp(np.full((3, 2, 3), 1 / 3), np.zeros((3, 2)))"),
        call="python mine.py",
        answer=(
            "shape of P: (3, 2, 3); P is P[action][state, next state]; yours looks like P[state, action, next state]; "
            "pass np.swapaxes(P, 0, 1)"
        ),
    ),
    Mistake(
        group="states",
        title="a kind of aleatoric state with a letter missing",
        files={},
        call="everlearn run riverswim --set task.aleatoric=wndow:5",
        answer=(
            "task.aleatoric: 'wndow:5'; there is no module 'wndow' here or among the installed packages (did you mean "
            "window:5?)"
        ),
    ),
    Mistake(
        group="tasks",
        title="arrays of complex numbers",
        files=script("import numpy as np\n\nel.mdp(np.ones((1, 1, 1), complex), [[0]])"),
        call="python mine.py",
        answer="P[0]: array([[1.+0.j]]); give a matrix of probabilities",
    ),
    Mistake(
        group="tasks",
        title="a reference that is not finite",
        files=shop(rest='memory=0, references={"optimum": float("nan")}'),
        call=RUN,
        answer="references: {'optimum': nan}; give finite average rewards by name, as in {'optimum': 0.5}",
    ),
    Mistake(
        group="rewards",
        title="a range in which sums of rewards overflow",
        files=shop(rest="memory=0, reward_range=(0, 1e308)"),
        call=RUN,
        answer="reward_range: (0, 1e+308); give numbers of at most 1e+290",
    ),
    Mistake(
        group="rewards",
        title="raw is not a boolean",
        files=shop(rest='memory=0, raw="yes"'),
        call=RUN,
        answer="raw: 'yes'; give True or False",
    ),
    Mistake(
        group="tasks",
        title="a name that is not a string",
        files=shop(rest='memory=0, name=["shop"]'),
        call=RUN,
        answer="name: ['shop']; give a text",
    ),
    Mistake(
        group="tasks",
        title="the decorator without parentheses",
        files={"shop.py": 'import everlearn as el\n\n\n@el.task\ndef shop(memory, action):\n    yield "idle", 1, 0\n'},
        call="everlearn run shop:shop --steps 9",
        answer="task: 'shop'; write @el.task(actions=..., observations=...) above it",
    ),
    Mistake(
        group="tasks",
        title="a memory that is an object of a class",
        files=shop(
            'def shop(memory, action):\n    yield "idle", 1.0, Level()\n',
            head="\nclass Level:\n    def __repr__(self):\n        return 1 / 0\n\n",
        ),
        call=RUN,
        answer=(
            "memory after memory 0 and action 'wait': <Level that cannot be shown>; Level is not supported, use an "
            "int, a str or a tuple of these"
        ),
    ),
    Mistake(
        group="tasks",
        title="a model with other labels than its task",
        files=script(
            'model = el.Model(["wait"], ["idle"], 0, lambda memory, action: [("idle", 1, 0)])\n'
            'el.Task(["wait", "go"], ["idle"], el.last_observation(), el.Reward(lambda s, a, o: 0), model)'
        ),
        call="python mine.py",
        answer="actions of the model: ('wait',); give it those of the task, ('wait', 'go')",
    ),
    Mistake(
        group="tasks",
        title="a history that is not a list of steps",
        files=shop() | script("from shop import shop\n\nshop.after(['wait'])"),
        call="python mine.py",
        answer="history: ['wait']; give pairs, as in [(action, observation), ...]",
        shown="mine.py",
    ),
    Mistake(
        group="rewards",
        title="a reward that raises an error that cannot be printed",
        files=shop(
            head="\nclass Odd(Exception):\n    def __str__(self):\n        return 1 / 0\n\n",
            reward="@shop.reward\ndef profit(s, action, observation):\n    raise Odd\n",
        ),
        call=RUN,
        answer=(
            "reward 'profit' raised Odd at (s, action, observation) = ('start', 'wait', 'busy'): <Odd that cannot be "
            "shown> (shop.py, line 16)"
        ),
    ),
    Mistake(
        group="tasks",
        title="a Gymnasium environment that can be reset only once",
        files=script(
            "import gymnasium\n\n\nclass Once(gymnasium.Env):\n"
            "    observation_space = action_space = gymnasium.spaces.Discrete(2)\n"
            "    times = 0\n\n"
            "    def reset(self, *, seed=None, options=None):\n"
            "        self.times += 1\n"
            "        return {1: 0}[self.times], {}\n\n"
            "    def step(self, action):\n"
            "        return 0, 0.0, True, False, {}\n\n\n"
            "el.run(el.from_gymnasium(Once), steps=9)"
        ),
        call="python mine.py",
        answer="environment 'Once': reset raised KeyError: 2 (mine.py, line 12)",
    ),
    Mistake(
        group="command line",
        title="a parameter that is set twice",
        files={},
        call="everlearn run service-station --set task.window=3 --set task.window=5",
        answer="--set: 'task.window=5'; gives task.window a second time; give it once",
    ),
    Mistake(
        group="command line",
        title="an empty name of a folder",
        files={},
        call="everlearn run riverswim --steps 9 --out ''",
        answer="--out: ''; give a folder",
    ),
    Mistake(
        group="tasks",
        title="a reference that is too large for a float",
        files=script('el.regret(el.run("riverswim", "always", steps=9, engine="reference"), 10**5000)'),
        call="python mine.py",
        answer=(
            "reference: <int that cannot be shown>; give an average reward, or the name of one in result.references; "
            "the default is the optimum"
        ),
    ),
]
