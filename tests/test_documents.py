"""What the documents say is so: their code runs, their links lead somewhere, their lists are complete."""

from __future__ import annotations

import doctest
import linecache
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
import yaml

import everlearn
from everlearn.cli.main import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = (
    "agents",
    "api",
    "cluster",
    "command-line",
    "concepts",
    "decisions",
    "experiments",
    "gymnasium",
    "index",
    "leaderboard",
    "live",
    "mistakes",
    "notation",
    "own-agent",
    "paper",
    "practical",
    "play",
    "reproduce",
    "runbook",
    "security",
    "service",
    "tasks",
    "theory",
    "tune",
    "tutorial",
)
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *(DOCS / f"{page}.md" for page in PAGES)]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    """A fenced block of code: its language, the line on which its code begins, and the code."""

    language: str
    line: int
    code: str


def blocks(document: Path, language: str) -> list[Block]:
    text = document.read_text()
    found = re.finditer(r"^```(\S+)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    every = [Block(match[1], text.count("\n", 0, match.start(2)) + 1, match[2]) for match in found]
    return [block for block in every if block.language == language]


def run_python(document: Path, block: Block, namespace: dict[str, Any]) -> None:
    """Execute a block; where it is a conversation with the interpreter, compare what it prints."""
    name = f"<{document.name}, line {block.line}>"
    if ">>> " in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, {}, name, str(document), block.line - 1)
        test.globs = namespace
        runner = doctest.DebugRunner(optionflags=OPTIONS)
        runner.run(test, clear_globs=False)
    else:
        linecache.cache[name] = (len(block.code), None, block.code.splitlines(keepends=True), name)
        exec(compile(block.code, name, "exec"), namespace)


EXECUTED = [
    ROOT / "README.md",
    *(
        DOCS / f"{page}.md"
        for page in ("agents", "api", "gymnasium", "live", "own-agent", "tasks", "theory", "tune", "tutorial")
    ),
]


@pytest.mark.parametrize("document", EXECUTED, ids=lambda document: document.stem)
def test_code_runs_and_prints_what_is_shown(document, tmp_path, monkeypatch):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__document__"}
    found = blocks(document, "python")
    assert found
    for block in found:
        run_python(document, block, namespace)
    plt.close("all")


def conversations(document: Path) -> list[tuple[str, str]]:
    """Return each command of the console blocks, with the output that is shown below it."""
    pairs = []
    for block in blocks(document, "console"):
        for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            pairs.append((command, output))
    return [(command, output) for command, output in pairs if command.startswith("everlearn ")]


def comparable(text: str) -> str:
    """Hide what was learned, which is the same to the last bit on one platform, not on every one."""
    return re.sub(r"\d\.\d{4,}", "#", text)


CONVERSATIONS = conversations(DOCS / "command-line.md")


@pytest.mark.parametrize(("command", "shown"), CONVERSATIONS, ids=[command for command, _ in CONVERSATIONS])
def test_command_prints_what_is_shown(command, shown, tmp_path):
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT / "examples"), "MPLBACKEND": "Agg"}
    arguments = [sys.executable, "-c", "from everlearn.cli.main import main; main()", *shlex.split(command)[1:]]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    printed = comparable(done.stdout + done.stderr)
    checker = doctest.OutputChecker()
    assert checker.check_output(comparable(shown), printed, OPTIONS), f"{command}\nprints\n{done.stdout}{done.stderr}"


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_pages_exist_and_are_in_the_table_of_contents():
    assert sorted(path.stem for path in DOCS.glob("*.md")) == sorted(PAGES)
    contents = "\n".join(re.findall(r"^```{toctree}\n(.*?)^```$", (DOCS / "index.md").read_text(), re.DOTALL | re.M))
    listed = {line for line in contents.splitlines() if line and not line.startswith(":")}
    assert listed == set(PAGES) - {"index"}


def slug(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.stem)
def test_links_lead_somewhere(document):
    text = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    targets += re.findall(r"^```{(?:figure|image|literalinclude)} (\S+)", document.read_text(), flags=re.MULTILINE)
    for target in targets:
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        found = (document.parent / path) if path else document
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", found.read_text(), flags=re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.stem)
def test_a_star_in_a_symbol_is_escaped(document):
    """Two that are not make everything between them italic."""
    prose = re.sub(r"^```.*?^```$|`[^`]*`", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"_\*(?!\*)", prose)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.stem)
def test_files_that_are_named_exist(document):
    """A path in backquotes that begins with a folder of the project is a file of the project."""
    for named in re.findall(r"`((?:src|tests|docs|examples|requirements)/[\w./-]+)`", document.read_text()):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize(
    ("page", "registry"),
    [("tasks", everlearn.TASKS), ("agents", everlearn.AGENTS), ("command-line", everlearn.SCHEDULES)],
    ids=["tasks", "agents", "schedules"],
)
def test_every_name_is_explained(page, registry):
    text = (DOCS / f"{page}.md").read_text()
    for name in registry:
        assert f"`{name}`" in text, name


def rows_of(document: Path, first: str) -> dict[str, list[str]]:
    """Return the rows of the table whose first heading is given, by their first cell."""
    table = document.read_text().partition(f"| {first} |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {row[0].strip("`"): row[1:] for row in rows}


@pytest.mark.parametrize("name", sorted(everlearn.TASKS))
def test_the_table_of_tasks_is_true(name):
    actions, states, memories, rewards, optimum, best, distortion = rows_of(DOCS / "tasks.md", "task")[name]
    theory = everlearn.Theory(name)
    task = theory.task
    assert [actions, states, memories] == [
        f"{n:,}" for n in (len(task.actions), len(task.states), theory.pairs.memories)
    ]
    assert rewards == f"{task.reward.low:g} to {task.reward.high:g}"
    assert float(optimum) == pytest.approx(theory.optimal_average_reward, abs=6e-7)
    assert float(best.rstrip(" ⋆")) == pytest.approx(theory.best_aleatoric.average_reward, abs=6e-7)
    assert ("⋆" in best) == (theory.best_deterministic.exact and not theory.best_aleatoric.randomised)
    assert float(distortion) == pytest.approx(theory.distortion(10).value, abs=6e-7)


def test_every_command_and_option_is_explained():
    text = (DOCS / "command-line.md").read_text()
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        assert f"## everlearn {name}" in text, name
        section = text.partition(f"## everlearn {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and option not in ("--help", "--json"):
                    assert f"`{option}" in section, f"{name} {option}"


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text()
    for name in everlearn.__all__:
        assert f"everlearn.{name}" in text, name


def test_citation_names_software_and_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["version"] == everlearn.__version__
    paper = citation["references"][0]
    assert (paper["journal"], paper["volume"], paper["issue"], paper["year"]) == (
        "Journal of Machine Learning Research",
        23,
        255,
        2022,
    )


def test_changelog_tells_of_this_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(rf"^## \[?{re.escape(everlearn.__version__)}\]?", text, flags=re.MULTILINE)


def test_make_targets_that_are_named_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for document in DOCUMENTS:
        named = set(re.findall(r"`make ([a-z]+)", document.read_text()))
        assert named <= targets, document.name
