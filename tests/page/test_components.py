"""The theme of the page: its button goes round all three, and the browser remembers the last one."""

from __future__ import annotations

from tests.page.browser import wait_for

BUTTON = "[aria-label='Light or dark']"


def test_the_theme_goes_round_and_is_remembered(tab, page):
    def is_dark() -> bool:
        return bool(tab.evaluate("document.body.classList.contains('body--dark')"))

    def icon() -> str:
        return tab.text(f"{BUTTON} i")

    tab.size(1280, 800)
    tab.open(f"{page}?seed=1")
    assert (icon(), is_dark()) == ("contrast", False)
    tab.click(BUTTON)
    wait_for(lambda: icon() == "dark_mode" and is_dark(), "a dark page")
    tab.open(f"{page}?seed=2")
    wait_for(lambda: icon() == "dark_mode" and is_dark(), "a dark page again")
    tab.click(BUTTON)
    wait_for(lambda: icon() == "light_mode" and not is_dark(), "a light page")
    tab.click(BUTTON)
    wait_for(lambda: icon() == "contrast", "whichever the system prefers")
