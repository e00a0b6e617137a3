"""What the documents say is so: their code runs, their links lead somewhere, their lists are complete."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import importlib
import importlib.util
import linecache
import os
import re
import shlex
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import typer
import yaml
from docs.commands import GROUPS, command_pages, link_commands, sections
from docs.each import family_pages
from docs.objects import entries, link, object_pages

import everlearn
from everlearn.agents.registry import DEFAULT_SCHEDULE
from everlearn.cli.main import app, main
from everlearn.tasks.names import CONTROL, NETWORKS
from tests.few import few

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = tuple(sorted(path.stem for path in DOCS.glob("*.md")))
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
        for page in (
            "agents",
            "api",
            "evaluate",
            "gymnasium",
            "hidden-state",
            "learned-states",
            "live",
            "own-agent",
            "practical",
            "replay",
            "shadow",
            "tasks",
            "theory",
            "time-and-cost",
            "tune",
            "tutorial",
        )
    ),
]


SLOW_PAGES = ("evaluate", "hidden-state", "learned-states", "theory", "tune")
"""Left to the soak: their code takes more than two seconds; the tutorial takes as long, and is run every time."""
executed = few(EXECUTED, [document for document in EXECUTED if document.stem not in SLOW_PAGES])


@pytest.mark.parametrize("document", executed, ids=[document.stem for document in EXECUTED])
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
SPAWNED = ("everlearn --version", "everlearn run service-station --agent growing")
"""What the commands begin with that are run as a user runs them; the others are called in this process."""


def spawned(command: str, tmp_path: Path) -> str:
    """Return what a command prints in a process of its own."""
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'examples'}"}
    arguments = [sys.executable, "-c", "from everlearn.cli.main import main; main()", *shlex.split(command)[1:]]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """Call a command in this process, in an empty directory, and return what it prints."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command sets its own

    def call(command: str) -> str:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with contextlib.suppress(SystemExit):
            main()
        return "".join(capsys.readouterr())

    return call


@pytest.mark.parametrize(("command", "shown"), CONVERSATIONS, ids=[command for command, _ in CONVERSATIONS])
def test_command_prints_what_is_shown(command, shown, tmp_path, called):
    printed = spawned(command, tmp_path) if command.startswith(SPAWNED) else called(command)
    checker = doctest.OutputChecker()
    fits = checker.check_output(comparable(shown), comparable(printed), OPTIONS)
    assert fits, f"{command}\nprints\n{printed}"


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) < 120


