"""What a what-if replay costs: a journal of 1e6 rows read, retold and learned from, compiled against interpreted."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.analysis.past import lessons, read_past, retell
from everlearn.analysis.replay import write
from everlearn.durable.core import Core
from everlearn.durable.entry import Entry, Kind, checksum
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.durable.variation import varied
from everlearn.engine.studying import Lessons, study

ROWS, INTERPRETED = 1_000_000, 20_000


def replayed() -> list[dict[str, str]]:
    """Measure each part of a replay in one process; the code is compiled before."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        place = Path(folder)
        _record(place / "past")
        past, reading = _timed(lambda: read_past(place / "past"))
        setup = varied(past.stored, past.task, {"schedule": "smooth", "aleatoric": "window:2"})
        retold, retelling = _timed(lambda: retell(past, setup))
        core = Core(setup)
        taught = lessons(retold, core)
        study(Core(setup).agent, _first(taught, 10))
        _, compiled = _timed(lambda: study(core.agent, taught))
        few = _first(taught, INTERPRETED)
        _, interpreted = _timed(lambda: study(Core(setup).agent, few, "reference"))
        _, writing = _timed(lambda: write(core, place / "new"))
    parts = {"read and check the journal": reading, "retell it in windows of two": retelling}
    rows = [_row(name, seconds, ROWS) for name, seconds in parts.items()]
    ratio = interpreted / INTERPRETED / (compiled / ROWS)
    return [
        *rows,
        _row(f"learn, compiled ({ratio:,.0f} times the interpreted rate)", compiled, ROWS),
        _row("learn, interpreted", interpreted, INTERPRETED),
        _row("write the new directory", writing, None),
        _row("the whole replay, compiled", reading + retelling + compiled + writing, ROWS),
    ]


def _record(place: Path) -> None:
    """Write a journal of a random walk, as another controller would leave it."""
    random = np.random.default_rng(0)
    setup = {"actions": ["left", "right"], "observations": [*range(6)], "reward_range": (0, 1), "start": 0}
    with Store(place) as store:
        core = store.create("agent", make_setup(**setup))
        level, check, entries = 0, core.check, []
        for step, (action, luck) in enumerate(
            zip(random.integers(2, size=ROWS).tolist(), random.random(ROWS), strict=True), 1
        ):
            following = min(5, level + 1) if action and luck < 0.7 else max(0, level - 1)
            what = (0, 1.7e9 + step, level, None, None, action, following, round(following / 5, 1), following, None)
            fields = (step, Kind.WARM, step, *what)
            check = checksum(check, fields)
            entries.append((core.number, Entry._make((*fields, check))))
            level = following
        store.append(entries)


def _first(taught: Lessons, number: int) -> Lessons:
    return Lessons._make(column[:number] for column in taught)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what work returns, and the processor's seconds: other processes of the machine do not count."""
    began = time.process_time()
    return work(), time.process_time() - began


def _row(what: str, seconds: float, rows: int | None) -> dict[str, str]:
    return {"what": what, "seconds": f"{seconds:.2f}", "rows a second": f"{rows / seconds:,.0f}" if rows else ""}
