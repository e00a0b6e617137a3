"""The screenshots of the documentation, made by the page itself: ``python -m tests.play.screenshots``."""

from __future__ import annotations

import time
from pathlib import Path

from tests.play.browser import ROOT, Tab, running_browser, running_page, wait_for
from tests.play.measuring import steps

IMAGES = ROOT / "docs" / "images"
SEED = 1
OWN = ("own_task:shop", "--agent", "own_agent:r_learning")


def main() -> None:
    """Make every screenshot."""
    with running_page() as served, running_browser() as browser:
        tab = browser.tab()
        tab.size(1280, 830)
        _play(tab, served.address)
        _take(tab, IMAGES / "play-station.png")
        alone = f"{served.address}?seed={SEED}&speed=1000000&growing=no"
        tab.size(1280, 860)
        _run(tab, alone, 300_000)
        _take(tab, IMAGES / "play-wide.png")
        tab.size(390, 844, scale=2)
        _run(tab, alone, 300_000)
        _take(tab, IMAGES / "play-narrow.png")
        tab.size(1280, 1670, dark=True)
        _run(tab, f"{alone}&2.agent=growing-horizon&2.schedule=smooth", 300_000)
        tab.evaluate(
            "[...document.querySelectorAll('details.fold')]"
            ".find(e => e.querySelector('summary').innerText.includes('See what')).open = true"
        )
        _take(tab, IMAGES / "play-dark.png")
        with running_page(arguments=OWN, folder=ROOT / "examples") as own:
            tab.size(1280, 1010)
            _run(tab, f"{own.address}?speed=100000&growing=no&2.agent=growing-horizon", 20_000)
            _take(tab, IMAGES / "play-own.png")


def _play(tab: Tab, address: str) -> None:
    """Serve one customer slowly and all others fast, then show the race."""
    tab.call("Page.navigate", url=address)
    wait_for(lambda: tab.evaluate("!!globalThis.everlearn && !!document.querySelector('#scene svg')"), "the station")
    tab.evaluate("ready.then(() => 0)")
    tab.evaluate(
        "clearTimeout(waiting); while (you.t < LENGTH) step(you.t < 6 ? SLOW : FAST); advance(data.steps);"
        "get('time').value = 700; draw(); moments()"
    )


def _run(tab: Tab, address: str, number: int) -> None:
    tab.open(address)
    tab.press(" ", " ")
    wait_for(lambda: steps(tab) > number, f"{number:,} steps")
    tab.press(" ", " ")
    wait_for(lambda: "Run" in tab.text(".run"), "a pause")


def _take(tab: Tab, path: Path) -> None:
    """Write what is seen from the top, when nothing moves any more."""
    tab.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    time.sleep(1.0)
    tab.screenshot(path)
    print(f"written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
