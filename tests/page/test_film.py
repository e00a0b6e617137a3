"""The film and the preview image that are shown elsewhere."""

from __future__ import annotations

import re

from PIL import Image

from everlearn.page.export import write_page
from tests.page.browser import ROOT
from tests.page.film import FILM, PREVIEW


def test_the_film_is_short_and_small_and_the_readme_shows_it():
    with Image.open(FILM) as film:
        seconds = 0.0
        for frame in range(film.n_frames):
            film.seek(frame)
            seconds += film.info["duration"] / 1000
    assert 8 < seconds < 12
    assert FILM.stat().st_size < 1_500_000
    assert f"]({FILM.relative_to(ROOT)})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_link_to_the_station_has_a_preview():
    tags = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]+)">', write_page()))
    assert tags.keys() == {"title", "description", "type", "image"}
    assert tags["image"] == PREVIEW.name
    with Image.open(PREVIEW) as picture:
        assert picture.size == (1200, 630)
