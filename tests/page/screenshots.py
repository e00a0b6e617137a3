"""The screenshots of the documentation, made by the page itself: ``python -m tests.page.screenshots``."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import everlearn as el
from everlearn.experiments.execute import Watcher, execute
from everlearn.experiments.spec import read_spec
from everlearn.locks import working
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
        place = Path(folder)
        _work_half(place / "out")
        with working(place / "out"), running_page(arguments=["--experiment", str(place / "out")]) as served:
            tab.size(1440, 920)
            tab.open(served.address)
            _take(tab, IMAGES / "play-experiment.png")
        with _work(place / "station"), running_page(arguments=["--live", str(place / "station")]) as served:
            tab.size(1280, 1010)
            tab.open(served.address)
            _take(tab, IMAGES / "play-live.png")


class _Half(Watcher):
    """Stops an experiment when half of its steps are taken, however long that takes."""

    def __init__(self) -> None:
        self.stop, self.left = threading.Event(), 0.0

    def begin(self, cells: int, done: int, steps: int, steps_done: int) -> None:
        self.left = steps / 2

    def steps(self, number: int) -> None:
        self.left -= number
        if self.left <= 0:
            self.stop.set()


def _work_half(directory: Path) -> None:
    """Run half of an experiment; whoever holds its lock then seems to work on the other half."""
    tasks, agents = ["service-station", "riverswim"], ["growing-horizon", "q-learning", "always"]
    spec = read_spec({"name": "a station and a river", "task": tasks, "agent": agents, "steps": 1_000_000, "runs": 100})
    half = _Half()
    execute(spec, directory, watcher=half, stop=half.stop, gathered=False)


@contextmanager
def _work(directory: Path) -> Iterator[None]:
    """Let a live agent run the station, and keep it open."""
    station = make_task("service-station").start(np.random.default_rng(SEED))
    with el.live(directory, task="service-station", seed=SEED, drift={"batch": 100}) as agent:
        for _ in range(6000):
            agent.observe(station.step(agent.act()))
        yield


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
