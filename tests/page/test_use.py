"""The page in use, in a real browser: what once went wrong for somebody.  All tests share one tab."""

from __future__ import annotations

import json

import pytest

from tests.few import few
from tests.page.axe import violations
from tests.page.browser import Tab, running_page, wait_for
from tests.page.measuring import shown, steps
from tests.page.test_layout import button, choose, contrast, give_file, unfold

SIZES = {1440: 900, 1024: 768, 390: 844}


@pytest.fixture
def tab(shared):
    shared.size(1280, 900)
    return shared


def run_to(tab: Tab, number: int) -> None:
    tab.press(" ", " ")
    wait_for(lambda: steps(tab) > number, f"{number:,} steps")
    tab.press(" ", " ")
    wait_for(lambda: button(tab) == "Run", "a pause")
    wait_for(lambda: f"at={steps(tab)}" in tab.evaluate("location.href"), "the last picture")  # later than the button


def find(selector: str) -> str:
    return f"document.querySelector({json.dumps(selector)})"


def visible(tab: Tab, selector: str) -> tuple[float, float]:
    """Return where an element begins and ends, in the window."""
    return tuple(tab.evaluate(f"(e => (b => [b.top, b.bottom])(e.getBoundingClientRect()))({find(selector)})"))


def chart_text(tab: Tab) -> str:
    return str(tab.evaluate("document.querySelector('svg.chart').textContent"))


@pytest.mark.soak
def test_the_speed_is_the_speed_at_which_it_goes(tab, page):
    tab.open(f"{page}?speed=100&growing=yes")
    assert tab.text("[data-part=pace]") == "100 steps/s, then faster"
    run_to(tab, 400)
    wait_for(lambda: tab.text("[data-part=pace]").startswith("about "), "another speed")
    tab.open(f"{page}?speed=10&growing=no")
    assert tab.text("[data-part=pace]") == "10 steps/s"


@pytest.mark.parametrize(("width", "number"), few([(w, n) for w in SIZES for n in (1, 2, 4)], [(1024, 2)]))
def test_controls_chart_and_scene_are_in_view(tab, page, width, number):
    tab.size(width, SIZES[width])
    others = "2.agent=always", "3.agent=q-learning", "4.agent=ucb-h"
    tab.open(f"{page}?{'&'.join(['seed=1', *others[: number - 1]])}")
    wait_for(lambda: tab.evaluate("document.querySelectorAll('svg.drawing').length") == number, "every scene")
    top, bottom = visible(tab, ".controls")
    assert bottom <= SIZES[width] + 1
    assert 0 <= visible(tab, "svg.chart")[0] < visible(tab, "svg.chart")[1] <= top
    sign = visible(tab, ".drawing .sign")
    assert 0 <= sign[0] < sign[1] <= top


@pytest.mark.soak
@pytest.mark.parametrize("width", SIZES)
def test_the_controls_are_as_high_at_every_speed(tab, page, width):
    tab.size(width, SIZES[width])
    tab.open(f"{page}?seed=1")
    heights = tab.evaluate(
        "['1 step/s', '10 steps/s, then faster', 'about 150 M steps/s'].map(text => {"
        f"{find('[data-part=pace]')}.innerHTML = text; return {find('.controls')}.offsetHeight; }})"
    )
    assert len(set(heights)) == 1


