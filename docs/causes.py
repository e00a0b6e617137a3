"""Measure why the default agent loses where a rival is shown to be better: ``python -m docs.causes [TASK...]``.

The runs of the default on the board are repeated, phase by phase, and what it lost is divided among the participants
that take turns in it.  *Behind* is what it lost compared with the best rival, whose average reward in the same run and
the same decade of steps is the measure.  Shipped results say what each participant earns alone, and variants are run
where something changes or is hidden.  ``causes.json`` gets the figures.  A task is not measured again as long as the
shipped results are the same, so the same command resumes; tasks that are named are.  Then the table and the figure of
``practical.md`` are written anew.  :mod:`docs.losses` has the rules by which a cause is named.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from docs.board import LOSSES, write
from docs.losses import FILE, Record, causes, is_current, losses, records

import everlearn as el
from everlearn.engine.compiled import CompiledBatch
from everlearn.engine.plan import Plan
from everlearn.engine.runner import table_for
from everlearn.errors import require
from everlearn.experiments.spec import TaskEntry, name_of
from everlearn.experiments.variants import make_variants
from everlearn.figures.style import PALETTE, house_style
from everlearn.files import replacing
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.lineup import Lineup, lineup
from everlearn.leaderboard.shipped import Reference
from everlearn.leaderboard.standings import Duel, lost_duels
from everlearn.results.arm import Arm
from everlearn.tables import AnyTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = Path(__file__).parent / "practical.md"
IMAGE = Path(__file__).parent / "images" / "causes.png"

PARTICIPANTS = "actor-critic", "planner"
"""The agents of the board that take turns in the default one, by the number that it keeps of the one that acts."""


def turn(knowledge: Any) -> tuple[str, int]:
    """Return which participant acts now, and the last step of its phase: all that is read of the default agent."""
    choice = knowledge.choice
    return PARTICIPANTS[int(choice["second"][0, 0])], int(choice["ends"][0, 0])


class Phase(NamedTuple):
    """Steps of a run in which one participant acted, and the sum of their rewards."""

    who: str
    first: int
    last: int
    earned: float


def phases(plan: Plan, table: AnyTable, run: int, pool: ThreadPoolExecutor) -> Iterator[Phase]:
    """Run the default agent, and yield its phases; those that contain a power of ten end there."""
    batch = CompiledBatch(plan, table, [run], 1)
    group = batch.groups[0]
    while batch.t < plan.steps:
        began, before = batch.t, float(group.lanes.total[0])
        who, ends = turn(group.known_by(0))
        decade = 10 ** (int(math.log10(began + 0.5)) + 1) if began else 10
        for _ in batch.advance(pool, until=min(ends, decade, plan.steps)):
            pass
        yield Phase(who, began + 1, batch.t, float(group.lanes.total[0]) - before)


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "fading 0.003": ("planner", {"agent.fading": 0.003}),
    "fading 0.02": ("planner", {"agent.fading": 0.02}),
    "horizon 1": ("planner", {"agent.horizon_scale": 1.0, "agent.horizon_power": 0.0}),
    "no rarity": ("planner", {"agent.rarity": 0.0}),
}
"""What is run where something changes: the participant that follows changes, with one parameter of its own changed."""

WINDOWS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    f"window:{k}": ("versatile", {"task.aleatoric": f"window:{k}"}) for k in (2, 3)
}
"""What is run where the aleatoric state hides something, and the best rival loses more than ``MUCH``."""

MUCH = 0.1
VARIANT_RUNS = 2

CHANGING = "seasons", "drifting"
"""The tasks in which something changes."""


def variants(task: TaskEntry, best: float, reference: Reference) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """Return the variants to run on a task."""
    if name_of(task.given) in CHANGING:
        return VARIANTS
    return WINDOWS if reference.hidden and best > MUCH else {}


def measure(whole: Lineup, duel: Duel, pool: ThreadPoolExecutor) -> Record:
    """Return what the default lost on a task compared with the best rival, divided among its participants."""
    arms = {arm.agent: arm for arm in whole.shipped_arms if arm.task == duel.task}
    task = next(entry for entry in whole.spec.tasks if entry.label == duel.task)
    agents = tuple(entry for entry in whole.spec.agents if entry.label == whole.ours)
    plan = make_variants(replace(whole.spec, tasks=(task,), agents=agents, steps=duel.time))[0].plan
    table = table_for(plan, "compiled")
    reference, steps = whole.references[duel.task], duel.time
    optimum, size = reference.optimum, abs(reference.optimum)
    ends = [0, *(end for end in arms[whole.ours].times.tolist() if end <= steps)]
    parts = {who: np.zeros((len(ends) - 1, 3)) for who in PARTICIPANTS}
    leads = []
    for run in range(whole.spec.runs):
        rates = np.diff([earned(arms[duel.rival], end)[run] for end in ends]) / np.diff(ends)
        total = 0.0
        for phase in phases(plan, table, run, pool):
            length, decade = phase.last - phase.first + 1, int(np.searchsorted(ends, phase.last)) - 1
            lost, behind = ((rate * length - phase.earned) / size for rate in (optimum, rates[decade]))
            parts[phase.who][decade] += np.array([length, lost, behind]) / (steps * whole.spec.runs)
            total += phase.earned
        same = math.isclose(total, earned(arms[whole.ours], steps)[run], rel_tol=1e-9, abs_tol=1e-6)
        require(same, duel.task, f"run {run}", "is not that of the shipped results; run python -m docs.board first")
        leads.append(float(earned(arms[duel.rival], steps)[run] - total) / steps / size)

    def regret(average: float) -> float:
        return (optimum - average) / size

    regrets = {
        agent: regret(float(earned(arm, steps).mean()) / steps) for agent, arm in arms.items() if arm.times[-1] >= steps
    }
    tried = variants(task, regrets[duel.rival], reference).items()
    return Record(
        *(duel.task, duel.rival, steps, duel.difference or 0.0, regrets[whole.ours], regrets[duel.rival]),
        {who: part.round(9).tolist() for who, part in parts.items()},
        leads,
        {who: regrets[who] for who in PARTICIPANTS},
        {label: regret(average(task, *variant, steps, whole.spec.seed)) for label, variant in tried},
    )


def earned(arm: Arm, time: int) -> Any:
    """Return the sum of rewards of each run until a time."""
    return arm.total_reward[:, arm.times.tolist().index(time)] if time else np.zeros(arm.units)


def average(task: TaskEntry, agent: str, parameters: Mapping[str, Any], steps: int, seed: int) -> float:
    """Return the average reward of an agent on a task."""
    given = {f"task.{name}": values[0] for name, values in task.parameters.items()} | dict(parameters)
    result = el.run(task.given, agent, steps=steps, runs=VARIANT_RUNS, seed=seed, threads=1, parameters=given)
    return float(result.total_reward[:, -1].mean()) / steps


SHADES = 0.45, 1.0
"""How strong the colours of the first tenth of the steps and of the others are."""

SHOWN = -0.4, 1.4
"""The shares that are drawn."""


def figure(measured: Sequence[Record]) -> Figure:
    """Draw for each task in whose turns, and when, the default fell behind the best rival."""
    from matplotlib.figure import Figure

    rows = sorted(measured, key=lambda record: (causes(record)[0], -record.lead))
    with house_style():
        figure = Figure(figsize=(9.4, 1.2 + 0.235 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for place, record in enumerate(rows):
            _bars(axes, place, record)
            axes.text(1.45, place, f"{record.lead:.4f}", va="center", ha="left", fontsize=9)
            axes.text(1.66, place, causes(record)[0], va="center", ha="left", fontsize=9)
        for x, text in ((1.45, "behind"), (1.66, "why")):
            axes.text(x, -1.0, text, va="center", ha="left", fontsize=9, fontweight="bold")
        axes.set_yticks(range(len(rows)), [record.task for record in rows], fontsize=9)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(*SHOWN)
        axes.grid(visible=False, axis="y")
        axes.axvline(0, color="black", linewidth=0.8)
        axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("share of what was lost to the best rival")
        axes.tick_params(axis="y", length=0)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize=9)
    return figure


def _bars(axes: Axes, place: int, record: Record) -> None:
    """Draw positive shares to the right of 0 and negative ones to the left, those of one participant side by side."""
    right = left = 0.0
    for number, who in enumerate(PARTICIPANTS):
        behind = [decade[2] / record.lead for decade in record.parts[who]]
        early = sum(behind[:-1])
        for share, shade, when in zip((early, behind[-1]), SHADES, ("first tenth of the steps", "later"), strict=True):
            begin = right if share >= 0 else left
            label = f"turns of {who}, {when}" if place == 0 else None
            axes.barh(place, share, left=begin, color=PALETTE[1 - number], alpha=shade, label=label, height=0.7)
            right, left = right + max(share, 0.0), left + min(share, 0.0)


def main(named: list[str]) -> int:
    """Measure what is missing or named, and write the table and the figure."""
    whole = lineup()
    board = Board(whole, whole.shipped_arms, Path())
    worse = {task: duels[0] for task, duels in lost_duels(board.duels).items()}
    known = {task: record for task, record in records().items() if task in worse}
    with ThreadPoolExecutor(1) as pool:
        for task, duel in worse.items():
            if task in named or not is_current(known.get(task), duel):
                known[task] = measure(whole, duel, pool)
                ordered = [known[each]._asdict() for each in worse if each in known]
                lines = ",\n".join(json.dumps(record) for record in ordered)
                FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
                sys.stdout.write(f"{task}: {', '.join(causes(known[task]))}\n")
                sys.stdout.flush()
    write(PAGE, losses(board).markdown(level=3), LOSSES)
    with house_style(), replacing(IMAGE) as target:
        figure([known[task] for task in worse]).savefig(target, format="png", dpi=110)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