def test_pages_are_in_the_table_of_contents():
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
    code_and_formulas = r"^```.*?^```$|`[^`]*`|\$\$.*?\$\$|\$[^$\n]*\$"
    prose = re.sub(code_and_formulas, "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert not re.findall(r"_\*(?!\*)", prose)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.stem)
def test_files_that_are_named_exist(document):
    """A path in backquotes that begins with a folder of the project is a file of the project."""
    for named in re.findall(r"`((?:src|tests|docs|examples|requirements)/[\w./-]+)`", document.read_text()):
        assert (ROOT / named).exists(), named


@pytest.mark.parametrize(
    ("page", "registry"),
    [("tasks", everlearn.TASKS), ("agents", everlearn.AGENTS), ("concepts", everlearn.SCHEDULES)],
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


LONG = (
    "cheese-maze",
    "drifting",
    "grid-4x4",
    "extended-tiger",
    "hallway",
    "kuhn-poker",
    "maintenance",
    "maze-1d",
    "maze-4x3",
    "queueing-network",
    "seasons",
    "service-station",
    "shuttle",
    "tic-tac-toe",
    "tiger",
)
"""Tasks whose exact theory takes half a second or more."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.soak] * (name in LONG))
        for name in sorted(everlearn.TASKS.keys() - NETWORKS.keys() - CONTROL.keys())
    ],
)
def test_the_table_of_tasks_is_true(name):
    actions, states, memories, rewards, optimum, best, distortion = rows_of(DOCS / "tasks.md", "task")[name]
    theory = everlearn.Theory(name)
    task = theory.task
    assert [actions, states, memories] == [
        f"{n:,}" for n in (len(task.actions), len(task.states), theory.pairs.memories)
    ]
    assert rewards == f"{task.reward.low:g} to {task.reward.high:g}"
    low, _, high = optimum.partition(" to ")
    if high:  # the bounds have not met, and how far they are apart depends on the processor: they are rounded outwards
        assert float(low) <= theory.optimal_bounds[0] < theory.optimal_bounds[1] <= float(high)
        assert [float(low), float(high)] == pytest.approx(list(theory.optimal_bounds), abs=1.2e-3)  # three digits
    else:
        assert [float(low), float(low)] == pytest.approx(list(theory.optimal_bounds), abs=6e-7)
    assert float(best.rstrip(" ⋆")) == pytest.approx(theory.best_aleatoric.average_reward, abs=6e-7)
    assert ("⋆" in best) == (theory.best_deterministic.exact and not theory.best_aleatoric.randomised)
    assert float(distortion) == pytest.approx(theory.distortion(10).value, abs=6e-7)


def generator() -> ModuleType:
    """The program ``python -m docs.generate``, wherever the tests were started from."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.stem)
def test_what_is_generated_is_current(document):
    text = document.read_text()
    remedy = f"{document.name} is out of date; run: python -m docs.generate"
    assert generator().generated(text) == text, remedy
    assert text.count("<!-- generated:") == text.count("<!-- end -->") == len(generator().MARKED.findall(text))


def commands(group: Any, prefix: str = "") -> dict[str, Any]:
    """Return every command by its full name."""
    found = {}
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        nested = commands(command, f"{prefix}{name} ") if hasattr(command, "commands") else {f"{prefix}{name}": command}
        found |= nested
    return found


def test_every_command_has_a_section_with_its_options():
    text = (DOCS / "command-line.md").read_text()
    for name, command in commands(typer.main.get_command(app)).items():
        assert re.search(rf"^###? everlearn {name}$", text, flags=re.MULTILINE), name
        if {option for parameter in command.params for option in parameter.opts} - {"--help", "-h", "--json"}:
            section = re.split(rf"^###? everlearn {name}$", text, flags=re.MULTILINE)[1].partition("\n## ")[0]
            assert f"<!-- generated: options {name} -->" in section, name


COUNTED = {
    "tasks": lambda: len(everlearn.TASKS),
    "agents": lambda: len(everlearn.AGENTS),
    "schedules": lambda: len(everlearn.SCHEDULES),
    "claims": lambda: len(constant("paper.claims.registry:CLAIMS")),
    "tasks on the board": lambda: len(constant("leaderboard.lineup:lineup")().tasks),
    "agents on the board": lambda: len(constant("leaderboard.lineup:lineup")().agents),
    "agents with shipped results": lambda: len(shipped_agents()),
    "training tasks": lambda: len(constant("leaderboard.lineup:lineup")().training),
    "tasks set aside": lambda: len(set((board := constant("leaderboard.lineup:lineup")()).tasks) - board.training),
    "runs on the board": lambda: constant("leaderboard.lineup:RUNS"),
    "searches": lambda: len(list((ROOT / "src/everlearn/leaderboard/search").glob("*.toml"))),
    "designs with forbidden actions": lambda: masked(),
    "values in a fingerprint": lambda: constant("durable.fingerprint:MOST_VALUES"),
    "outcomes in a fingerprint": lambda: constant("durable.fingerprint:MOST_OUTCOMES"),
    "times in a fingerprint": lambda: len(constant("durable.fingerprint:TIMES")),
    "batches per false alarm": lambda: constant("durable.drift:RARITY"),
    "batches in an epoch": lambda: constant("durable.drift:EPOCH"),
    "steps between checks": lambda: constant("engine.compiled:STRETCH"),
    "numbers that are checked": lambda: constant("agents.guard:CHECKED_NUMBERS"),
    "steps that are often compared": lambda: constant("engine.guarded:OFTEN"),
    "steps between comparisons": lambda: constant("engine.guarded:SELDOM"),
    "steps that are compared": lambda: constant("engine.guarded:SPOT"),
    "labels with a clock": lambda: constant("agents.past:MOST_TIMED"),
    "leads": lambda: constant("agents.past:MOST_LEADS"),
    "layers that are skipped": lambda: len(contract()["ignore_imports"]),
    "pages at once": lambda: constant("page.server:MOST_PAGES"),
    "rows of a table on the page": lambda: constant("page.knowledge:MOST_ROWS"),
    "runs in a cell": lambda: constant("experiments.cells:BLOCK"),
    "pairs of a table": lambda: constant("tables:SETTLED"),
    "bootstrap resamples": lambda: constant("analysis.statistics:RESAMPLES"),
    "permutations": lambda: constant("analysis.comparison:RESAMPLES"),
    "steps between snapshots": lambda: constant("durable.setup:DEFAULTS")["snapshot_every"],
    "steps in a batch": lambda: constant("durable.drift:BATCH"),
    "policies that are tried": lambda: constant("theory.aleatoric:FEW"),
}
"""How many there are of something, from the registries and the constants of the program."""


def constant(path: str) -> Any:
    """Return something of a module of everlearn, which is imported only if it is needed."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(f"everlearn.{module}"), name)


def contract() -> dict[str, Any]:
    """Return the layers of the package, as the linter of imports has them."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]


WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
WORDS += ("thirteen", "fourteen", "fifteen")


def as_number(text: str) -> int:
    """Return a number that is written in digits or as a word."""
    return WORDS.index(text.lower()) if text.lower() in WORDS else int(text.replace(",", ""))


def masked() -> int:
    """Return how many registered designs leave forbidden actions out."""
    designs = [constant("agents.registry:make_design")(name, {}, duration=100) for name in everlearn.AGENTS]
    return sum(design.masks for design in designs)


def shipped_agents() -> set[str]:
    """The registered names of the agents whose results come with the package."""
    shown = {arm.agent for arm in constant("leaderboard.shipped:shipped")().arms}
    entries = constant("leaderboard.lineup:lineup")().spec.agents
    return {constant("experiments.spec:name_of")(entry.given) for entry in entries if entry.label in shown}


def verdicts() -> dict[str, list[int]]:
    """On how many tasks that were set aside the default is better, worse, and neither, than each rival on the board."""
    rows = rows_of(DOCS / "leaderboard.md", "against")
    return {rival: [int(number) for number in row[0].split("/")] for rival, row in rows.items()}


def plans_on_a_model(label: str) -> bool:
    """Return whether an agent of the board does so; labels begin with the name."""
    name = label.partition(",")[0]
    return name in ("planner", "versatile") or constant("agents.registry:make_design")(name, {}, duration=100).plans


def test_what_pages_say_of_the_board_is_on_the_board():
    text = (DOCS / "index.md").read_text()
    told = re.search(r"on (\d+) tasks that were not used.* on (\d+), higher on (\d+), and neither on (\d+)", text)
    assert list(map(int, told.groups()[1:])) == verdicts()["growing-horizon, the paper's"]
    assert int(told[1]) == sum(verdicts()["growing-horizon, the paper's"])
    text = (DOCS / "practical.md").read_text()
    told = re.search(r"better on at least (\d+), and worse on at most (\d+), of the (\d+) tasks", text)
    rivals = [counts for rival, counts in verdicts().items() if not plans_on_a_model(rival)]
    found = [min(row[0] for row in rivals), max(row[1] for row in rivals), sum(rivals[0])]
    assert list(map(int, told.groups())) == found


def test_the_kinds_of_agents_in_the_readme_are_all_of_them():
    line = next(line for line in (ROOT / "README.md").read_text().splitlines() if "[agents](docs/agents.md)" in line)
    kinds = re.split(r", (?:and )?", line.partition(": ")[2].partition(". ")[0])
    ones = ("a ", "one ", "fixed policies")
    assert sum(1 if kind.startswith(ones) else as_number(counted_word(kind)) for kind in kinds) == len(everlearn.AGENTS)


def counted_word(text: str) -> str:
    """Return the first word of a text that is a number."""
    return next(word for word in text.split() if word in WORDS)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_how_good_the_default_is_stands_in_the_table_of_its_parts(page):
    text = (ROOT / page).read_text()
    table = rows_of(DOCS / "practical.md", "variant | service-station")
    for row, pattern in (
        ("practical", r"([\d.]+) to ([\d.]+) percent (?:below|less than) the optimum"),
        ("the paper's", r"([\d.]+) to ([\d.]+) percent (?:below\.|less)(?! than)"),
    ):
        regrets = [100 * float(cell.split()[0]) for cell in table[row]]
        low, high = map(float, re.search(pattern, text).groups())
        assert [low, high] == pytest.approx([min(regrets), max(regrets)], abs=0.5 if high > 10 else 0.01)


def test_the_layers_in_the_concepts_are_those_of_the_linter():
    block = (DOCS / "concepts.md").read_text().split("## How data flows")[1].split("    cli\n")[1].split("\n\n")[0]
    shown = ["cli", *re.findall(r"\w+", " ".join(re.split(r"  +", line.strip())[0] for line in block.splitlines()))]
    layers = [re.findall(r"everlearn\.(\w+)", layer) for layer in contract()["layers"]]
    lowest = next(place for place, layer in enumerate(layers) if "client" in layer)
    upper = [name for layer in layers[:lowest] for name in layer]
    assert shown[: len(upper)] == upper
    assert set(shown[len(upper) :]) <= {name for layer in layers[lowest:] for name in layer}


def test_every_extra_for_users_is_in_the_table_of_extras():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(rows_of(DOCS / "install.md", "extra")) == {"none", *extras} - {"dev", "docs"}


@pytest.mark.parametrize("page", ["README.md", "docs/concepts.md"])
def test_every_package_is_in_the_table_of_folders(page):
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / page).read_text().split("| what is in it |")[1], re.MULTILINE)
    listed = set(re.findall(r"`(\w+)/`", " ".join(rows)))
    assert listed == {path.parent.name for path in (ROOT / "src/everlearn").glob("*/__init__.py")}