@pytest.mark.soak
def test_a_timeline_goes_back_and_an_explanation_pauses(tab, page):
    tab.open(f"{page}?seed=1&speed=1000000&growing=no")
    tab.press(" ", " ")
    wait_for(lambda: steps(tab) > 20_000, "20,000 steps")
    assert "till" in tab.evaluate("document.querySelector('.drawing').textContent"), "the scene stays"
    assert "fast" in tab.text(".lately")
    unfold(tab, "Explain this step")
    wait_for(lambda: button(tab) == "Run", "a pause")
    stopped = steps(tab)
    moments = tab.evaluate("[...document.querySelectorAll('.moments button')].map(e => e.innerText)")
    assert any(text.endswith("prefers fast (a customer is there)") for text in moments)
    tab.click(".moments button")
    at = int(moments[0].split()[1].rstrip(":").replace(",", ""))
    wait_for(lambda: steps(tab) == at, "the first moment")
    assert tab.evaluate("!!document.querySelector('.chart .later')")
    tab.evaluate(
        "(e => { e.value = e.max; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })"
        "(document.querySelector('[data-part=scrub]'))"
    )
    wait_for(lambda: steps(tab) == stopped, "the last step again")
    unfold(tab, "See what the agent knows")
    number = "document.querySelector('.bars b').checkVisibility()"
    assert not tab.evaluate(number)
    assert tab.evaluate("document.querySelectorAll('.bars .track').length") == 2
    tab.click(".inside .q-toggle")
    wait_for(lambda: tab.evaluate(number), "numbers")
    tab.click(".run")
    wait_for(lambda: not tab.evaluate("document.querySelector('[data-fold=functions]').open"), "no explanation")
    tab.click(".run")
    wait_for(lambda: button(tab) == "Run", "a pause")


SCRUB = "[data-part=scrub]"


def scrubbed(tab: Tab) -> tuple[int, str]:
    """Return the place of the scrubber, and the text beside it."""
    return int(tab.evaluate(f"{find(SCRUB)}.value")), tab.text(".scrub .quiet")


@pytest.mark.soak
def test_the_scrubber_goes_where_it_is_dragged_and_pushed(tab, page):
    last = 10_000  # so that there are fewer steps than places where it is dragged to
    tab.open(f"{page}?seed=1&at={last}")
    wait_for(lambda: steps(tab) == last and button(tab) == "Run", f"step {last}")
    tab.drag(SCRUB, (0.97, 0.8, 0.6, 0.4))
    wait_for(lambda: scrubbed(tab)[1].endswith(f" of {last:,}"), "an end of the move")
    place, label = scrubbed(tab)
    assert 350 < place < 450
    assert label == f"step {steps(tab):,} of {last:,}"
    assert steps(tab) == pytest.approx((last + 1) ** (place / 1000) - 1, abs=0.6)
    before = steps(tab)
    for _ in range(3):
        tab.press("ArrowLeft")
    wait_for(lambda: steps(tab) < before and " of " in scrubbed(tab)[1], "an end of the move")
    assert scrubbed(tab) == (pytest.approx(place, abs=25), f"step {before - 3:,} of {last:,}")
    assert steps(tab) == before - 3
    tab.click(".moments button")
    wait_for(lambda: steps(tab) != before - 3, "a moment")
    wait_for(lambda: scrubbed(tab)[1] == f"step {steps(tab):,} of {last:,}", "the step of the moment")
    assert scrubbed(tab)[0] < 1000


@pytest.mark.soak
def test_the_scrubber_is_held_while_the_run_goes_on(tab, page):
    tab.open(f"{page}?seed=1&speed=1000&growing=no")
    tab.press(" ", " ")
    wait_for(lambda: steps(tab) > 1000, "1,000 steps")
    tab.drag(SCRUB, (0.97, 0.8, 0.5, 0.5, 0.5))
    wait_for(lambda: button(tab) == "Run" and " of " in scrubbed(tab)[1], "an end of the move")
    assert 15 < steps(tab) < 100
    assert scrubbed(tab)[1].startswith(f"step {steps(tab)} of ")
    tab.drag("[aria-label=Speed]", (0.5, 0.85))  # the other slider stays where it was let go too
    wait_for(lambda: "speed=1000000" in tab.evaluate("location.href"), "another speed")
    tab.click(".run")
    wait_for(lambda: steps(tab) > 10_000, "10,000 steps")
    assert tab.evaluate("document.querySelector('[aria-label=Speed]').value") == "8"
    tab.click(".run")
    wait_for(lambda: button(tab) == "Run", "a pause")


