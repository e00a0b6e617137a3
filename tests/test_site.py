"""The site: the first page runs the station, which the build writes beside it."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

DOCS = Path(__file__).parents[1] / "docs"
write_station = runpy.run_path(str(DOCS / "conf.py"))["write_station"]


def test_the_build_writes_the_station_that_the_first_page_shows(tmp_path):
    assert '<iframe src="station.html"' in (DOCS / "index.md").read_text()
    write_station(SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=str(tmp_path)), None)
    assert "You run a station" in (tmp_path / "station.html").read_text()


def test_a_build_that_fails_or_writes_no_pages_leaves_it_out(tmp_path):
    for style, error in (("", None), ("html", ValueError())):
        write_station(SimpleNamespace(builder=SimpleNamespace(format=style), outdir=str(tmp_path)), error)
    assert list(tmp_path.iterdir()) == []