@pytest.mark.parametrize(
    ("page", "pattern", "name"),
    [
        ("README.md", r"^- (\d+) \[tasks\]", "tasks"),
        ("README.md", r"^- (\d+) \[agents\]", "agents"),
        ("README.md", r"^- (\d+) schedules:", "schedules"),
        ("README.md", r"checks (\d+) of the paper's claims", "claims"),
        ("README.md", r"compares \w+ of them on (\d+) variants", "tasks on the board"),
        ("README.md", r"compares (\w+) of them on \d+ variants", "agents with shipped results"),
        ("docs/command-line.md", r"those of the board on (\d+) tasks", "tasks on the board"),
        ("docs/index.md", r"which compares \w+ agents on (\d+) tasks", "tasks on the board"),
        ("docs/index.md", r"which compares (\w+) agents on \d+ tasks", "agents with shipped results"),
        ("docs/own-agent.md", r"the (\d+) tasks of the \[leaderboard\]", "tasks on the board"),
        ("docs/leaderboard.md", r"^(?:\d+) agents on (\d+) tasks", "tasks on the board"),
        ("docs/leaderboard.md", r"^(\d+) agents on", "agents on the board"),
        ("docs/play.md", r"Up to ([\d,]+) pages", "pages at once"),
        ("docs/play.md", r"up to ([\d,]+) aleatoric states", "rows of a table on the page"),
        ("docs/experiments.md", r"block of up to ([\d,]+) runs", "runs in a cell"),
        ("docs/experiments.md", r"no more than\s+([\d,]+) pairs", "pairs of a table"),
        ("docs/experiments.md", r"with replacement ([\d,]+) times", "bootstrap resamples"),
        ("docs/experiments.md", r"with more, ([\d,]+) random ones", "permutations"),
        ("docs/live.md", r"every ([\d,]+) observations", "steps between snapshots"),
        ("docs/live.md", r"batches of ([\d,]+) steps", "steps in a batch"),
        ("docs/theory.md", r"at most ([\d,]+) of them", "policies that are tried"),
        ("README.md", r"with (\w+) exceptions that", "layers that are skipped"),
        ("docs/concepts.md", r"with (\w+) exceptions; a linter", "layers that are skipped"),
        ("docs/leaderboard.md", r"(\d+) training tasks, on which", "training tasks"),
        ("docs/leaderboard.md", r"and (\d+) that were set aside before", "tasks set aside"),
        ("docs/leaderboard.md", r"(\w+) have a search over their own", "searches"),
        ("docs/own-agent.md", r"(\w+) of the tasks are training tasks", "training tasks"),
        ("docs/own-agent.md", r"with (\d+) runs of 10⁶ steps each", "runs on the board"),
        ("docs/own-agent.md", r"block of up to ([\d,]+) steps", "steps between checks"),
        ("docs/own-agent.md", r"more than ([\d,]+) numbers", "numbers that are checked"),
        ("docs/own-agent.md", r"of every ([\d,]+) steps up to step", "steps between checks"),
        ("docs/own-agent.md", r"steps up to step\s+([\d,]+)", "steps that are often compared"),
        ("docs/own-agent.md", r"of every ([\d,]+) steps after that", "steps between comparisons"),
        ("docs/own-agent.md", r"in (\d+) of every [\d,]+ steps", "steps that are compared"),
        ("docs/live.md", r"(\w+) designs support this", "designs with forbidden actions"),
        ("docs/live.md", r"if there are at most ([\d,]+), otherwise", "values in a fingerprint"),
        ("docs/live.md", r"by the first ([\d,]+) outcomes", "outcomes in a fingerprint"),
        ("docs/live.md", r"by its values at (\d+) times", "times in a fingerprint"),
        ("docs/live.md", r"one false alarm in ([\d,]+) batches", "batches per false alarm"),
        ("docs/live.md", r"the last (\d+) to \d+ batches", "batches in an epoch"),
        ("docs/learned-states.md", r"at most (\d+) observations and actions together", "labels with a clock"),
        ("docs/learned-states.md", r"at most (\d+) leads", "leads"),
    ],
)
def test_what_is_counted_in_prose_is_so_many(page, pattern, name):
    found = re.findall(pattern, (ROOT / page).read_text(), flags=re.MULTILINE)
    assert [as_number(text) for text in found] == [COUNTED[name]()] * max(len(found), 1)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.stem)