@pytest.mark.soak
def test_a_pause_forgets_where_else_the_scrubber_was_to_go(tab, page):
    """It is dragged to one place, then to another while the first is gone to; then the run is paused."""
    last = 30_000_000  # so that going back takes a moment
    tab.open(f"{page}?seed=1&at={last}")
    wait_for(lambda: steps(tab) == last and button(tab) == "Run", f"step {last:,}")
    drag = "e.value = {}; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change'));"
    tab.evaluate(f"(e => {{ {drag.format(990)} {drag.format(500)} }})({find(SCRUB)})")
    wait_for(lambda: button(tab) == "Pause", "it going back")
    tab.click(".run")
    wait_for(lambda: button(tab) == "Run" and " of " in scrubbed(tab)[1], "a pause")
    stopped = steps(tab)
    tab.evaluate("new Promise(done => setTimeout(done, 500))")
    assert (steps(tab), button(tab)) == (stopped, "Run")
    assert stopped > 10_000  # the second place is at 5,476


@pytest.mark.soak
def test_a_page_names_its_task(tab, page):
    tab.open(f"{page}?task=riverswim")
    assert tab.text("h1") == "everlearn: riverswim"
    assert tab.evaluate("document.title") == "riverswim – everlearn"


@pytest.mark.soak
def test_what_is_zero_is_written_as_zero(tab, page):
    tab.open(f"{page}?task=aggregation&agent=always")
    wait_for(lambda: "policies 0" in chart_text(tab), "an optimum of zero")
    assert "e-1" not in chart_text(tab)


@pytest.mark.soak
def test_names_are_not_struck_through_by_curves(tab, page):
    """A name stands beside or above the plot, wherever curves are."""
    for width in (1280, 390):
        tab.size(width, 900)
        tab.open(f"{page}?2.agent=always&speed=1000000&growing=no")
        run_to(tab, 20_000)
        crossed = tab.evaluate(
            """(() => { const plot = document.querySelector('clipPath rect').getBBox();
            return [...document.querySelectorAll('.chart .name')].map(e => e.getBBox())
              .filter(b => b.x < plot.x + plot.width && b.y + b.height > plot.y + 6 && b.x + b.width > plot.x).length
            })()"""
        )
        assert crossed == 0, width
        outside = tab.evaluate(
            "[...document.querySelectorAll('.chart .name')].filter(e => { const b = e.getBBox();"
            "return b.x + b.width > e.ownerSVGElement.viewBox.baseVal.width + 1; }).map(e => e.textContent)"
        )
        assert outside == [], width


@pytest.mark.soak
def test_theory_can_be_read_on_a_phone(tab, page):
    tab.size(390, 844)
    tab.open(f"{page}?seed=1")
    unfold(tab, "What theory says")
    wait_for(lambda: "fast everywhere" in tab.text("[data-part=theory]"), "the facts")
    narrowest = tab.evaluate(
        "Math.min(...[...document.querySelectorAll('.theory td, .theory th')].map(e => e.offsetWidth))"
    )
    assert narrowest > 250
    assert tab.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('[data-part=theory]'))")


@pytest.mark.soak
def test_pictures_are_rare_for_those_who_ask_for_less_motion(tab, page):
    """Half as many steps are a hundred pictures otherwise; one per second then."""
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    tab.open(f"{page}?speed=100&growing=no")
    before = shown(tab)
    began = tab.evaluate("performance.now()")
    run_to(tab, 150)
    seconds = (tab.evaluate("performance.now()") - began) / 1000
    assert shown(tab) - before <= 4 + seconds
    tab.call("Emulation.setEmulatedMedia", features=[])


@pytest.mark.soak
def test_an_error_stands_below_its_field_which_keeps_what_was_typed(tab, page):
    tab.open(f"{page}?schedule=smooth")
    unfold(tab, "Change the task")
    tab.click(".contender .settings summary")
    field = "[aria-label='horizon scale']"
    for text, message in (("wide", "horizon scale: 'wide'; give a number"), ("-5", "must be at least 1")):
        tab.type(field, text)
        wait_for(lambda message=message: message in tab.text(f".q-field:has({field})"), message)
        assert tab.evaluate(f'document.querySelector("{field}").value') == text
    assert "horizon_scale" not in tab.evaluate("location.href")
    tab.type(field, "3")
    wait_for(lambda: "schedule.horizon_scale=3" in tab.evaluate("location.href"), "what makes sense")
    wait_for(lambda: "must be" not in tab.text(f".q-field:has({field})"), "no error")
    assert tab.text(".alert") == ""


