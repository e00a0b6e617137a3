"""Mistakes with results: figures, files, regret and policies."""

from __future__ import annotations

from tests.boundary.mistake import Mistake

RUN = "import everlearn as el\n\nresult = el.run('riverswim', 'always', steps=10)\n"

MISTAKES = [
    Mistake(
        group="command line",
        title="an unknown reference",
        files={"mine.py": RUN + "print(result.references['optimal'])\n"},
        call="python mine.py",
        answer=(
            "reference: 'optimal'; known: always left, always right, best over aleatoric states, "
            "optimum over all policies"
        ),
    ),
    Mistake(
        group="specs",
        title="parameters in a list",
        files={"mine.py": "import everlearn as el\n\nel.run('riverswim', parameters=['agent.phase'])\n"},
        call="python mine.py",
        answer="parameters: ['agent.phase']; give a dictionary, as in {\"task.window\": 6}",
    ),
    Mistake(
        group="specs",
        title="figures of an experiment in a temporary directory",
        files={"mine.py": "import everlearn as el\n\nel.experiment('riverswim', 'always', steps=10).plot()\n"},
        call="python mine.py",
        answer=("out: None; say where to write; this experiment is in a temporary directory, which is removed with it"),
    ),
    Mistake(
        group="command line",
        title="a figure of an unknown format",
        files={},
        call="everlearn run riverswim --steps 100 --plot curve.gif",
        answer="--plot: 'curve.gif'; end it in one of .png, .svg, .pdf",
    ),
    Mistake(
        group="command line",
        title="a figure in a folder that does not exist",
        files={},
        call="everlearn run riverswim --steps 100 --plot figures/curve.png",
        answer="--plot: 'figures/curve.png'; there is no folder 'figures'; make it first",
    ),
    Mistake(
        group="command line",
        title="a result saved to a file instead of a folder",
        files={"kept": ""},
        call="everlearn run riverswim --steps 100 --out kept",
        answer="--out: 'kept'; is a file; give a folder",
    ),
    Mistake(
        group="command line",
        title="a result saved in the folder of an experiment",
        files={"station/manifest.json": "{}"},
        call="everlearn run riverswim --steps 100 --out station",
        answer="--out: 'station'; is the folder of an experiment; give another",
    ),
    Mistake(
        group="command line",
        title="a policy that names a state twice",
        files={},
        call="everlearn theory riverswim --policy 0=left,0=right",
        answer="policy: '0=right'; the aleatoric state 0 appears twice; name each state once",
    ),
    Mistake(
        group="command line",
        title="a policy with an unknown action",
        files={},
        call="everlearn theory riverswim --policy 0=up",
        answer="action in the policy: 'up'; known: left, right",
    ),
    Mistake(
        group="command line",
        title="a policy with an unknown state",
        files={},
        call="everlearn theory riverswim --policy 9=left",
        answer="aleatoric state in the policy: '9'; known: 0, 1, 2, 3, 4, 5",
    ),
    Mistake(
        group="command line",
        title="a policy whose probabilities sum to more than one",
        files={},
        call="everlearn theory riverswim --policy 0=left:0.5+right:0.7",
        answer="policy: 'left:0.5+right:0.7'; its probabilities sum to 1.2; they must sum to one",
    ),
    Mistake(
        group="command line",
        title="a policy together with --only optimum",
        files={},
        call="everlearn theory riverswim --only optimum --policy left",
        answer=(
            "--only: 'optimum'; computes nothing else; leave out --policy, --horizon, --steps, --frontier and --figure"
        ),
    ),
    Mistake(
        group="specs",
        title="one agent to compare with, and all pairs",
        files={},
        call="everlearn experiment compare station --against smooth --all-pairs",
        answer="--against: 'smooth'; leave it out with --all-pairs, or leave out --all-pairs",
    ),
    Mistake(
        group="tasks",
        title="regret against a task",
        files={"mine.py": RUN + "el.regret(result, el.mdp([[[1.0]]], [[0.5]], reward_range=(0, 1), name='dull'))\n"},
        call="python mine.py",
        answer=(
            "reference: Task('dull': 1 action, 1 observation, 1 aleatoric state, a model); give an average reward, or "
            "the name of one in result.references; the default is the optimum"
        ),
    ),
    Mistake(
        group="tasks",
        title="regret with its arguments swapped",
        files={"mine.py": RUN + "el.regret(0.5, result)\n"},
        call="python mine.py",
        answer="result: 0.5; give what everlearn.run returned",
    ),
    Mistake(
        group="tasks",
        title="an optimum that is not known",
        files={
            "mine.py": (
                "import everlearn as el\n\n\nclass Coin:\n    def start(self, rng):\n        self.rng = rng\n\n"
                "    def step(self, action):\n        return int(self.rng.random() < 0.5)\n\n\n"
                "coin = el.task(actions=[0, 1], observations=[0, 1], reward_range=(0, 1))(Coin)\n"
                "coin.reward(lambda s, action, observation: float(action == observation))\n"
                "el.regret(el.run(coin, 'always', steps=10))\n"
            )
        },
        call="python mine.py",
        answer=(
            "reference: 'optimum over all policies'; is not known for 'Coin'; give an average reward, as in "
            "el.regret(result, 0.5)"
        ),
    ),
    Mistake(
        group="command line",
        title="a result saved into a folder that does not exist",
        files={"mine.py": RUN + "result.save('kept/result.npz')\n"},
        call="python mine.py",
        answer="path: 'kept/result.npz'; there is no folder 'kept'; make it first",
    ),
    Mistake(
        group="command line",
        title="a file that is not a result",
        files={"mine.py": "import everlearn as el\n\nel.load('mine.py')\n"},
        call="python mine.py",
        answer="mine.py: not a complete result; give what Result.save or everlearn run --out wrote",
    ),
    Mistake(
        group="command line",
        title="an agent state in place of a result",
        files={"mine.py": "import everlearn as el\n\nel.Agent('riverswim').save('agent.npz')\nel.load('agent.npz')\n"},
        call="python mine.py",
        answer="agent.npz: is the state of an agent; give it to agent.load; a result is written by Result.save",
    ),
    Mistake(
        group="command line",
        title="a result that does not exist",
        files={"mine.py": "import everlearn as el\n\nel.load('result.npz')\n"},
        call="python mine.py",
        answer="result.npz: there is no such file",
    ),
    Mistake(
        group="command line",
        title="a reference in place of the measure of a figure",
        files={"mine.py": RUN + "result.plot('optimum')\n"},
        call="python mine.py",
        answer="measure: 'optimum'; draw 'average reward' or 'regret'; name a line with reference=...",
    ),
    Mistake(
        group="command line",
        title="an unknown line in a figure",
        files={"mine.py": RUN + "result.plot(reference='best')\n"},
        call="python mine.py",
        answer=(
            "reference: 'best'; known: always left, always right, best over aleatoric states, optimum over all policies"
        ),
    ),
    Mistake(
        group="tasks",
        title="a reference that is not a number",
        files={
            "mine.py": (
                "import everlearn as el\n\n\n"
                "@el.task(actions=[0], observations=[0], memory=0, references={'optimum': 'high'})\n"
                "def dull(memory, action):\n    yield 0, 1.0, 0\n\n\n"
                "@dull.reward\ndef reward(s, action, observation):\n    return 0.5\n"
            )
        },
        call="everlearn run mine:dull --agent always --steps 10 --engine {engine}",
        answer="references: {'optimum': 'high'}; give finite average rewards by name, as in {'optimum': 0.5}",
    ),
]
