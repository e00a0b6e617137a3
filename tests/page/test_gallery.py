"""Every task has a drawing, a dilemma and names for its states."""

from __future__ import annotations

import re
from urllib.parse import urlencode
from xml.etree import ElementTree

import pytest

from everlearn.page.configuration import read_query
from everlearn.page.drawing import draw_task, find_ways
from everlearn.page.gallery import draw_example, write_card
from everlearn.page.offer import REGISTERED, Entry, Offer
from everlearn.page.race import Workshop
from everlearn.page.start import open_workshop
from everlearn.tasks.registry import TASKS, make_task
from tests.few import few
from tests.page.axe import violations
from tests.page.browser import wait_for
from tests.worlds import shop


@pytest.mark.parametrize("name", few(TASKS, {*TASKS} - {"tic-tac-toe"}))
def test_a_task_says_what_is_at_stake_and_names_its_states(name):
    portrait, states = make_task(name).portrait, make_task(name).states
    assert re.fullmatch(r"[A-Z].{20,110}[.?]", portrait.dilemma)
    names = [portrait.name(states[place]) for place in range(0, len(states), max(1, len(states) // 50))]
    assert len(set(names)) == len(names)
    assert not any(set(text) & set('[]"{}') or re.fullmatch(r"[\d, ()]*", text) for text in names)
    assert read_query(urlencode({"task": name, **portrait.preset})).task.given == name


@pytest.mark.parametrize("name", ["biased-rps", "drifting", "extended-tiger", "riverswim", "criss-cross"])
def test_names_in_a_drawing_are_not_cut_off(name):
    drawing = ElementTree.fromstring(draw_example(make_task(name)))
    height = float(drawing.get("viewBox").split()[3])
    assert all(10 < float(part.get("y")) < height - 4 for part in drawing.iter("text"))


@pytest.mark.parametrize("name", ["alternating", "tiger", "queueing-network"])
def test_a_card_shows_what_its_link_opens(name):
    card = write_card(REGISTERED, name)
    query = ElementTree.fromstring(card).get("href").removeprefix("/?")
    task = REGISTERED.task(read_query(query).task).make()
    assert f">{len(task.states)} aleatoric states (what the agent retains" in card
    assert ")</text>" not in card


@pytest.mark.parametrize("name", ["kuhn-poker", "shuttle", "drifting"])
def test_names_in_a_drawing_cover_no_circle(name):
    drawing = ElementTree.fromstring(draw_example(make_task(name)))
    circles = [[float(part.get(key)) for key in ("cx", "cy", "r")] for part in drawing.iter("circle")]
    names = [part for part in drawing.iter("text") if "over" in part.get("class")]
    assert len(names) >= 4
    for part in names:
        middle, line, half = float(part.get("x")), float(part.get("y")), 3 * len(part.text)
        for x, y, radius in circles:
            across = max(abs(x - middle) - half, 0)
            down = max(line - 9 - y, y - line, 0)
            assert across**2 + down**2 >= radius**2, part.text


def test_the_drawing_of_a_task_shows_where_it_is():
    board = ElementTree.fromstring(draw_example(make_task("cheese-maze")))
    assert [part.tag for part in board if "here" in part.get("class", "")] == ["circle"]
    assert sum(part.get("class") == "wall" for part in board) == 4
    bars = ElementTree.fromstring(draw_example(make_task("access-control")))
    free, pays = (float(part.get("height")) for part in bars if part.get("class") == "fill")
    assert (free, pays) == (pytest.approx(2 * 13.4), pytest.approx(8 * 13.4))
    assert "2 free, the next pays 8" in bars.get("aria-label")


def test_a_maze_shows_where_its_agent_is_although_its_memory_is_no_place():
    """The cue is the second place of the corridor; a maze too long to be drawn shows what the agent sees."""
    task = make_task("t-maze", {"length": 3})
    [here] = [part for part in draw_task(task, (0, "left"), 0) if "node here" in part]
    [later] = [part for part in draw_task(task, (3, "right"), 0) if "node here" in part]
    assert (middle(here), middle(later)) == ((153.3, 95.0), (323.3, 95.0))
    assert sum('class="node' in part for part in draw_task(task, (-1, "nothing"), 0)) == 8
    assert make_task("t-maze", {"length": 11, "window": 2}).portrait.drawing is None


def middle(circle):
    return tuple(float(ElementTree.fromstring(circle).get(name)) for name in ("cx", "cy"))


@pytest.mark.parametrize("name", ["criss-cross", "n-model", "six-class"])
def test_the_drawing_of_a_network_is_not_empty(name):
    bars = ElementTree.fromstring(draw_example(make_task(name)))
    heights = [float(part.get("height")) for part in bars if part.get("class") == "fill"]
    assert 2 * sum(height > 0 for height in heights) >= len(heights)


def test_ways_are_those_of_the_model():
    assert find_ways(make_task("riverswim", {"states": 3})) == {(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 1), (2, 2)}
    assert find_ways(make_task("maze-1d")) >= {(0, 1), (1, 1), (1, 2), (2, 1)}


def test_a_task_of_the_users_own_comes_first_with_an_automatic_drawing():
    page = Workshop(Offer({("task", "<mine>"): Entry(shop(), shop(), own=True)})).gallery()
    cards = page.split('<a class="card task agent0"')[1:]
    assert len(cards) == len(TASKS) + 1
    assert "&lt;mine&gt;" in cards[0]
    assert "<mine>" not in page
    assert cards[0].count('class="way') >= 3
    assert "(what the agent retains), 2 actions" in cards[0]


@pytest.mark.soak
def test_a_task_of_the_users_own_is_described_by_its_docstring():
    def mine():
        """Serve whoever comes."""
        return shop()

    page = Workshop(Offer({("task", "mine:shop"): Entry(mine, mine, own=True)})).gallery()
    assert "<p>Serve whoever comes.</p>" in page.split('<a class="card task agent0"')[1]


@pytest.mark.soak
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_everybody_can_use_the_gallery_on_every_screen(tab, page, width, dark):
    tab.size(width, 844, dark=dark)
    tab.call("Page.navigate", url=f"{page}tasks")
    wait_for(lambda: tab.evaluate("document.querySelectorAll('a.task svg').length") == len(TASKS), "every task")
    assert violations(tab) == []
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_the_gallery_opens_a_task(tab, page):
    tab.call("Page.navigate", url=f"{page}tasks")
    wait_for(lambda: tab.evaluate("document.querySelectorAll('a.task svg').length") == len(TASKS), "every task")
    assert violations(tab) == []
    tab.click("a.task[href*='task=riverswim&'], a.task[href$='task=riverswim']")
    wait_for(lambda: "place 0" in tab.evaluate("document.querySelector('svg.drawing')?.textContent ?? ''"), "the river")
    assert tab.text(".story") == make_task("riverswim").portrait.dilemma


def test_a_registered_task_passed_as_an_object_is_drawn_without_its_preset():
    """It takes no parameters, and the preset of the queueing network has some."""
    workshop = open_workshop(make_task("queueing-network"))
    assert "queueing-network" in write_card(workshop.offer, workshop.start.task.given)