@pytest.mark.soak
def test_any_agents_may_be_compared(tab, page):
    tab.open(f"{page}?agent=q-learning&2.agent=always")
    assert tab.text(".alert") == ""
    assert tab.evaluate("document.querySelectorAll('svg.drawing').length") == 2
    assert "smooth" not in tab.text(".scenes")


@pytest.mark.soak
def test_a_run_survives_a_reload_and_can_be_brought_back_after_a_change(tab, page):
    tab.open(f"{page}?speed=1000000&growing=no")
    run_to(tab, 5_000)
    reached, score = steps(tab), tab.text("[data-part=score0]")
    wait_for(lambda: f"at={reached}" in tab.evaluate("location.href"), "the step in the address")
    tab.open(tab.evaluate("location.href"))
    wait_for(lambda: steps(tab) == reached, "the same step after a reload")
    assert tab.text("[data-part=score0]") == score
    wait_for(lambda: button(tab) == "Run", "a pause there")
    unfold(tab, "Change the task")
    choose(tab, "schedule", "fixed")
    wait_for(lambda: f"ended at step {reached:,}" in tab.text(".notice"), "a word about the run that ended")
    assert steps(tab) == 0
    tab.click(".notice button")
    wait_for(lambda: steps(tab) == reached, "the run before")
    assert tab.text("[data-part=score0]") == score
    assert "schedule=practical" in tab.evaluate("location.href")


@pytest.mark.soak
def test_the_theme_is_kept(tab, page):
    dark = "document.body.classList.contains('body--dark')"
    tab.open(f"{page}?seed=1")
    tab.click("[aria-label='Light or dark']")
    wait_for(lambda: tab.evaluate(dark), "dark")
    tab.open(f"{page}?seed=1")
    wait_for(lambda: tab.evaluate(dark), "dark after a reload")
    tab.evaluate("localStorage.clear()")


def test_keys_work_after_a_click(tab, page):
    tab.open(f"{page}?speed=10&growing=no")
    tab.click("[aria-label=Step]")
    wait_for(lambda: steps(tab) == 1, "a step")
    tab.press(".", ".")
    wait_for(lambda: steps(tab) == 2, "another")
    tab.press(" ", " ")
    wait_for(lambda: button(tab) == "Pause", "it running")
    tab.click("[aria-label=Speed]")
    tab.press(" ", " ")
    wait_for(lambda: button(tab) == "Run", "a pause")


@pytest.mark.parametrize("dark", few([False, True], [True]))
def test_signs_and_borders_can_be_seen(tab, page, dark):
    """Text needs 4.5 to 1, the border of a control 3 to 1 (WCAG 2.2, success criteria 1.4.3 and 1.4.11)."""
    tab.size(1280, 900, dark=dark)
    tab.open(f"{page}?seed=1")

    def colour(selector: str, name: str, pseudo: str = "") -> str:
        given = f", '{pseudo}'" if pseudo else ""
        return tab.evaluate(f"getComputedStyle(document.querySelector('{selector}'){given}).{name}")

    assert contrast(colour(".drawing .mode", "fill"), colour(".sign.idle", "fill")) >= 4.5
    tab.press(".", ".")
    wait_for(lambda: steps(tab) == 1, "a step")
    for mode in ("fast", "slow"):
        tab.evaluate(f"document.querySelector('.sign').setAttribute('class', 'sign {mode}')")
        assert contrast(colour(".drawing .mode", "fill"), colour(f".sign.{mode}", "fill")) >= 4.5, mode
    border = colour(".q-btn--outline", "borderTopColor", "::before")
    assert contrast(border, colour("body", "backgroundColor")) >= 3


@pytest.mark.soak
def test_the_vertical_axis_stays_while_it_runs(tab, page):
    tab.open(f"{page}?speed=100&growing=yes")
    wait_for(lambda: "optimum" in chart_text(tab), "the lines")
    tab.evaluate(
        """window.axes = new Set(); window.seen = new MutationObserver(() => window.axes.add(
        [...document.querySelectorAll('.chart .tick[text-anchor=end]')].map(e => e.textContent + e.getAttribute('y'))
        .filter(text => text.includes('.')).slice(0, 2).join()));
        window.seen.observe(document.querySelector('[data-part=chart]'), {childList: true})"""
    )
    run_to(tab, 3_000)
    assert tab.evaluate("window.axes.size") == 1


