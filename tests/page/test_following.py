"""The pages that follow a directory, in a real browser, while another process writes to it."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import httpx
import pytest

import everlearn as el
from everlearn.durable.following import Follower as LiveFollower
from everlearn.durable.setup import Setup
from everlearn.durable.store import Store
from everlearn.engine.curves import recording_times
from everlearn.errors import NoExperiment
from everlearn.experiments.following import Follower
from everlearn.locks import working
from everlearn.page import following, start
from everlearn.page.following import ExperimentView, read_width, write_plain
from everlearn.page.living import LiveView, _policy
from everlearn.page.server import make_view_app
from everlearn.results.store import Cells
from tests.page.axe import violations
from tests.page.browser import PATIENCE, ROOT, START, running_page, wait_for
from tests.page.conftest import open_tab

opened = contextmanager(open_tab)

SIZES = {1440: 900, 1024: 768, 390: 844}
SETUP = {"actions": ["off", "on"], "observations": ["cold", "warm"], "reward": "given", "reward_range": (0, 1)}
SPEC = """
name = "swimmers"
steps = 1e10
runs = 2
[[task]]
name = "riverswim"
[[agent]]
name = "growing-horizon"
label = "<b>new</b>"
[[agent]]
name = "always"
"""


@contextmanager
def running_experiment(folder):
    """Run an experiment that takes too long as a user does; yield it once it has written something."""
    (folder / "spec.toml").write_text(SPEC)
    command = [sys.executable, "-c", START, "experiment", "run", "spec.toml", "--out", "out", "--threads", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(lambda: [*(folder / "out").glob("cells/*.npz")] or process.poll() is not None, "a first cell")
        yield folder / "out", process
    finally:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(PATIENCE)


@contextmanager
def working_agent(folder):
    """Let a live agent work in a thread; this process has it open meanwhile."""
    stop = threading.Event()
    agent = el.live(folder / "cooler", **SETUP, aleatoric="window:2", drift={"batch": 20}, seed=1)

    def work() -> None:
        while not stop.wait(0.002):
            on = agent.act() == "on"
            agent.observe("cold" if on else "warm", reward=float(on))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield folder / "cooler"
    finally:
        stop.set()
        thread.join()
        agent.close()


def points(tab) -> list[int]:
    return tab.evaluate("[...document.querySelectorAll('svg.chart polyline')].map(e => e.points.numberOfItems)")


def chart_text(tab) -> str:
    return str(tab.evaluate("document.querySelector('svg.chart').textContent"))


def number(text: str) -> int:
    return int("".join(letter for letter in text if letter.isdigit()))


@pytest.mark.soak
def test_an_experiment_is_followed_while_it_runs(browser, tmp_path):
    with (
        running_experiment(tmp_path) as (out, process),
        running_page(arguments=["--experiment", str(out)]) as served,
    ):
        with opened(browser, served.address) as tab:
            tab.open(served.address)
            wait_for(lambda: len(points(tab)) == 2, "both curves")
            assert tab.text("h1") == "swimmers"
            assert "<b>new</b>" in tab.text("table.runs tbody th")
            done = tab.text("table.runs tbody tr td:nth-child(6)")
            wait_for(lambda: number(tab.text("table.runs tbody tr td:nth-child(6)")) > number(done), "more steps")
            process.send_signal(signal.SIGSTOP)  # so that it leaves the processor to other tests
            tab.click("#axis-linear")
            wait_for(lambda: "000,000" in chart_text(tab), "a linear axis")
            tab.click("#line1")
            wait_for(lambda: len(points(tab)) == 1, "one curve")
            assert tab.evaluate("document.activeElement.id") == "line1"
            assert tab.evaluate("document.getElementById('axis-linear').checked")
            wait_for(lambda: number(tab.evaluate("document.body.dataset.shown")) > 6, "more looks")
            assert len(points(tab)) == 1
            assert violations(tab) == []
        assert served.complaints() == ""


def test_a_live_agent_is_followed_while_it_works(browser, tmp_path):
    with working_agent(tmp_path) as cooler, running_page(arguments=["--live", str(cooler)]) as served:
        with opened(browser, served.address) as tab:
            tab.open(served.address)
            assert tab.text("h1") == "cooler"
            step = number(tab.text("table.journal tbody th"))
            wait_for(lambda: number(tab.text("table.journal tbody th")) > step + 40, "more steps")
            assert "learn:" in tab.text("table.journal tbody tr")
            assert len(tab.evaluate("[...document.querySelectorAll('table.journal tbody tr')].map(e => 1)")) == 20
            assert "recent average" in tab.text("dl.numbers")
            assert "of 10,000" in tab.text("dl.numbers")
            assert tab.evaluate("document.querySelectorAll('table.policy tbody tr.here').length") == 1
            assert violations(tab) == []
        assert served.complaints() == ""


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["experiment", "live"])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", SIZES)
def test_everybody_can_use_them_on_every_screen(browser, tmp_path, width, dark, kind):
    out = tmp_path / "out"
    if kind == "live":
        with working_agent(tmp_path) as out:
            pass
    else:
        el.experiment(["riverswim", "aggregation"], ["always", "q-learning"], steps=1000, runs=3, out=out)
    with running_page(arguments=[f"--{kind}", str(out)]) as served, opened(browser, served.address) as tab:
        tab.size(width, SIZES[width], dark=dark)
        tab.open(served.address)
        assert violations(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.soak
def test_what_goes_wrong_later_is_said_on_the_page(browser, tmp_path):
    el.experiment("riverswim", ["always"], steps=100, runs=2, out=tmp_path / "out")
    with (
        running_page(arguments=["--experiment", str(tmp_path / "out")]) as served,
        opened(browser, served.address) as tab,
    ):
        tab.open(served.address)
        (tmp_path / "out" / "manifest.json").write_text("{")
        wait_for(lambda: "manifest.json: is damaged" in tab.text("[data-part=alert]"), "the reason")
        assert points(tab) == [recording_times(100).size]


def test_a_view_escapes_what_it_shows_and_ignores_what_it_does_not_know(tmp_path):
    el.experiment("riverswim", [{"name": "always", "label": "<i>"}], steps=10, runs=1, out=tmp_path / "out")
    view = ExperimentView(tmp_path / "out")
    parts = view.look({"axis": ["<i>"], "line": ["9", "x"], "chosen": ["1"], "width": ["many"]})
    assert "<i>" not in "".join(parts.values())
    assert set(parts) == {"story", "alert", *view.places}
    assert [read_width({"width": [text]}) for text in ("320", "1", "-5", "9" * 9)] == [320.0, 280.0, 1100.0, 1100.0]


def test_every_chart_shows_the_first_agents(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "COLOURS", 2)
    agents = [{"name": "always", "label": f"a{number}"} for number in range(3)]
    el.experiment(["riverswim", "aggregation"], agents, steps=10, runs=1, out=tmp_path / "out")
    charts = ExperimentView(tmp_path / "out").look({})["charts"].split("<figure")[1:]
    assert [chart.count("<polyline") for chart in charts] == [2, 2]


def test_a_title_is_not_taken_for_a_place():
    page = write_plain("/*PARTS*/ and /*SCRIPT*/", "", "<section>once</section>")
    assert page.count("<section>once") == 1
    assert "<title>/*PARTS*/ and /*SCRIPT*/</title>" in page


@pytest.fixture
def pair(tmp_path):
    """A directory with two agents."""
    with Store(tmp_path) as store:
        for name in ("first", "<i>"):
            store.create(name, Setup(SETUP))
    return tmp_path


def test_an_agent_is_chosen_among_several(pair):
    view = LiveView(pair)
    assert "agent first is at step 0" in view.look({"agent": ["first"]})["story"]
    parts = view.look({"agent": ["other"]})
    assert "agent &lt;i&gt; is at step 0" in parts["story"]
    assert '<option value="&lt;i&gt;" selected>&lt;i&gt;, step 0</option>' in parts["controls"]
    assert '<option value="first">first, step 0</option>' in parts["controls"]


def test_there_is_no_choice_of_one_agent(tmp_path):
    with el.live(tmp_path, **SETUP):
        assert LiveView(tmp_path).look({})["controls"] == ""


def test_an_agent_that_nobody_has_open_does_not_seem_to_act(tmp_path):
    with el.live(tmp_path, **SETUP) as agent:
        view = LiveView(tmp_path)
        unborn = view.look({})["story"]
        agent.act()
        agent.observe("cold", reward=1)
        busy = view.look({})["story"]
    left = view.look({})["story"]
    assert unborn.endswith("step 0; it has not taken a step yet; a process has it open, and it acts and learns.")
    assert busy.endswith("step 1; last step just now; a process has it open, and it acts and learns.")
    assert left.endswith("step 1; last step just now; no process has it open (when one does, it acts and learns).")


@pytest.mark.parametrize("shard", [None, "1-of-2"])
def test_an_experiment_that_nobody_works_on_says_so(tmp_path, shard):
    def make() -> None:
        el.experiment("riverswim", ["always", "q-learning"], steps=10, runs=30, seed=1, out=tmp_path)

    make()
    view = ExperimentView(tmp_path)
    entries = Follower(tmp_path).manifest["variants"]
    for cell in entries[0]["cells"][1:] + entries[1]["cells"]:
        Cells(tmp_path / "cells").path(cell["name"]).unlink()
    with working(tmp_path, shard):
        parts = view.look({})
    assert "nobody works" not in parts["story"]
    assert ["<td>begun</td>" in parts["table"], "<td>waiting</td>" in parts["table"]] == [True, True]
    parts = view.look({})
    assert parts["story"].endswith("s of work; nobody works on it: run it again to resume.")
    assert ["<td>interrupted</td>" in parts["table"], "<td>not begun</td>" in parts["table"]] == [True, True]
    make()
    parts = view.look({})
    assert "nobody works" not in parts["story"]
    assert parts["table"].count("<td>finished</td>") == 2


def test_the_present_state_comes_first_and_what_was_never_seen_last(tmp_path):
    with el.live(tmp_path, **SETUP, aleatoric="window:2", seed=1) as agent:
        for _ in range(9):
            agent.act()
            agent.observe("warm", reward=1)
        seen = LiveFollower(tmp_path).look("agent")
        table = LiveView(tmp_path).look({})["policy"]
    rows = re.findall(r"<tr( class=\"here\")?><th scope=row>(.*?)</th>.*?<td>([^<]*)</td></tr>", table)
    marks, names, counts = zip(*rows, strict=True)
    assert [bool(mark) for mark in marks] == [True] + [False] * 7
    assert names[0] == "now: warm, warm"
    assert "<td>1,234</td>" in _policy(replace(seen, greedy=replace(seen.greedy, counts=seen.greedy.counts + 1234.0)))
    assert names.count("warm, warm") == 1
    unseen = [count == "0" for count in counts[1:]]
    assert unseen == sorted(unseen)
    assert any(unseen)


def test_an_experiment_that_is_just_beginning_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(start, "LATER", 60)
    folder = tmp_path / "out"

    def make(_pause: float) -> None:
        el.experiment("riverswim", ["always"], steps=10, runs=1, out=folder)

    monkeypatch.setattr(start, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=make))
    assert start._follow(str(folder), None, []).title


@pytest.mark.parametrize("exists", [True, False])
def test_a_directory_that_gets_no_experiment_is_not_waited_for_long(tmp_path, monkeypatch, exists):
    monkeypatch.setattr(start, "SOON" if exists else "LATER", 0.2)
    with pytest.raises(NoExperiment):
        start._follow(str(tmp_path if exists else tmp_path / "out"), None, [])


@pytest.mark.soak
def test_what_did_not_change_stays_even_if_storage_is_denied(browser, pair):
    with running_page(arguments=["--live", str(pair)]) as served, opened(browser, served.address) as tab:
        denied = (
            "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('', 'SecurityError'); }})"
        )
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=denied)
        tab.open(served.address)
        tab.evaluate("[kept, row] = [document.getElementById('agent'), document.querySelector('table.policy tr')]; 1")
        tab.evaluate("kept.focus()")
        with Store(pair) as store:
            store.create("third", Setup(SETUP))
        shown = number(tab.evaluate("document.body.dataset.shown"))
        wait_for(lambda: number(tab.evaluate("document.body.dataset.shown")) > shown + 2, "more looks")
        assert tab.evaluate("[kept.isConnected, row.isConnected, kept.options.length]") == [True, True, 2]
        tab.click("#theme")
        wait_for(lambda: tab.evaluate("document.getElementById('agent').options.length") == 3, "the third agent")


class Blank:
    title, places = "blank", ()

    def look(self, query):
        return {}


@pytest.mark.parametrize("path", ["/", "/look"])
@pytest.mark.parametrize(("header", "status"), [({}, 200), ({"Origin": "http://a.org"}, 403), ({"Host": "a.org"}, 403)])
def test_another_site_is_not_let_in(path, header, status):
    assert ask(Blank(), path, header).status_code == status


def ask(view, path, header):
    async def get():
        transport = httpx.ASGITransport(make_view_app(True, view))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(path, headers=header)

    return asyncio.run(get())


def test_an_unknown_address_leads_back():
    answer = ask(Blank(), "/nosuch", {})
    assert answer.status_code == 404
    assert '<a class="more" href="/">' in answer.text


def test_states_of_a_registered_task_have_their_human_names(tmp_path):
    with el.live(tmp_path, task="service-station", seed=1) as agent:
        agent.observe("arrival", executed="fast")
        parts = LiveView(tmp_path).look({})
    assert "now: a customer is there" in parts["policy"]
    assert "learn: nobody is there -&gt; a customer is there: fast" in parts["journal"]
    assert "<dd>a customer is there</dd>" in parts["numbers"]
