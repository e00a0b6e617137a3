"""The site: the first page runs the station, which the build writes beside it."""

from __future__ import annotations

import re
import runpy
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from docs.examples import EXAMPLES, example_pages, find_task, paths, show_examples
from docs.mathematics import write_formula
from fontTools.ttLib import TTFont

from everlearn.agents.registry import AGENTS
from everlearn.registry import locate
from everlearn.tasks.registry import TASKS

DOCS = Path(__file__).parents[1] / "docs"
write_station = runpy.run_path(str(DOCS / "conf.py"))["write_station"]
each = runpy.run_path(str(DOCS / "each.py"))
write_pages, link_names = each["write_pages"], each["link_names"]


def test_the_build_writes_the_station_that_the_first_page_shows(tmp_path):
    assert '<iframe src="station.html"' in (DOCS / "index.md").read_text()
    write_station(SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=str(tmp_path), srcdir=str(DOCS)), None)
    assert "You run a station" in (tmp_path / "station.html").read_text()
    assert (tmp_path / "preview.png").exists()


def test_a_build_that_fails_or_writes_no_pages_leaves_it_out(tmp_path):
    for style, error in (("", None), ("html", ValueError())):
        write_station(SimpleNamespace(builder=SimpleNamespace(format=style), outdir=str(tmp_path)), error)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.soak
def test_the_build_writes_a_page_for_each_task_and_agent(tmp_path):
    """With the numbers of the overviews, which other tests compute again."""
    for name in ("tasks.md", "agents.md", "api.md", "command-line.md"):
        (tmp_path / name).write_text((DOCS / name).read_text())
    (tmp_path / "each").mkdir()
    (tmp_path / "each" / "task-gone.md").write_text("")
    write_pages(tmp_path)
    pages = {path.stem: path.read_text() for path in (tmp_path / "each").glob("*.md")}
    assert {page for page in pages if page.startswith("task-")} == {f"task-{name}" for name in TASKS}
    assert {page for page in pages if page.startswith("agent-")} == {f"agent-{name}" for name in AGENTS}
    river = pages["task-riverswim"]
    for part in (
        "<svg",
        "`everlearn play riverswim`",
        "| $\\lambda_*$ | 0.428622 |",
        "place 0; place 1",
        "`back`\n: ",
    ):
        assert part in river
    assert "| explores by |" in pages["agent-q-learning"]
    assert "--set task.aleatoric=belief:10" in pages["task-tiger"]
    for name, text in pages.items():
        assert "inspect._empty" not in text, name
        assert "<class '" not in text, name


def test_pages_tell_the_defaults_of_parameters():
    pages = dict(each["agent_pages"](DOCS))
    for name in ("growing-horizon", "growing-horizon-v", "learned", "linear"):
        assert "; by default `practical`. [](../concepts.md#schedule)" in pages[name]
    pages |= {name: each["described"](locate(name, TASKS, "task")) for name in TASKS}
    for name, text in pages.items():
        assert "inspect._empty" not in text, name
        assert "<class '" not in text, name
        assert "foo1 to foo4" not in text, name  # say what each of them is


def test_names_in_tables_and_lists_link_to_their_pages():
    linked = {page: link_names((DOCS / f"{page}.md").read_text()) for page in ("agents", "practical", "tasks")}
    for kind, page, names in (("agent", "agents", AGENTS), ("task", "tasks", TASKS)):
        for name in names:
            assert f"[`{name}`](each/{kind}-{name}.md)" in linked[page], name
    assert "| [`planner`](each/agent-planner.md) |" in linked["practical"]
    assert link_names("[`tsde`](x.md)\n\n```\n| `tsde` |\n```\n") == "[`tsde`](x.md)\n\n```\n| `tsde` |\n```\n"


def test_the_licence_is_found_in_both_spellings():
    text = (DOCS / "install.md").read_text()
    assert {"licence", "license"} <= set(re.findall(r"\w+", text.partition("## Licence")[2]))
    assert (DOCS.parent / "LICENSE").read_text().splitlines()[0] == "MIT License"
    assert "the MIT License" in text


def test_every_example_has_a_card_with_a_picture_and_a_page_with_its_source():
    page = show_examples((DOCS / "examples.md").read_text(encoding="utf-8"))
    cards, pages = page.split('<a class="example"')[1:], dict(example_pages(DOCS))
    assert len(cards) == len(paths()) > 15
    for card, path in zip(cards, paths(), strict=True):
        source = path.read_text(encoding="utf-8").rstrip()
        assert f'href="each/example-{path.name}.html"' in card
        assert ("<svg" in card) == (find_task(path) is not None)
        assert "<svg" in card or "<pre>" in card
        assert source in pages[f"example-{path.name}.md"]
    assert "| `own_task.py`" not in page


def test_the_picture_of_an_example_is_that_of_its_task():
    assert find_task(EXAMPLES / "own_task.py").name == "shop"
    assert find_task(EXAMPLES / "station.toml").name == "service-station"
    assert find_task(EXAMPLES / "tune_cafe.toml").name == "cafe"
    assert find_task(EXAMPLES / "drive.py") is None


def test_formulas_are_written_without_another_site():
    """Every formula of every page can be written as MathML, and one that cannot is refused when pages are built."""
    number, known = 0, TTFont(DOCS / "static" / "math.woff").getBestCmap()
    for page in DOCS.glob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", text, flags=re.DOTALL):
            written = write_formula(block or inline, bool(block))
            assert written.startswith("<math")
            assert {ord(sign) for sign in unescape(re.sub("<.*?>", "", written)) if sign.isprintable()} <= known.keys()
            number += 1
    assert number > 400
    with pytest.raises(ValueError, check=lambda error: type(error) is ValueError):
        write_formula(r"\nonsense{x}")
