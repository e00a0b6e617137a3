"""The station in one file, in node and in a real browser: equal to the engine to the last bit, and fit for use."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest

import everlearn as el
from everlearn.agents.registry import make_design
from everlearn.engine.timeline import Timeline
from everlearn.page.export import _FOLDER, STEPS, embedded, export
from everlearn.page.race import Workshop
from everlearn.page.run import CompiledRun
from everlearn.tables import make_table
from everlearn.tasks.registry import make_task
from tests.few import few
from tests.page.axe import violations
from tests.page.browser import wait_for
from tests.page.test_layout import contrast

SIZES = {1440: 900, 1024: 768, 390: 844}

DIGEST = """(place, steps) => { const runs = everlearn.race(data, place); const found = {};
for (const [name, run] of Object.entries(runs)) {
  while (run.t < steps) run.step();
  found[name] = {total: run.total, clock: run.station.clock, ages: run.station.ages,
    averages: [10, 100, 1000, steps].map(t => run.averages[t - 1]),
    value: run.agent.value, count: run.agent.count, variance: run.agent.variance, left: run.agent.left};
} return JSON.stringify(found); }"""
"""A function in JavaScript: run every agent, and return all that it knows."""


def expected(name: str, place: int, steps: int) -> dict[str, object]:
    """Return the same from the engine in Python."""
    agent = {"slow": ("always", {"policy": "slow"}, None)}.get(name, ("growing-horizon", {}, name))
    design = make_design(agent[0], agent[1], schedule=agent[2])
    task = design.view(make_task("service-station"))
    workshop = Workshop()
    run = CompiledRun(task, design, place + 1, make_table(task), workshop.engine)
    averages = []
    for t in (10, 100, 1000, steps):
        run.advance(t - run.t)
        averages.append(run.total_reward / t)
    clock, ages = run.memory
    known = {"total": run.total_reward, "clock": clock, "ages": list(ages), "averages": averages}
    if name != "slow":
        cells = run.knowledge.cells
        known |= {key: cells[key].tolist() for key in ("value", "count")}
        if name == "practical":
            known |= {"variance": cells["variance"].tolist(), "left": cells["left"][:, 0].tolist()}
    return known


def check(found: dict[str, dict[str, object]], place: int, steps: int) -> None:
    for name in ("practical", "smooth", "slow"):
        wanted = expected(name, place, steps)
        assert {key: found[name][key] for key in wanted} == wanted, name


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return export(tmp_path_factory.mktemp("export") / "station.html")


@pytest.fixture(scope="module")
def game(browser, file):
    """The file in the browser; it asks nobody for anything."""
    tab = browser.tab()
    tab.size(1280, 900)
    tab.call("Page.navigate", url=file.as_uri())
    yield tab
    assert tab.complaints == []
    assert [request for request in tab.requests if not request.startswith(("file:", "data:"))] == []
    tab.close()


def reopen(tab, file, width=1280, height=900, dark=False):
    tab.size(width, height, dark=dark)
    tab.evaluate("window.left = true")
    tab.call("Page.navigate", url=file.as_uri())
    wait_for(lambda: tab.evaluate("!window.left && !!document.querySelector('#scene svg')"), "a station")
    tab.evaluate("ready.then(() => 0)")


@pytest.mark.soak
@pytest.mark.parametrize(("place", "steps"), [(0, 5_000), (7, STEPS)])
def test_node_and_the_engine_agree_to_the_last_bit(tmp_path, place, steps):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is missing")
    (tmp_path / "data.json").write_text(json.dumps(embedded()))
    source = (_FOLDER / "engine.js").read_text(encoding="utf-8")
    read = f"JSON.parse(require('fs').readFileSync({json.dumps(str(tmp_path / 'data.json'))}, 'utf8'))"
    script = f"{source}\neverlearn.load({read}).then((data) => console.log(({DIGEST})({place}, {steps})));"
    (tmp_path / "run.js").write_text(script)
    done = subprocess.run([node, str(tmp_path / "run.js")], capture_output=True, text=True, check=True, timeout=120)
    check(json.loads(done.stdout), place, steps)


def test_the_browser_and_the_engine_agree_to_the_last_bit(game, file):
    reopen(game, file)
    check(json.loads(game.evaluate(f"({DIGEST})(3, 5000)")), 3, 5000)


def test_the_schedules_are_decoded_to_the_last_bit(game, file):
    reopen(game, file)
    for name in ("smooth", "practical"):
        block = Timeline(make_design("growing-horizon", {}, schedule=name).schedule).next(STEPS)
        for column in ("horizon", "optimism"):
            found = game.evaluate(f"[...data.schedules.{name}.{column}].filter((_, k) => k % 97 === 0)")
            assert np.array_equal(found, getattr(block, column)[::97])


def test_play_forty_steps_then_watch_the_race(game, file):
    """Serve once slowly and then fast; the street empties, and the agents run on the same luck."""
    reopen(game, file)
    wait_for(lambda: game.evaluate("you.station.present"), "the first customer")
    assert "Play again" not in game.text("#race")
    game.press("s")
    while game.evaluate("you.t < LENGTH"):
        if game.evaluate("you.station.present"):
            game.press("f")
        else:
            game.evaluate("step(SLOW)")
    assert game.evaluate("document.querySelectorAll('.guilty').length") == 1
    assert "One long wait among the last 12 customers is enough to keep people away." in game.evaluate("blame()")
    left = game.evaluate("+blame().match(/when (\\d+) more/)[1]")
    future = "Object.assign(Object.create(Station.prototype), you.station, {clock: 0})"
    serve = "let n = 0; for (; s.longest > 1; n += 1) s.depart(); return n;"
    assert game.evaluate(f"(s => {{ {serve} }})({future})") == left
    told = wait_for(lambda: "You earned" in game.text("#told") and game.text("#told"), "what you earned")
    assert f"You earned {game.evaluate('show(you.total / LENGTH)')} per step" in told
    assert f"it takes {left} more customer" in told
    assert "play again, and serve fast from the start" in told
    assert "Play again" in game.text("#race")
    assert "everlearn" in game.text("footer")
    agent = el.run("service-station", "growing-horizon", steps=40, runs=1, seed=1, engine="reference").average_reward[
        -1
    ]
    assert f"The paper's agent with our schedule earned {agent:.3f} in its first 40 steps" in told
    assert game.evaluate("document.querySelector('#fast').getAttribute('aria-disabled')") == "true"
    game.evaluate("advance(20000); draw(); moments()")
    rows = "[...document.querySelectorAll('#now tbody th')].map(e => e.innerText.trim())"
    assert game.evaluate(rows) == ["you, 40 steps", "our schedule", "the paper's schedule", "always slow"]
    assert game.evaluate("get('dashed').hidden"), "the chart names its lines itself"
    assert "finds that fast service pays" in game.text("#moments")
    assert game.evaluate("document.querySelectorAll('.chart polyline').length") == 4
    game.click("#legend button[data-name=slow]")
    assert game.evaluate("document.querySelectorAll('.chart polyline').length") == 3
    assert game.evaluate(rows) == ["you, 40 steps", "our schedule", "the paper's schedule"]
    box = game.evaluate(
        "(b => [b.left, b.top, get('chart').frame.left, get('chart').frame.right])"
        "(get('chart').getBoundingClientRect())"
    )
    before = game.text("#at")
    game.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + (box[2] + box[3]) / 2, y=box[1] + 60)
    assert game.text("#at") != before, "the numbers below the chart are those under the pointer"
    game.click("#moments button")
    assert game.text("#at").replace(",", "") == game.evaluate("document.querySelector('#moments button').dataset.t")


def test_a_phone_names_the_dashed_lines_of_the_race(game, file):
    reopen(game, file, 390, 844)
    assert game.text("#dashed") == "Dashed: the long-run optimum."
    game.evaluate("clearTimeout(waiting); while (you.t < LENGTH) you.step(); advance(1000); draw()")
    assert game.text("#dashed") == "Dashed: the long-run optimum; you after 40 steps."


def test_a_page_that_holds_the_station_hears_how_high_it_is(game, file):
    holder = file.with_name("holder.html")
    hear = "addEventListener('message', ({ data }) => { window.told = data.height; })"
    holder.write_text(f'<script>{hear}</script><iframe src="{file.name}" width="600"></iframe>')
    game.call("Page.navigate", url=holder.as_uri())
    assert wait_for(lambda: game.evaluate("window.told"), "a height") > 1000


def test_nothing_moves_below_the_game_when_the_first_customer_comes(game, file):
    """Whoever is about to click there meets what they see."""
    reopen(game, file)
    game.evaluate("clearTimeout(waiting); begin(); clearTimeout(waiting)")
    lies = "document.querySelector('#moments').getBoundingClientRect().top"
    before = game.evaluate(lies)
    assert game.evaluate("while (!you.station.present) step(SLOW); you.t")
    assert game.evaluate(lies) == before


@pytest.mark.soak
def test_a_slow_service_turns_a_face_sour_until_it_is_forgotten(game, file):
    reopen(game, file)
    game.evaluate("clearTimeout(waiting); you = runs.you; while (!you.station.present) you.step()")
    faces = "document.querySelectorAll('circle.sour').length"
    game.evaluate("while (you.station.longest === 1) { you.agent.action = SLOW; you.step(); } paint()")
    assert game.evaluate(faces) == 1
    assert "10% likely" in game.evaluate("document.querySelector('#scene').textContent")
    game.evaluate(
        "for (let served = 0; served < 12;) { you.agent.action = FAST; served += you.step().departs ? 1 : 0; } paint()"
    )
    assert game.evaluate(faces) == 0
    assert "100% likely" in game.evaluate("document.querySelector('#scene').textContent")


@pytest.mark.soak
def test_the_race_runs_and_is_still_for_those_who_ask(game, file):
    reopen(game, file)
    game.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    game.evaluate(
        "clearTimeout(waiting); window.drawn = 0; const before = draw; draw = () => { drawn += 1; before(); }"
    )
    game.click("#run")
    wait_for(lambda: game.evaluate("shown > 500"), "500 steps")
    game.click("#run")
    assert game.evaluate("drawn") <= 12
    game.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.parametrize(("width", "dark"), few([(w, d) for w in SIZES for d in (False, True)], [(390, False)]))
def test_axe_finds_nothing_and_nothing_is_too_wide(game, file, width, dark):
    reopen(game, file, width, SIZES[width], dark=dark)
    wait_for(lambda: game.evaluate("you.station.present"), "the first customer")
    assert violations(game) == []
    game.evaluate("clearTimeout(waiting); advance(20000); draw(); moments()")
    assert violations(game) == []
    assert game.evaluate("document.documentElement.scrollWidth") == width
    game.size(min(width, 338), SIZES[width], dark=dark)  # as on a phone, in a page of the documentation
    assert game.evaluate("(e => e.scrollWidth - e.clientWidth)(document.querySelector('.scroll'))") == 0
    colours = game.evaluate(
        "['--practical', '--smooth', '--slow', '--you', '--edge'].map(name => { const e = document.createElement('i');"
        "e.style.color = `var(${name})`; document.body.append(e); const c = getComputedStyle(e).color; e.remove();"
        "return c; })"
    )
    card = game.evaluate("getComputedStyle(document.querySelector('#game')).backgroundColor")
    assert min(contrast(colour, card) for colour in colours) >= 3


def test_the_page_opens_with_the_station(shared, page):
    """What is served first is the file, with a way to everything else."""
    shared.size(1280, 900)
    shared.call("Page.navigate", url=page)
    wait_for(lambda: shared.evaluate("!!document.querySelector('#scene svg')"), "the station")
    assert shared.evaluate("location.pathname") == "/station"
    shared.click("a.more")
    wait_for(lambda: shared.evaluate("!!document.querySelector('a.task')"), "every task")
    assert shared.evaluate("location.pathname") == "/tasks"
    shared.click("a.more")
    wait_for(lambda: shared.evaluate("!!document.querySelector('#scene svg')"), "the station again")
