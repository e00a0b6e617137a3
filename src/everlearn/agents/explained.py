"""Put a learned tree into words: for each aleatoric state what the agent does, and on what of the past it depends."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from everlearn.agents import tally
from everlearn.agents.past import AGES, MOST_LEAD, Sizes
from everlearn.agents.tree import FEATURE, NO, VALUE, VISITS, YES, Tree
from everlearn.labels import counted
from everlearn.tasks.task import Task


def explain(knowledge: Tree, task: Task) -> str:
    """Return the tree as text; leaves that the agent has not visited are left out.  If the tally acts, say so first."""
    lines: list[str] = describe_tally(knowledge, task) if tally.acts(knowledge) else []
    for index, state in enumerate(task.states):
        _describe(knowledge, task, index, f"in {state!r}", "", lines)
    return "\n".join(lines) or "nothing has been learned yet"


def describe_tally(knowledge: Tree, task: Task) -> list[str]:
    """Return in words that the tally acts, what its events are, and how many observations it tells apart."""
    events = [repr(task.observations[o]) for o in range(len(task.observations)) if tally.is_event(knowledge, o)]
    lines = [
        "it acts by a tally of what each action brought since the last event, not by the tree below",
        f"events: {', '.join(events) or 'none'}",
    ]
    for a, leader in np.argwhere(knowledge.told > 1).tolist():
        more = f"counts to {knowledge.told[a, leader]}"
        lines.append(f"after {task.actions[a]!r}, it {more} by how much {task.observations[leader]!r} leads")
    return lines


def _describe(knowledge: Tree, task: Task, node: int, when: str, indent: str, lines: list[str]) -> None:
    """Add the lines of a node and of those below it; leaves that were never visited are left out."""
    feature, value, yes, no = knowledge.nodes[node, [FEATURE, VALUE, YES, NO]].tolist()
    if feature >= 0:
        lines.append(f"{indent}{when}:")
        text = question(knowledge.sizes, feature, value, task)
        _describe(knowledge, task, yes, f"if {text}", indent + "  ", lines)
        _describe(knowledge, task, no, "otherwise", indent + "  ", lines)
    elif (visits := int(knowledge.nodes[node, VISITS])) > 0:
        row = knowledge.cells["value"][node]
        best = " or ".join(repr(task.actions[a]) for a in np.flatnonzero(row == row.max()))
        lines.append(f"{indent}{when}: {best} ({counted(visits, 'visit')})")


def question(sizes: Sizes, feature: int, value: int, task: Task) -> str:
    """Return a question in words, as a condition.

    Examples
    --------
    >>> import everlearn as el
    >>> agent = el.Agent("t-maze", "learned", parameters={"task.window": 1})
    >>> sizes = agent.knowledge.sizes
    >>> for feature, value in ((1, 2), (4, 0), (7, 1), (12, 3), (18, 6), (62, 1)):
    ...     print(question(sizes, feature, value, agent.task))
    the observation 1 step ago was 'corridor'
    the last action was 'left'
    the last different observation was 'right'
    'corridor' was last seen at least 3 steps ago
    'left' leads by at least 2 since another action was taken
    'left' was seen after 'junction' was last seen

    """
    kind, number = sizes.kinds[feature]
    if kind in ("observation", "change"):
        which = "observation" if kind == "observation" else "different observation"
        ago = ["now is", "1 step ago was"][number] if number < 2 else f"{number} steps ago was"
        before = "the last" if number == 1 else f"the {_ordinal(number)} last"
        label = repr(task.observations[value])
        return f"the {which} {ago} {label}" if kind == "observation" else f"{before} {which} was {label}"
    if kind == "action":
        before = "the last" if number == 1 else f"the {_ordinal(number)} last"
        return f"{before} action was {task.actions[value]!r}"
    if kind == "clock":
        labels, verb = (*task.observations, *task.actions), "seen" if number < sizes.observations else "done"
        steps = AGES[value - 1]
        return f"{labels[number]!r} was last {verb} at least {steps} step{'s' if steps > 1 else ''} ago"
    if kind == "order":
        return _order(sizes, number, (*task.observations, *task.actions))
    reset, observation = divmod(number, sizes.observations)
    label, lead = repr(task.observations[observation]), value - MOST_LEAD
    how = f"leads by at least {lead}" if lead > 0 else "is not behind" if lead == 0 else f"is at most {-lead} behind"
    since = f"{task.observations[reset - 1]!r} was last seen" if reset else "another action was taken"
    return f"{label} {how} since {since}"


def _order(sizes: Sizes, pair: int, labels: tuple[object, ...]) -> str:
    first, second = list(combinations(range(sizes.timed), 2))[pair]
    verbs = ["seen" if label < sizes.observations else "done" for label in (first, second)]
    return f"{labels[first]!r} was {verbs[0]} after {labels[second]!r} was last {verbs[1]}"


def _ordinal(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")
