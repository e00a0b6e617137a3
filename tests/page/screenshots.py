"""The screenshots of the documentation, made by the page itself: ``python -m tests.page.screenshots``."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import everlearn as el
from everlearn.experiments.execute import execute
from everlearn.experiments.spec import read_spec
from everlearn.tasks.registry import make_task
from tests.page.browser import ROOT, Tab, running_browser, running_page, wait_for
from tests.page.measuring import steps

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
        tab.size(1280, 1010)
        tab.call("Page.navigate", url=f"{served.address}tasks")
        wait_for(lambda: tab.evaluate("!!document.querySelector('a.task svg')"), "the gallery")
        _take(tab, IMAGES / "play-tasks.png")
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
        tab.click(".inside .q-toggle")
        _take(tab, IMAGES / "play-dark.png")
        with running_page(arguments=OWN, folder=ROOT / "examples") as own:
            tab.size(1280, 1010)
            _run(tab, f"{own.address}?speed=100000&growing=no&2.agent=growing-horizon", 20_000)
            _take(tab, IMAGES / "play-own.png")
        _follow(tab)


def _follow(tab: Tab) -> None:
    """Show an experiment while it runs, and a live agent."""
    with TemporaryDirectory() as folder:
        place, stop = Path(folder), threading.Event()
        tasks, agents = ["service-station", "riverswim"], ["growing-horizon", "q-learning", "always"]
        spec = read_spec({"name": "two rivers", "task": tasks, "agent": agents, "steps": 3_000_000, "runs": 100})
        thread = threading.Thread(target=execute, args=(spec, place / "out"), kwargs={"stop": stop})
        thread.start()
        wait_for(lambda: len([*(place / "out").glob("cells/*.npz")]) > 12, "half of the experiment")
        with running_page(arguments=["--experiment", str(place / "out")]) as served:
            tab.size(1440, 880)
            tab.open(served.address)
            _take(tab, IMAGES / "play-experiment.png")
        stop.set()
        thread.join()
        _work(place / "station")
        with running_page(arguments=["--live", str(place / "station")]) as served:
            tab.size(1280, 1010)
            tab.open(served.address)
            _take(tab, IMAGES / "play-live.png")


def _work(directory: Path) -> None:
    """Let a live agent run the station."""
    station = make_task("service-station").start(np.random.default_rng(SEED))
    with el.live(directory, task="service-station", seed=SEED, drift={"batch": 100}) as agent:
        for _ in range(6000):
            agent.observe(station.step(agent.act()))


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