def test_no_other_schedule_is_called_the_default(document):
    prose = re.sub(r"^```.*?^```$", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    for name in set(everlearn.SCHEDULES) - {DEFAULT_SCHEDULE}:
        assert not re.search(
            rf"`{name}`,? \(?(?:is )?the default|the default(?: schedule)?,? (?:is )?`{name}`", prose
        ), name


def test_the_schedule_of_a_run_that_names_none_is_the_default():
    text = (DOCS / "command-line.md").read_text()
    assert f"| `--schedule` | `{DEFAULT_SCHEDULE}` |" in text  # as the help says


def test_the_defaults_of_specs_are_those_of_the_program():
    from everlearn.experiments.spec import read_spec
    from everlearn.tuning.spec import read_tuning

    spec = read_spec({"steps": 1, "task": "riverswim", "agent": "always"})
    told = {key: row[0] for key, row in rows_of(DOCS / "experiments.md", "key").items()}
    shown = {"runs": spec.runs, "seed": spec.seed, "engine": spec.engine, "recording.per_decade": spec.per_decade}
    assert {key: told[key].strip('`"') for key in shown} == {key: str(value) for key, value in shown.items()}
    assert float(told["max_pairs"].strip("`")) == spec.max_pairs
    search = {"agent": "growing-horizon", "search": {"schedule.horizon_scale": [1, 2]}}
    tuning = read_tuning({"steps": 1, "task": "riverswim", **search})
    told = {key: row[0].strip('`"') for key, row in rows_of(DOCS / "tune.md", "key").items()}
    for key in ("candidates", "factor", "final_runs", "objective"):
        assert told[key] == str(getattr(tuning, key)), key
    assert told["runs"] == str(tuning.experiment.runs)


def test_the_bounds_of_the_service_are_those_of_the_program():
    bounds = dataclasses.fields(constant("service.settings:Limits"))
    without = ("patience", "trial_seconds", "trial_megabytes")
    limits = {f"--max-{one.name}": one.default for one in bounds if one.name not in without}
    rows = [row for row in rows_of(DOCS / "security.md", "what").values() if row[1].startswith("`--max-")]
    units = {"KiB": 2**10, "MiB": 2**20}
    told = {}
    for bound, option in rows:
        number, _, unit = bound.partition(" ")
        told[option.strip("`")] = int(number.replace(",", "")) * units.get(unit, 1)
    assert told == limits


def test_every_public_name_is_in_the_reference():
    text = (DOCS / "api.md").read_text()
    for name in everlearn.__all__:
        assert f"everlearn.{name}" in text, name


def test_each_object_has_a_page_with_its_types():
    text = (DOCS / "api.md").read_text()
    pages = dict(object_pages(DOCS))
    assert len({name.lower() for name in pages}) == len(entries(text)) == len(pages)
    linked = re.findall(r"\]\(each/(\S+\.md)\)", link(text))
    assert sorted(linked) == sorted(pages)
    assert "    steps: float = 100000,\n" in pages["function-run.md"]
    assert "```{index} ! el.run\n" in pages["function-run.md"]  # which the search finds
    assert "Agent.act() -> Label" in pages["class-Agent.md"]
    assert not any("= …" in page for page in pages.values())  # the signatures must be read as Python


def test_each_command_and_each_agent_is_in_one_group():
    text = (DOCS / "command-line.md").read_text()
    listed = [name for _, names in GROUPS.values() for name in names.split()]
    assert sorted(listed) == sorted(sections(text))
    assert re.findall(r"^## everlearn (\S+)$", link_commands(text), re.MULTILINE) == listed
    pages = dict(command_pages(DOCS))
    assert "| `--runs` |" in pages["commands-run.md"]
    assert "](../theory.md" in pages["commands-run.md"]
    families = "".join(page for _, page in family_pages(DOCS))
    assert sorted(re.findall(r"^\| \[`(\S+)`\]", families, re.MULTILINE)) == sorted(everlearn.AGENTS)


def test_each_parameter_is_described_by_itself():
    """Names that share a description are rendered as one parameter with commas in its name."""
    grouped = re.compile(r"^ +[a-z_]+(?:, [a-z_]+)+:$", re.MULTILINE)
    for path in (ROOT / "src" / "everlearn").rglob("*.py"):
        assert grouped.findall(path.read_text(encoding="utf-8")) == [], path


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


def test_the_walks_pass_through_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    walks = text.split("## Three walks through the code")[1].split("## Add a task")[0]
    named = [re.findall(r"`([a-z_/]+\.py)`", walk) for walk in walks.split("\n**")[1:]]
    assert [name for walk in named for name in walk if not (ROOT / "src/everlearn" / name).exists()] == []
    assert [len(set(walk)) <= most for walk, most in zip(named, (15, 12, 25), strict=True)] == [True, True, True]
