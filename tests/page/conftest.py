"""A page that runs and a browser that looks at it, for all tests that need them; nothing of either may go wrong."""

from __future__ import annotations

import os
import warnings

import pytest

from tests.page.browser import Tab, chromium, running_browser, running_page

MISSING = (
    "CHROMIUM IS MISSING: the page was not tested in a browser. Install it with 'make browser' and run the tests again."
)


@pytest.fixture(scope="session")
def browser():
    """Chromium; where it cannot be had, tests are skipped aloud, but never in continuous integration."""
    if chromium() is None:
        assert not os.environ.get("CI"), MISSING
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(MISSING, stacklevel=1)
        pytest.skip(MISSING)
    with running_browser() as running:
        yield running


@pytest.fixture(scope="session")
def page():
    """The address of a page that is served as a user serves it."""
    with running_page() as running:
        yield running.address
        assert running.complaints() == ""


@pytest.fixture
def tab(browser, page):
    """A tab of its own."""
    yield from open_tab(browser, page)


@pytest.fixture(scope="module")
def shared(browser, page):
    """A tab that all tests of a module share, which saves the time that it takes to open one."""
    yield from open_tab(browser, page)


def open_tab(browser, page):
    """Open a tab; whatever it does, it must not complain, nor ask any other host for anything."""
    opened: Tab = browser.tab()
    opened.size(1280, 900)
    yield opened
    opened.evaluate("1")  # what it still had to say is heard
    assert opened.complaints == []
    strangers = [one for one in opened.requests if not one.startswith((page, page.replace("http", "ws"), "data:"))]
    assert strangers == []
    assert opened.requests
    opened.close()
