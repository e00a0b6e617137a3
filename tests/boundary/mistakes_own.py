"""Mistakes in what a user's module does beside its task: it exits, hides another, or depends on more than it should."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_tasks import RUN, shop, world

MISTAKES = [
    Mistake(
        group="tasks",
        title="an environment that exits",
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
        title="an environment with a generator of its own that has no seed",
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
        title="an environment that counts in the module",
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
        title="an environment that counts in its class",
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
]
