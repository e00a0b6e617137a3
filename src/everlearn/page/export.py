"""The station as one HTML file, which needs no server: you play, and then agents race with the same random numbers.

``engine.js`` runs the agents in the browser, equal to the engine to the last bit.  The values that need functions which
differ between languages (powers, logarithms, exponentials) are computed here and embedded.
"""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from everlearn.agents.schedule import Schedule, practical, smooth
from everlearn.engine.timeline import Timeline
from everlearn.environments.model import cumulative
from everlearn.environments.service_station import ACTIONS, ARRIVAL, BOTH, DEPARTURE, VACANT, ServiceStation
from everlearn.protocol import Table
from everlearn.randomness import AGENT, ENVIRONMENT, stream, words

STEPS = 50_000
"""The length of the race: the agent with our schedule has found out by then."""

SEEDS = 12
"""How many games there are, each with different random numbers."""

_FOLDER = Path(__file__).parent / "game"


@cache
def write_page(watch: str = "") -> str:
    """Return the page; ``watch`` is the address of the page of all tasks, if it is served."""
    link = f'<a class="more" href="{escape(watch)}">Watch any agent on any task</a>' if watch else ""
    parts = {
        "STYLE": (_FOLDER / "game.css").read_text(encoding="utf-8"),
        "ENGINE": (_FOLDER / "engine.js").read_text(encoding="utf-8"),
        "GAME": (_FOLDER / "game.js").read_text(encoding="utf-8"),
        "DATA": json.dumps(embedded(), separators=(",", ":")),
        "WATCH": link,
    }
    page = (_FOLDER / "game.html").read_text(encoding="utf-8")
    for name, text in parts.items():
        page = page.replace(f"/*{name}*/", text)
    return page


def export(path: Path) -> Path:
    """Write the page to a file."""
    path.write_text(write_page(), encoding="utf-8")
    return path


@cache
def embedded() -> dict[str, Any]:
    """Return what the engine in the browser cannot compute to the last bit."""
    station = ServiceStation()
    return {
        "steps": STEPS,
        "arrival": [station.arrival_probability(longest) for longest in range(1, station.cap + 1)],
        "rows": [_rows(station, longest) for longest in range(1, station.cap + 1)],
        "seeds": [
            {name: _words(seed, whose) for name, whose in (("environment", ENVIRONMENT), ("agent", AGENT))}
            for seed in range(1, SEEDS + 1)
        ],
        "schedules": {"practical": _schedule(practical()), "smooth": _schedule(smooth())},
    }


def _rows(station: ServiceStation, longest: int) -> list[list[dict[str, Any]]]:
    """Return what can happen after each action, and while nobody is there, with bounds for a uniform number."""
    ages = (1,) * (longest - 1) + (0,) * (station.cap - longest)
    cases = [((0, ages), action) for action in ACTIONS] + [((VACANT, ages), ACTIONS[0])]
    rows = []
    for memory, action in cases:
        outcomes = station.model().outcomes(memory, action)
        bounds = [*cumulative(outcomes)[:-1], 2.0]  # no number is as large as the last
        rows.append(
            [
                {
                    "bound": float(bound),
                    "arrives": outcome.observation in (ARRIVAL, BOTH),
                    "departs": outcome.observation in (DEPARTURE, BOTH),
                }
                for bound, outcome in zip(bounds, outcomes, strict=True)
            ]
        )
    return rows


def _words(seed: int, whose: int) -> list[str]:
    return [str(word) for word in words(stream(seed, 0, whose)).tolist()]


def _schedule(schedule: Schedule) -> dict[str, Any]:
    block = Timeline(schedule).next(STEPS)
    return {
        "horizon": encode(block.horizon),
        "optimism": encode(block.optimism),
        "weight": schedule.step_weight,
        "doubt": schedule.doubt,
        "rarity": schedule.rarity,
        "persistence": schedule.persistence,
        "most": schedule.persistence_most,
        "unit": schedule.unit,
    }


def encode(values: Table) -> str:
    """Write numbers in few letters: the bits of doubles, whose third differences are small, compressed."""
    bits = np.ascontiguousarray(values).view(np.int64)
    for _ in range(3):
        bits = np.concatenate([bits[:1], np.diff(bits)])
    coded = bytearray()
    for number in ((bits << 1) ^ (bits >> 63)).view(np.uint64).tolist():
        while number > 127:
            coded.append(number & 127 | 128)
            number >>= 7
        coded.append(number)
    return base64.b64encode(zlib.compress(bytes(coded), 9)).decode()
