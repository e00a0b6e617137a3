"""The page in a real browser: what a person does, and what a person sees."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from everlearn.page.configuration import is_papers, read_query
from tests.page.browser import Tab, wait_for
from tests.page.measuring import shown, steps

ALWAYS_SLOW = 0.0909
"""The exact average of always slow on the station of the paper (Appendix B)."""


def counts(tab: Tab, number: int = 0) -> list[int]:
    texts = tab.evaluate(f"[...document.querySelectorAll('[data-part=known{number}] .count')].map(e => e.textContent)")
    return [int(text.replace(",", "")) for text in texts]


def score(tab: Tab, number: int = 0) -> float:
    return float(tab.text(f"[data-part=score{number}]").replace("–", "nan"))


def button(tab: Tab) -> str:
    return tab.text(".run").split()[-1]


def unfold(tab: Tab, title: str) -> None:
    """Open a fold by its name, with the mouse."""
    place = tab.evaluate(
        "[...document.querySelectorAll('details.fold')].findIndex("
        f"e => e.querySelector('summary').innerText.includes('{title}'))"
    )
    assert place >= 0, title
    tab.click(f".folds > details:nth-child({place + 1}) > summary")
    wait_for(lambda: tab.evaluate(f"document.querySelectorAll('details.fold')[{place}].open"), f"{title} open")


def choose(tab: Tab, label: str, value: str) -> None:
    """Choose something of a list, as a person does: open it, click what is wanted."""
    tab.click(f"label:has([aria-label='{label}']) .q-field__control")
    find = f"[...document.querySelectorAll('.q-menu .q-item')].find(e => e.innerText.trim() === '{value}')"
    wait_for(lambda: tab.evaluate(f"!!{find}"), f"{value} among what can be chosen")
    tab.evaluate(f"{find}.setAttribute('data-wanted', '')")
    tab.click("[data-wanted]")


def give_file(tab: Tab, path: Path) -> None:
    """Choose a file, as if in the window that the browser opens for that."""
    found = tab.call("Runtime.evaluate", expression="document.querySelector('input[type=file]')")
    tab.call("DOM.setFileInputFiles", files=[str(path)], objectId=found["result"]["objectId"])


def test_the_first_screen_has_one_curve_one_station_and_one_big_button(tab, page):
    tab.open(f"{page}?seed=1")
    assert tab.evaluate("document.querySelectorAll('svg.chart').length") == 1
    assert tab.evaluate("document.querySelectorAll('svg.drawing').length") == 1
    assert button(tab) == "Run"
    assert tab.evaluate("document.querySelectorAll('details[open]').length") == 0
    areas = tab.evaluate(
        "[...document.querySelectorAll('.q-btn')].filter(e => e.checkVisibility())"
        ".map(e => [e.offsetHeight * e.offsetWidth, e.innerText])"
    )
    assert max(areas)[1].endswith("Run")
    bottom = tab.evaluate("document.querySelector('.run').getBoundingClientRect().bottom")
    assert bottom < 900
    told = tab.evaluate("document.querySelector('svg.chart').getAttribute('aria-label')")
    assert "growing-horizon, practical: not begun" in told
    assert "optimum over all policies 0.5" in told


@pytest.mark.soak
def test_run_the_station_and_see_the_curve_climb_above_always_slow(tab, page):
    tab.open(f"{page}?speed=1000000&growing=no")
    tab.click(".run")
    wait_for(lambda: button(tab) == "Pause", "a button that pauses")
    wait_for(lambda: steps(tab) > 50_000, "50,000 steps")
    tab.click(".run")
    wait_for(lambda: button(tab) == "Run", "a button that runs")
    wait_for(lambda: f"at={steps(tab)}" in tab.evaluate("location.href"), "the last picture")
    stopped = steps(tab)
    assert score(tab) > 2 * ALWAYS_SLOW
    circle, slow = tab.evaluate(
        "[document.querySelector('.chart circle').getBoundingClientRect().y,"
        "[...document.querySelectorAll('.chart line.known')].pop().getBoundingClientRect().y]"
    )
    assert circle < slow - 20
    time.sleep(0.3)
    assert steps(tab) == stopped


def test_pause_then_step_once_and_exactly_one_count_changes(tab, page):
    tab.open(f"{page}?speed=1000&growing=no")
    unfold(tab, "See what the agent knows")
    tab.click(".run")
    wait_for(lambda: steps(tab) > 300, "300 steps")
    tab.click(".run")
    wait_for(lambda: button(tab) == "Run", "a pause")
    for way in (lambda: tab.click("[aria-label=Step]"), lambda: tab.press("ArrowRight"), lambda: tab.press(".", ".")):
        before, t = counts(tab), steps(tab)
        assert sum(before) == t
        tab.evaluate("document.activeElement.blur()")
        way()
        wait_for(lambda t=t: steps(tab) == t + 1, "one more step")
        changed = [after - count for after, count in zip(counts(tab), before, strict=True)]
        assert sorted(changed) == [0, 0, 0, 1]
        assert tab.evaluate("document.querySelectorAll('[data-part=known0] .count.rose').length") == 1
    unfold(tab, "Explain this step")
    told = tab.text("[data-part=explained0]")
    assert f"At step {steps(tab):,}" in told
    assert "bonus" in told


@pytest.mark.soak
def test_share_and_reopen_the_same_configuration(tab, page, browser):
    tab.open(f"{page}?task=riverswim")
    unfold(tab, "Change the task")
    choose(tab, "schedule", "fixed")
    wait_for(lambda: "schedule=fixed" in tab.evaluate("location.href"), "another schedule in the address")
    tab.click(".contender .settings summary")
    tab.type("[aria-label=horizon]", "25")
    wait_for(lambda: "schedule.horizon=25" in tab.evaluate("location.href"), "its horizon in the address")
    tab.type("[aria-label=seed]", "11")
    wait_for(lambda: "seed=11" in tab.evaluate("location.href"), "the seed in the address")
    address = tab.evaluate("location.href")
    shown = read_query(address.partition("?")[2])
    assert (shown.task.given, shown.seed, shown.agents[0].settings) == ("riverswim", 11, {"schedule.horizon": 25.0})
    tab.evaluate("document.activeElement.blur()")
    for _ in range(12):
        tab.press(".", ".")
    wait_for(lambda: steps(tab) == 12, "12 steps")
    other = browser.tab()
    other.size(1280, 900)
    other.open(address)
    assert other.evaluate("location.href") == address
    for _ in range(12):
        other.press(".", ".")
    wait_for(lambda: steps(other) == 12, "12 steps there too")
    for part in ("known0", "drawing0", "explained0", "score0"):
        texts = [one.evaluate(f"document.querySelector('[data-part={part}]').textContent") for one in (tab, other)]
        assert texts[0] == texts[1], part
    other.close()


@pytest.mark.soak
@pytest.mark.parametrize(("presses", "name"), [(1, "Pause"), (2, "Run")])
def test_run_is_for_what_is_being_prepared(tab, page, presses, name):
    tab.open(f"{page}?agent=always&speed=1&growing=no")
    press = "document.querySelector('.run').click();" * presses
    tab.evaluate(f"document.querySelector('.compare').click(); {press}")
    wait_for(lambda: tab.evaluate("document.querySelectorAll('svg.drawing').length") == 2, "two stations")
    wait_for(lambda: button(tab) == name, f"the button {name}")
    assert not tab.evaluate("!!document.querySelector('.compare')")


@pytest.mark.soak
def test_compare_two_one_of_them_the_papers(tab, page):
    tab.open(f"{page}?agent=always&agent.policy=slow&speed=100000&growing=no")
    tab.click(".compare")
    wait_for(lambda: tab.evaluate("document.querySelectorAll('svg.drawing').length") == 2, "two stations")
    assert "the paper's" in tab.text(".scene.agent1")
    assert is_papers(read_query(tab.evaluate("location.search")).agents[1])
    assert not tab.evaluate("!!document.querySelector('.compare')")
    tab.click(".run")
    wait_for(lambda: steps(tab) > 20_000, "20,000 steps")
    tab.click(".run")
    wait_for(lambda: button(tab) == "Run", "a pause")
    assert tab.evaluate("document.querySelectorAll('.chart polyline').length") == 2
    assert score(tab, 0) == pytest.approx(ALWAYS_SLOW, abs=0.01)
    assert score(tab, 1) > score(tab, 0) + 0.03


@pytest.mark.soak
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("agent=%3Cscript%3Ealert(1)%3C/script%3E", "agent: '<script>alert(1)</script>'; known:"),
        pytest.param(
            "task=os:system",
            "task: 'os:system'; the page offers registered names and what it was started with",
            marks=pytest.mark.soak,
        ),
        pytest.param(
            "schedule=smooth&schedule.horizon_scale=-5",
            "horizon at t = 1: -5.0; must be at least 1",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_nonsense_in_the_address_is_refused_and_the_default_is_shown(tab, page, query, message):
    tab.open(f"{page}?{query}")
    wait_for(lambda: message in tab.text(".alert"), message)
    assert tab.evaluate("document.querySelector('.alert').getAttribute('role')") == "alert"
    wait_for(lambda: "task=service-station" in tab.evaluate("location.href"), "an address that can be shared")
    assert tab.evaluate("document.querySelectorAll('script').length > 0 && !document.querySelector('.alert script')")


def test_everything_can_be_done_with_the_keyboard(tab, page):
    tab.open(f"{page}?speed=30&growing=no")
    tab.press(" ", " ")
    wait_for(lambda: button(tab) == "Pause" and steps(tab) > 3, "it running")
    tab.press(" ", " ")
    wait_for(lambda: button(tab) == "Run", "a pause")
    names = []
    for _ in range(17):
        tab.press("Tab")
        names.append(
            tab.evaluate(
                "(e => e.getAttribute('aria-label') || e.innerText || e.tagName)(document.activeElement)"
            ).strip()
        )
        assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid", names
    first = ["All tasks", "Play the station", "Light or dark", "Compare with the paper's", "What the agents do"]
    assert names[:9] == [*first, "Run", "Step", "Restart", "Speed"]
    assert [name.split()[-2:] for name in names[9:]] == [
        ["ever", "faster"],
        ["a", "step"],
        ["the", "schedule"],
        ["other", "agents"],
        ["agent", "knows"],
        ["this", "step"],
        ["this", "task"],
        ["and", "export"],
    ]
    tab.press("Enter", "\r")
    wait_for(lambda: tab.evaluate("document.querySelectorAll('details[open]').length") == 1, "an open fold")


@pytest.mark.soak
@pytest.mark.parametrize(
    "query",
    [
        "2.agent=always&3.agent=q-learning&4.agent=ucb-h",
        *(pytest.param(query, marks=pytest.mark.soak) for query in ("seed=1", "task=inventory")),
    ],
)
def test_nothing_is_wider_than_a_narrow_screen(tab, page, query):
    tab.size(390, 844)
    tab.open(f"{page}?{query}")
    tab.press(".", ".")
    wait_for(lambda: steps(tab) == 1, "a step")
    bottom = tab.evaluate("document.querySelector('.run').getBoundingClientRect().bottom")
    assert bottom <= 844
    tab.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    assert tab.evaluate("document.querySelector('svg.chart').getBoundingClientRect().right") <= 390
    tab.evaluate(
        "document.querySelector('h1').textContent = 'everlearn: own_task:shop'"
    )  # a name that cannot be broken
    theme = "document.querySelector('[aria-label=\"Light or dark\"]').getBoundingClientRect().right"
    assert tab.evaluate(theme) <= 390


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.soak
@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_in_light_and_in_dark(tab, page, dark):
    """At least 4.5 to 1, as WCAG 2 asks for (success criterion 1.4.3), whichever the browser prefers."""
    tab.size(1280, 900, dark=dark)
    tab.open(f"{page}?seed=1")
    assert tab.evaluate("document.body.classList.contains('body--dark')") == dark
    pairs = {
        "h1": ("body", "color"),
        ".story": ("body", "color"),
        ".label": (".card", "color"),
        ".speed .quiet": ("body", "color"),
        ".run": (".run", "color"),
        ".chart .tick": (".card", "fill"),
        ".drawing .small": (".card", "fill"),
        ".drawing .good": (".card", "fill"),
    }
    for text, (ground, name) in pairs.items():
        shown = tab.evaluate(f"getComputedStyle(document.querySelector('{text}')).{name}")
        behind = tab.evaluate(f"getComputedStyle(document.querySelector('{ground}')).backgroundColor")
        assert contrast(shown, behind) >= 4.5, (text, shown, behind)
    tab.click("[aria-label='Light or dark']")
    wait_for(lambda: tab.evaluate("document.body.classList.contains('body--dark')"), "dark")
    tab.evaluate("localStorage.clear()")  # which all tabs share


@pytest.mark.soak
def test_motion_is_left_out_for_those_who_ask(tab, page):
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    tab.open(f"{page}?seed=1")
    tab.press(".", ".")
    wait_for(lambda: tab.evaluate("!!document.querySelector('.rose')"), "a mark")
    assert tab.evaluate("getComputedStyle(document.querySelector('.rose')).animationName") == "none"


@pytest.mark.soak
def test_everything_that_is_seen_can_be_heard(tab, page):
    tab.open(f"{page}?2.agent=always")
    mute = tab.evaluate(
        "[...document.querySelectorAll('svg, button, input, [role=slider]')].filter(e =>"
        "!e.getAttribute('aria-label') && !e.innerText && !e.closest('[aria-label]') && !e.closest('label')"
        ").map(e => e.outerHTML.slice(0, 100))"
    )
    assert mute == []
    assert tab.evaluate("document.title") != ""
    assert tab.evaluate("document.documentElement.lang") != ""


@pytest.mark.soak
def test_what_is_new_is_shown_as_long_as_it_runs_and_the_page_can_be_stopped(tab, page):
    """How often, and how soon, is measured by ``benchmarks/play.py``: that depends on the machine."""
    tab.open(f"{page}?speed=fastest")
    tab.press(" ", " ")
    for number in (5, 20):
        wait_for(lambda number=number: shown(tab) >= number, f"{number} updates")
    began = tab.evaluate("performance.now()"), shown(tab)
    wait_for(lambda: shown(tab) > began[1] + 10, "ten more updates")
    pictures, seconds = shown(tab) - began[1], (tab.evaluate("performance.now()") - began[0]) / 1000
    assert pictures <= 2 + seconds / 0.03  # each looks once, and rests first
    tab.press(" ", " ")
    wait_for(lambda: button(tab) == "Run", "a pause")
    assert steps(tab) > 20


@pytest.mark.soak
def test_the_speed_is_set_with_the_arrows_of_the_slider(tab, page):
    tab.open(f"{page}?growing=no")
    tab.evaluate("document.querySelector('[aria-label=Speed]').focus()")
    tab.press("ArrowRight")
    wait_for(lambda: "speed=30" in tab.evaluate("location.href"), "another speed in the address")
    assert "30 steps/s" in tab.text(".speed")
    assert steps(tab) == 0


@pytest.mark.soak
def test_what_theory_says_and_what_can_be_taken_away(tab, page, tmp_path):
    tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    tab.open(f"{page}?seed=1")
    unfold(tab, "What theory says")
    wait_for(lambda: "fast everywhere" in tab.text("[data-part=theory]"), "the best policy")
    assert "54.45" in tab.text("[data-part=theory]")
    unfold(tab, "Share and export")
    tab.evaluate("document.activeElement.blur()")
    tab.press(".", ".")
    wait_for(lambda: steps(tab) == 1, "a step")
    for kind, begin in (("PNG", b"\x89PNG"), ("CSV", b"t,"), ("TOML", b"steps = 1\n")):
        tab.click(f"[aria-label$='as {kind}']")
        path = tmp_path / f"everlearn.{kind.lower()}"
        wait_for(lambda path=path: path.exists() and path.stat().st_size, path.name)
        assert path.read_bytes().startswith(begin)
    tab.open(f"{page}?task=riverswim")
    unfold(tab, "Share and export")
    give_file(tab, tmp_path / "everlearn.toml")
    wait_for(lambda: "task=service-station" in tab.evaluate("location.href"), "what the experiment describes")
    (tmp_path / "bad.toml").write_text("steps = 1\ntask = 3")
    give_file(tab, tmp_path / "bad.toml")
    wait_for(lambda: "agent: None; is missing" in tab.text(".complaint"), "a refusal")


@pytest.mark.soak
def test_whoever_chooses_stays_where_they_are(tab, page):
    """Choosing another schedule builds other fields; the keyboard stays at what was chosen."""
    tab.open(f"{page}?seed=1")
    unfold(tab, "Change the task")
    choose(tab, "schedule", "fixed")
    wait_for(lambda: "schedule=fixed" in tab.evaluate("location.href"), "another schedule")
    at = "document.activeElement.getAttribute('aria-label')"
    wait_for(lambda: tab.evaluate(at) == "schedule", "the focus where it was")


@pytest.mark.soak
def test_two_changes_in_a_row_are_both_kept(tab, page):
    """Even where the first is still being prepared when the second comes."""
    tab.open(f"{page}?schedule=smooth")
    unfold(tab, "Change the task")
    tab.click(".contender .settings summary")
    for label, text in (("horizon scale", "3"), ("optimism scale", "0.5")):
        tab.click(f"[aria-label='{label}']")
        tab.call("Input.insertText", text=text)
    tab.press("Enter", "\r")
    wanted = {"schedule.horizon_scale": 3.0, "schedule.optimism_scale": 0.5}

    def carried() -> object:
        return read_query(tab.evaluate("location.search")).agents[0].settings

    wait_for(lambda: carried() == wanted, f"{wanted} in the address")
    assert "horizon_scale 3, optimism_scale 0.5" in tab.text(".contender h2")
    assert "the paper's" not in tab.text(".contender h2")
