"""The page: how often it shows something new while the engine runs, and what is left of the speed of the engine."""

from __future__ import annotations

import statistics

import everlearn as el
from tests.page.browser import Tab, running_browser, running_page
from tests.page.measuring import measure

ROUNDS = 5
SECONDS = 3.0
"""How long each is measured in a round."""

STEPS = 20_000_000


def looking() -> list[dict[str, str]]:
    """Let the page run as fast as it goes and the engine alone, in turns; compare within each round."""
    rows = []
    with running_page() as page, running_browser() as browser:
        address = page.address
        tab = browser.tab()
        tab.size(1280, 860)
        paints = [_first_paint(tab, f"{address}?speed=fastest") for _ in range(3)]
        for number, query in ((1, ""), (2, "&2.agent=always"), (4, "&2.agent=always&3.agent=q-learning&4.agent=ucb-h")):
            rounds = [_round(tab, f"{address}?speed=fastest{query}", number) for _ in range(ROUNDS)]
            rows.append(
                {
                    "agents": str(number),
                    "updates per second": f"{statistics.median(one[0] for one in rounds):.0f}",
                    "million steps per second, all agents": f"{statistics.median(one[1] for one in rounds) / 1e6:.1f}",
                    "relative to the engine alone": f"{statistics.median(one[2] for one in rounds):.2f}"
                    if number == 1
                    else "",
                    "first paint, best of three, s": f"{min(paints):.2f}" if number == 1 else "",
                }
            )
    return rows


def _round(tab: Tab, address: str, agents: int) -> tuple[float, float, float]:
    """Return updates per second, steps per second of all agents, and the speed relative to the engine alone."""
    alone = el.run("service-station", "growing-horizon", steps=STEPS, seed=1).steps_per_second
    updates, steps = measure(tab, address, SECONDS)
    return updates, steps * agents, steps / alone


def _first_paint(tab: Tab, address: str) -> float:
    tab.open(address)
    return float(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")) / 1000
