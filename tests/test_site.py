"""The site: the first page runs the station, which the build writes beside it."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

from everlearn.agents.registry import AGENTS
from everlearn.tasks.registry import TASKS

DOCS = Path(__file__).parents[1] / "docs"
write_station = runpy.run_path(str(DOCS / "conf.py"))["write_station"]
write_pages = runpy.run_path(str(DOCS / "each.py"))["write_pages"]


def test_the_build_writes_the_station_that_the_first_page_shows(tmp_path):
    assert '<iframe src="station.html"' in (DOCS / "index.md").read_text()
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), srcdir=str(DOCS), outdir=str(tmp_path))
    write_station(app, None)
    assert "You run a station" in (tmp_path / "station.html").read_text()


def test_a_build_that_fails_or_writes_no_pages_leaves_it_out(tmp_path):
    for style, error in (("", None), ("html", ValueError())):
        write_station(SimpleNamespace(builder=SimpleNamespace(format=style), outdir=str(tmp_path)), error)
    assert list(tmp_path.iterdir()) == []


def test_the_build_writes_a_page_for_each_task_and_agent(tmp_path):
    """With the numbers of the overviews, which other tests compute again."""
    for page in DOCS.glob("*.md"):
        (tmp_path / page.name).write_text(page.read_text())
    (tmp_path / "each").mkdir()
    (tmp_path / "each" / "task-gone.md").write_text("")
    write_pages(tmp_path)
    pages = {path.stem: path.read_text() for path in (tmp_path / "each").glob("*.md")}
    listed = {*(f"task-{name}" for name in TASKS), *(f"agent-{name}" for name in AGENTS)}
    assert {name for name in pages if name.startswith(("task-", "agent-"))} == listed
    river = pages["task-riverswim"]
    for part in (
        "<svg",
        "`everlearn play riverswim`",
        "| λ_\\* | 0.428622 |",
        "place 0; place 1",
        "`advance`\n: the probability that",
    ):
        assert part in river
    assert "| explores by |" in pages["agent-q-learning"]
    assert "--set task.aleatoric=belief:10" in pages["task-tiger"]
