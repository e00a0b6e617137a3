"""Mistakes in what a user's module does beside its task: it exits, hides another, or depends on more than it should."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_tasks import DYNAMICS, RUN, script, shop, world

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
        group="command line",
        title="the path of a file in place of a module",
        files=shop(),
        call="everlearn run /tmp/shop.py:shop --steps 9",
        answer="task: '/tmp/shop.py:shop'; write shop:shop, in the folder /tmp",
        shown="",
    ),
]
