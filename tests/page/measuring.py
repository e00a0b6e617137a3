"""How often a page shows something new, and how fast it runs meanwhile."""

from __future__ import annotations

import time

from tests.page.browser import Tab, wait_for


def measure(tab: Tab, address: str, seconds: float) -> tuple[float, float]:
    """Return updates a second and steps a second of a page that runs, once it is under way."""
    tab.open(address)
    tab.press(" ", " ")
    wait_for(lambda: steps(tab) > 1_000_000, "a million steps")
    began, t, number = time.perf_counter(), steps(tab), shown(tab)
    time.sleep(seconds)
    took = time.perf_counter() - began
    found = (shown(tab) - number) / took, (steps(tab) - t) / took
    tab.press(" ", " ")
    wait_for(lambda: "Run" in tab.text(".run"), "a pause")
    return found


def steps(tab: Tab) -> int:
    """Return how many steps were taken, as the page shows it."""
    return int(tab.text("[data-part=time]").replace(",", "") or 0)


def shown(tab: Tab) -> int:
    """Return how many updates were painted."""
    return int(tab.evaluate("document.body.dataset.shown") or 0)
