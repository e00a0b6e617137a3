"""The gallery: every task with a drawing and its dilemma, and a link that shows an agent learn it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from urllib.parse import urlencode

import numpy as np

from everlearn.agents.spec import TaskSpec
from everlearn.errors import EverlearnError
from everlearn.labels import counted
from everlearn.page import station
from everlearn.page.drawing import HEIGHT, WIDTH, draw_task
from everlearn.page.following import write_plain
from everlearn.page.offer import Offer
from everlearn.protocol import Label
from everlearn.tasks.indexed import IndexedTask
from everlearn.tasks.portrait import Bars
from everlearn.tasks.task import Task

SEED, STEPS, MOST_STEPS = 1, 40, 400
"""How a task comes to look as it is drawn: the random seed, and the number of random actions.

There are more of them if most bars of its drawing are still empty.
"""

STORY = (
    "Choose what an agent is to learn, and press Run. "
    "To add a task of your own, name it in the command, as in <code>everlearn play shop:shop</code>"
    " (the task <code>shop</code> in <code>shop.py</code>)."
)

LINKS = '<a class="more" href="/station">Play the station</a>'


def write_gallery(cards: Iterable[str]) -> str:
    """Return the page of all tasks, given the card of each."""
    return write_plain("All tasks", STORY, f'<div class="gallery">{"".join(cards)}</div>', links=LINKS)


def write_card(offer: Offer, name: str) -> str:
    """Return the card of a task that is offered: its drawing, its dilemma, and a link that opens it."""
    preset = offer.task(TaskSpec(name)).make().portrait.preset
    given = {key.removeprefix("task."): value for key, value in preset.items() if key.startswith("task.")}
    try:
        task = offer.task(offer.check_task(TaskSpec(name, given))).make()  # as the link opens it
    except EverlearnError:  # a task passed as an object takes no parameters
        task, preset = offer.task(TaskSpec(name)).make(), {}
    return _card(name, task, offer.summary(name), preset)


def draw_example(task: Task) -> str:
    """Return the drawing of a task after some random actions, or of its beginning if it has no model, as SVG."""
    memory, here = _wander(task) if task.model is not None else (None, task.states.index(task.aleatoric.start))
    condition = station.read_task(task, memory, None)
    if condition is not None:
        return station.draw(condition)
    name = escape(f"A drawing of the task {task.name}: {task.portrait.name(task.states[here])}.")
    parts = "".join(draw_task(task, memory, here))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" class="drawing" aria-label="{name}">{parts}</svg>'


def _wander(task: Task) -> tuple[Label | None, int]:
    """Return what the environment remembers, and the aleatoric state, after some random actions."""
    rng, indexed = np.random.default_rng(SEED), IndexedTask(task)
    environment, here = task.start(rng), indexed.start
    actions = iter(rng.integers(len(task.actions), size=STEPS).tolist())
    for t in range(MOST_STEPS):
        if t >= STEPS and not _is_empty(task, getattr(environment, "memory", None)):
            break
        action = next(actions) if t < STEPS else int(rng.integers(len(task.actions)))
        observation = task.step(environment, task.actions[action])
        here, _ = indexed.step(here, action, indexed.observation(observation))
    return getattr(environment, "memory", None), here


def _is_empty(task: Task, numbers: Label | None) -> bool:
    """Return whether most bars of a drawing would be empty."""
    if not isinstance(task.portrait.drawing, Bars) or not isinstance(numbers, tuple):
        return False
    return 2 * sum(number != 0 for number in numbers) < len(numbers)


def _card(name: str, task: Task, summary: str, preset: Mapping[str, str]) -> str:
    query = urlencode({"task": name, **preset})
    states, kept = counted(len(task.states), "aleatoric state"), preset.get("task.aleatoric")
    kind = f", here {kept}" if kept else ""
    sizes = f"{states} (what the agent retains{kind}), {counted(len(task.actions), 'action')}"
    note = f'<p class="quiet">{escape(task.portrait.note)}</p>' if task.portrait.note else ""
    return (
        f'<a class="card task agent0" href="/?{escape(query)}"><h2>{escape(name)}</h2>{draw_example(task)}'
        f'<p>{escape(task.portrait.dilemma or task.summary or summary)}</p>{note}<p class="quiet">{sizes}</p></a>'
    )