@pytest.mark.soak
def test_a_page_that_others_cannot_open_offers_a_command(tab, page):
    """The command opens a page with the same configuration."""
    tab.open(f"{page}?task=riverswim&agent=q-learning&seed=7")
    unfold(tab, "Share and export")
    tab.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    tab.click("[aria-label='Copy the command']")
    command = wait_for(lambda: tab.evaluate("window.copied"), "a command")
    assert command.startswith('everlearn play --view "task=riverswim&seed=7&agent=q-learning')
    assert not tab.evaluate("!!document.querySelector(\"[aria-label='Copy the address']\")")


@pytest.mark.soak
def test_the_command_opens_the_same(browser):
    with running_page(arguments=["--view", "task=riverswim&agent=q-learning&seed=7"]) as served:
        other = browser.tab()
        other.open(served.address)
        wait_for(lambda: "task=riverswim&seed=7&agent=q-learning" in other.evaluate("location.href"), "the same")
        other.close()


@pytest.mark.soak
def test_a_file_that_is_too_large_is_refused_aloud(tab, page, tmp_path):
    (tmp_path / "large.toml").write_bytes(b"#" * 8_000_000)
    tab.open(f"{page}?seed=1")
    unfold(tab, "Share and export")
    give_file(tab, tmp_path / "large.toml")
    message = "large.toml: has 8,000,000 bytes; give a file of at most 20,000 bytes"
    wait_for(lambda: tab.text(".complaint") == message, message)


@pytest.mark.parametrize(("width", "dark"), few([(w, d) for w in SIZES for d in (False, True)], [(390, True)]))
def test_axe_finds_nothing(tab, page, width, dark):
    """With two agents, every fold open, and a step taken."""
    tab.size(width, SIZES[width], dark=dark)
    tab.open(f"{page}?2.agent=growing-horizon&2.schedule=smooth")
    tab.press(".", ".")
    wait_for(lambda: steps(tab) == 1, "a step")
    tab.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    wait_for(lambda: "fast everywhere" in tab.text("[data-part=theory]"), "the facts")
    assert violations(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.soak
def test_what_is_explained_stays_while_it_is_read(tab, page):
    tab.open(f"{page}?speed=100&growing=no")
    tab.press(" ", " ")
    wait_for(lambda: steps(tab) > 5, "it running")
    unfold(tab, "Explain this step")
    wait_for(lambda: button(tab) == "Run", "a pause")
    wait_for(lambda: tab.text(".status") == f"paused to explain step {steps(tab)}", "why it paused")
    unfold(tab, "See what the agent knows")
    assert tab.evaluate("document.querySelectorAll('.bars .track').length") == 2
    tab.press(".", ".")
    wait_for(lambda: tab.text(".status") == "", "nothing after a step")


def test_on_a_phone_the_count_stays_where_it_is_and_nothing_touches(tab, page):
    tab.size(390, 844)
    tab.open(f"{page}?seed=1")
    tops = tab.evaluate(
        "['132', '51,234,567', '1,234,567,890'].map(text => {"
        f"{find('[data-part=time]')}.innerHTML = text; {find('.run .block')}.innerText = 'Pause';"
        f"{find('[data-part=pace]')}.innerHTML = 'about 150 M steps/s'; return {find('.steps')}.offsetTop; }})"
    )
    assert len(set(tops)) == 1
    inside, outside, pace, switch = tab.evaluate(
        f"[{find('.run .block')}, {find('.run')}, {find('[data-part=pace]')}, {find('.speed .q-toggle')}]"
        ".map(e => { const range = document.createRange(); range.selectNodeContents(e);"
        "const b = e.matches('button, .q-toggle') ? e.getBoundingClientRect() : range.getBoundingClientRect();"
        "return [b.left, b.right]; })"
    )
    assert inside[1] <= outside[1] - 8
    assert pace[1] <= switch[0] - 8
