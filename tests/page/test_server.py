"""Who may reach the page, and how many."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import sys
import urllib.error
import urllib.request

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from everlearn.errors import InputError
from everlearn.hosts import is_loopback
from everlearn.page.server import INTERVAL, Doors, listen, switching_often
from tests.page.browser import PATIENCE, ROOT, running_page, wait_for
from tests.page.measuring import steps
from tests.refusal import has, refusal


def test_it_listens_on_loopback_alone_unless_told(page):
    host, port = page.removeprefix("http://").rstrip("/").split(":")
    assert is_loopback(host)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation; nothing is sent
        except OSError:
            pytest.skip("this machine has no other address")
        own = probe.getsockname()[0]
    if is_loopback(own):
        pytest.skip("this machine has no other address")
    with pytest.raises((ConnectionRefusedError, TimeoutError)):
        socket.create_connection((own, int(port)), timeout=2)


def status(page: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(page, headers=headers), timeout=PATIENCE) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_another_site_is_not_let_in(page):
    own = page.removeprefix("http://").rstrip("/")
    assert status(page) == 200
    assert status(page, Origin=f"http://{own}") == 200
    assert status(page, Origin="http://example.org") == 403
    assert status(page, Host="example.org") == 403
    socket_address = f"ws://{own}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with pytest.raises(InvalidStatus), connect(socket_address, origin="http://example.org", open_timeout=PATIENCE):
        pass


def test_an_unknown_address_leads_back(page):
    with pytest.raises(urllib.error.HTTPError, check=has(code=404)) as caught:
        urllib.request.urlopen(f"{page}nosuch", timeout=PATIENCE)
    assert '<a class="more" href="/">' in caught.value.read().decode()


@pytest.mark.parametrize(("local", "answer"), [(True, 403), (False, 200)])
def test_only_where_others_may_reach_it_is_another_name_of_it_let_in(local, answer):
    async def inside(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"station.example:8090")]}
    asyncio.run(Doors(inside, local)(scope, None, send))
    assert sent[0]["status"] == answer


def test_a_browser_that_leaves_before_the_answer_is_no_mistake():
    async def leave(message):
        raise ConnectionAbortedError

    async def inside(scope, receive, send):
        await send({"type": "http.response.start", "status": 200})
        raise RuntimeError(scope["error"])

    scope = {"type": "http", "headers": [(b"host", b"127.0.0.1")]}
    asyncio.run(Doors(inside, True)({**scope, "error": "No response returned."}, None, leave))
    with pytest.raises(RuntimeError, check=has(args=("another",))):
        asyncio.run(Doors(inside, True)({**scope, "error": "another"}, None, leave))


def test_a_port_that_is_taken_is_refused_with_the_remedy():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, check=refusal("host and port", f"127.0.0.1:{port}")):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "port", "argument"),
    [
        ("127.0.0.1", 70000, "port"),
        ("127.0.0.1", -1, "port"),
        ("no.such.host.invalid", 0, "host and port"),
        ("", 0, "host"),
        (5, 0, "host"),
    ],
)
def test_an_address_that_cannot_be_is_refused(host, port, argument):
    with pytest.raises(InputError, check=refusal(argument)):
        listen(host, port)


SHORT = "import everlearn.page.server as server; server.MOST_PAGES, server.RECONNECT = 1, 0.1"
OWN = ("own_task:shop", "--agent", "own_agent:r_learning", "--set", "agent.epsilon=0.2")


@pytest.mark.soak
def test_a_page_of_ones_own_is_watched_and_bounded_and_ends_with_the_server(browser):
    """A task and an agent of the examples are watched; a second page is refused until the first has gone.

    Pages that no browser shows, those of plain requests, make room for others.
    """
    with running_page(SHORT, OWN, folder=ROOT / "examples") as served:
        for _ in range(3):
            with urllib.request.urlopen(f"{served.address}?seed=1", timeout=PATIENCE) as answer:
                assert b"No more than 1 page" not in answer.read()
        first = browser.tab()
        first.size(1280, 900)
        first.open(f"{served.address}?seed=1")
        watched_and_stepped(first)
        second = browser.tab()
        second.call("Page.navigate", url=f"{served.address}?seed=1")
        wait_for(lambda: "No more than 1 page" in second.text("body"), "a refusal")
        first.close()

        def let_in() -> bool:
            second.call("Page.navigate", url=f"{served.address}?seed=1")
            said = wait_for(lambda: re.search("No more|Run", second.text("body")), "an answer")
            return said[0] == "Run"

        wait_for(let_in, "room for another", pause=0.2)
        wait_for(lambda: second.evaluate("!!document.querySelector('svg.chart')"), "a curve")
        second.press(" ", " ")
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(PATIENCE) == 0
        assert served.complaints() == ""
        second.close()


def watched_and_stepped(tab) -> None:
    """The task and the agent of the user stand on the page, in its address and in its lists, and take a step."""
    assert "own_agent:r_learning" in tab.text(".scene.agent0")
    wait_for(lambda: "task=own_task:shop" in tab.evaluate("location.href"), "the task in the address")
    assert tab.text(".story") == "Advertise at a cost, or wait: a busy shop brings customers by itself."
    told = "document.querySelector('svg.chart').getAttribute('aria-label')"
    wait_for(lambda: "optimum over all policies 0.4643" in tab.evaluate(told), "its exact optimum")
    tab.press(".", ".")
    wait_for(lambda: steps(tab) == 1, "a step")
    tab.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")
    tab.click("label:has([aria-label=task]) .q-field__control")
    listed = "[...document.querySelectorAll('.q-menu .q-item')].map(e => e.innerText.trim())"
    wait_for(lambda: tab.evaluate(listed)[:2] == ["own_task:shop", "access-control"], "it first among the tasks")


def test_threads_hand_over_often_while_the_page_is_served_and_as_before_afterwards():
    before = sys.getswitchinterval()
    with switching_often():
        assert sys.getswitchinterval() == pytest.approx(INTERVAL)
    assert sys.getswitchinterval() == before
