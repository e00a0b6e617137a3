"""Mistakes with the directory and the journal of a durable agent, and with agents named for the leaderboard."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_gymnasium import line

FIRST = """import everlearn as el

with el.live("agent", "service-station", seed=1) as agent:
    for _ in range(9):
        agent.act()
        agent.observe("nothing")
"""


def past(title: str, call: str, answer: str) -> Mistake:
    """Return a mistake in a command about a journal of nine steps."""
    return Mistake("live", title, {"first.py": FIRST}, call, answer, before=("python first.py",))


MISTAKES = [
    past(
        "a range of steps that ends before it begins",
        "everlearn journal agent --from 5 --to 2",
        "--from: 5; is after --to 2; give a step of at most 2",
    ),
    past(
        "a misspelt greedy policy to evaluate",
        "everlearn evaluate agent --policy greddy",
        "policy: 'greddy'; known actions: fast, slow; or greedy, the greedy policy of the agent",
    ),
    line(
        "live",
        "a text file in place of a database",
        "import pathlib\n"
        "\n"
        'pathlib.Path("agent").mkdir()\n'
        'pathlib.Path("agent/everlearn.db").write_text("hello\\n" * 200)\n'
        'el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1))',
        "agent/everlearn.db: file is not a database; see what can be saved with: everlearn check agent",
    ),
    line(
        "rewards",
        "a misspelt reward for a durable agent",
        'el.live("agent", actions=["off"], observations=["dry"], reward_range=(0, 1), reward="givn")',
        "reward: 'givn'; known: given (did you mean given?); or a function, rows, or a mapping by state, action and "
        "observation",
    ),
    line(
        "tasks",
        "a misspelt argument of a task",
        'el.task(action=["off", "on"], observations=["dry", "wet"])',
        "argument of el.task: 'action'; known: actions, aleatoric, hidden, memory, name, observations, raw, "
        "references, reward_range, source (did you mean actions?)",
    ),
    Mistake(
        group="agents",
        title="a misspelt agent for the leaderboard",
        files={"mine.py": "agent = None\n"},
        call="everlearn leaderboard --agent mine:agnt",
        answer="agent: 'mine:agnt'; known: agent (did you mean agent?); these are in mine",
    ),
]
