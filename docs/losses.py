"""Say where our agent is shown to lose on a board, and why: a table of the page ``practical.md``.

:mod:`docs.causes` measures why; here are the rules by which a cause is named.  *Behind* is what the default agent lost
compared with the best rival.  Each rule asks whether something accounts for at least half of that.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from everlearn.leaderboard.board import Board
from everlearn.leaderboard.standings import Duel, lost_duels
from everlearn.leaderboard.tables import Grid, marked, share

FILE = Path(__file__).parent / "causes.json"

HALF = 0.5
"""What accounts for this share of what was lost to the best rival is its cause."""

TURNS, SHARED, CHOICE, RUN, UNKNOWN = "turns of {}", "shared steps", "choice of {}", "one run in {}", "not found"
UNMEASURED = "not measured"

TRIED = {
    "fading 0.003": "forgets too fast",
    "fading 0.02": "forgets too slowly",
    "horizon 1": "looks far ahead",
    "no rarity": "explores too much",
    "window:2": "short memory",
    "window:3": "short memory",
}
"""What is said of the default if a variant regains the loss, by the name that :mod:`docs.causes` gives the variant."""

HINTS = {"queueing-network, tandem": "`lattice`"}
"""What else helps, where it was measured elsewhere."""

NAMED = 3
"""How many of the rivals that are shown to be better are named."""


class Record(NamedTuple):
    """What the default agent lost on a task compared with the best rival, as shares of the optimum per step."""

    task: str
    rival: str
    steps: int
    difference: float
    """That of the duel, by which an old record is told: the rival's relative regret minus that of the default."""
    regret: float
    best: float
    """The relative regret of the rival in the same runs."""
    parts: dict[str, list[list[float]]]
    """For each participant and decade: its share of the steps, what was lost in them, and how much of it behind."""
    leads: list[float]
    """How much each run was behind."""
    alone: dict[str, float]
    """The relative regret of each participant that acts alone."""
    variants: dict[str, float]
    """The relative regret of variants that were run."""

    @property
    def lead(self) -> float:
        """By how much the default is behind."""
        return self.regret - self.best

    @property
    def main(self) -> str:
        """The participant that acts most in the last decade."""
        return max(self.parts, key=lambda who: self.parts[who][-1][0])

    def behind(self, who: str) -> float:
        """Return the share of the lead that was lost in the turns of a participant."""
        return sum(decade[2] for decade in self.parts[who]) / self.lead

    def regained(self, regret: float) -> float:
        """Return the share of the lead that something with this relative regret regains."""
        return (self.regret - regret) / self.lead


def causes(record: Record) -> list[str]:
    """Return what accounts for at least half of the lead, the first that applies first; the page explains the words."""
    main, others = record.main, [who for who in record.parts if who != record.main]
    found = []
    if sum(record.behind(who) for who in others) >= HALF:
        found.append(TURNS.format(max(others, key=record.behind)))
    elif record.regained(record.alone[main]) >= HALF:
        found.append(SHARED)
    elif (best := min(others, key=record.alone.__getitem__)) and record.regained(record.alone[best]) >= HALF:
        found.append(CHOICE.format(main))
    if max(record.leads) >= HALF * sum(record.leads):
        found.append(RUN.format(len(record.leads)))
    tried = min(record.variants, key=record.variants.__getitem__, default=None)
    if tried is not None and record.regained(record.variants[tried]) >= HALF:
        found.append(TRIED[tried])
    return found or [UNKNOWN]


def records(file: Path = FILE) -> dict[str, Record]:
    """Return what was measured, by task."""
    return {each["task"]: Record(**each) for each in json.loads(file.read_text())} if file.exists() else {}


def is_current(record: Record | None, duel: Duel) -> bool:
    """Return whether a record is of the shipped results."""
    same = record is not None and (record.rival, record.steps) == (duel.rival, duel.time)
    return same and math.isclose(record.difference, duel.difference or 0.0, abs_tol=1e-12)  # type: ignore[union-attr]


def losses(board: Board, file: Path = FILE) -> Grid:
    """Return a row for each task on which a rival is shown to be better: the best of these rivals, and the cause."""
    worse, ours, measured = lost_duels(board.duels), board.lineup.ours, records(file)
    heads = ["task", "best rival", "its regret", "that of the default", "steps", "rivals", "why", "instead"]
    ends = sorted(Counter(best.time for best, *_ in worse.values()).items(), reverse=True)
    split = ", ".join(f"{count} {'only ' * (place > 0)}after {end:,}" for place, (end, count) in enumerate(ends))
    title = f"Tasks on which a rival is shown to be better: {len(worse)} of {len(board.lineup.tasks)} ({split} steps)"
    return Grid(title, heads, [_row(board, ours, duels, measured.get(task)) for task, duels in worse.items()])


def _row(board: Board, ours: str, duels: list[Duel], record: Record | None) -> list[str]:
    best, task = duels[0], duels[0].task
    regret = {row.agent: share(row.relative_regret) for row in board.rows if (row.task, row.time) == (task, best.time)}
    why = causes(record)[0] if record is not None and is_current(record, best) else UNMEASURED
    instead = [*(f"`{duel.rival}`" for duel in duels[:NAMED]), *filter(None, [HINTS.get(task)])]
    if record is not None:
        better = {label: value for label, value in record.variants.items() if ":" in label and value < record.best}
        instead += [f"`task.aleatoric={min(better, key=better.__getitem__)}`"] if better else []
    return [
        marked(board, task),
        best.rival,
        regret[best.rival],
        regret[ours],
        f"{best.time:,}",
        str(len(duels)),
        why,
        ", ".join(instead),
    ]
