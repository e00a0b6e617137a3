"""Write an experiment into the documentation: ``python -m docs.board DIR...``.

The tables of a board (``everlearn leaderboard --afresh --out DIR``) go between two comments in ``leaderboard.md``, the
figure to ``images/leaderboard.png``, the table of where our agent loses into ``practical.md``, and the results, with
the speeds that are measured now, into the package.  If the board was interrupted, what is finished is written; its
agents may be in several directories, of which the first has the most steps.  Shipped results that are not there, of
agents and tasks that are on the board with the same parameters, are kept; if they have more steps, nothing is written.
The tables of ``examples/practical.toml``, the variants of the practical schedule, go to ``practical.md`` and
``images/practical.png``.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from docs.losses import losses
from docs.variants import relative_regrets

import everlearn.leaderboard
from everlearn.errors import EverlearnError, require
from everlearn.experiments.directory import Directory
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.tables import read_arms
from everlearn.figures.style import house_style
from everlearn.files import replacing
from everlearn.leaderboard.board import Board
from everlearn.leaderboard.lineup import Lineup, lineup
from everlearn.leaderboard.shipped import KEY, RESULTS, powers_of_ten, shipped
from everlearn.leaderboard.speed import steps_per_second
from everlearn.leaderboard.tables import Grid, summary
from everlearn.results.arm import Arm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOCS, PACKAGE = Path(__file__).parent, Path(everlearn.leaderboard.__file__).parent

DOTS = 120
"""Dots per inch: enough to read the numbers of the heat map where it is shown by itself."""

BEGIN, END = "<!-- the board begins -->", "<!-- the board ends -->"

LOSSES = "<!-- the losses begin -->", "<!-- the losses end -->"
"""Where the table of the tasks on which our agent loses is, in ``practical.md``."""

WHOLE = "practical"
"""The label of the schedule as it is; every other variant differs from it in what its label says."""

DRAWN = (
    *(WHOLE, "the paper's", "other constants alone", "no action is held", "ten times the optimism"),
    *("a horizon of 24 throughout", "a horizon that grows faster"),
)
"""The variants that are drawn: all of them in one panel could not be told apart."""


def document(directories: Sequence[Path], docs: Path, package: Path) -> list[Path]:
    """Write the tables and the figure of an experiment into the documentation, and return the paths."""
    experiment = Experiment(directories[0])
    if experiment.manifest["name"] != "leaderboard":
        return _written(docs, "practical", *_variants(experiment))
    shipped_results, board, page = ship(directories, package), _board(directories), docs / "practical.md"
    write(page, losses(board).markdown(level=3), LOSSES)
    return [*_written(docs, "leaderboard", summary(board, level=3), board.figure()), page, shipped_results]


def _written(docs: Path, name: str, text: str, figure: Figure) -> list[Path]:
    page, picture = docs / f"{name}.md", docs / "images" / f"{name}.png"
    write(page, text)
    with house_style(), replacing(picture) as target:
        figure.savefig(target, format="png", dpi=DOTS)
    return [page, picture]


def ship(directories: Sequence[Path], package: Path) -> Path:
    """Write the results of a board into the package, with the speeds of its agents, measured now; others are kept."""
    arms, whole = results(directories), _lineup(directories)
    identities = whole.identities()
    check_identities(directories, identities)
    new, known = {arm.agent for arm in finished(directories)}, shipped().speeds
    kept = {label: known[label] for label in whole.agents if label in known and label not in new}
    rest = [entry for entry in whole.spec.agents if entry.label not in kept]
    speeds = kept | {str(entry.label): steps_per_second(entry) for entry in rest}
    contents = encoded(
        [powers_of_ten(arm, whole.spec.steps) for arm in arms], speeds, whole.spec.steps, whole.spec.seed, identities
    )
    with replacing(package / RESULTS) as target:
        target.write(contents)
    shipped.cache_clear()
    return package / RESULTS


def encoded(
    arms: Sequence[Arm],
    speeds: Mapping[str, float],
    steps: int,
    seed: int,
    identities: Mapping[str, Mapping[str, Any]] | None = None,
) -> bytes:
    """Return the contents of the file of shipped results, from arms at few times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        (arm.task, arm.agent, time, number, total)
        for arm in arms
        for place, time in enumerate(arm.times.tolist())
        for number, total in zip(arm.numbered.tolist(), arm.total_reward[:, place].tolist(), strict=True)
    ]
    table = pa.table(dict(zip(("task", "agent", "time", "run", "total_reward"), zip(*rows, strict=True), strict=True)))
    notes = {"speeds": speeds, "steps": steps, "runs": max(arm.units for arm in arms), "seed": seed}
    notes["identities"] = identities or {}
    file = io.BytesIO()
    pq.write_table(table.replace_schema_metadata({KEY: json.dumps(notes)}), file, compression="zstd")
    return file.getvalue()


def check_identities(directories: Sequence[Path], identities: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise if an agent or a task was run with other parameters than it has on the board now."""
    for part in parts(directories):
        for entry in part.read_manifest()["variants"]:
            now = {**identities[entry["agent"]], **identities[entry["task"]]}
            changed = [name for name, value in entry["parameters"].items() if now.get(name) != value]
            run = f"{entry['agent']} on {entry['task']}"
            require(not changed, str(part.path), run, f"was run with another {', '.join(changed)}; run it again")


def parts(directories: Sequence[Path]) -> list[Directory]:
    """Return the experiments of a board, whose agents with limits are in folders below."""
    return [Directory(path.parent) for folder in directories for path in sorted(folder.rglob("manifest.json"))]


def finished(directories: Sequence[Path]) -> list[Arm]:
    """Return what is finished of a board, each agent on each task once."""
    arms = {(arm.agent, arm.task): arm for part in parts(directories) for arm in read_arms(part)}
    return list(arms.values())


def results(directories: Sequence[Path]) -> list[Arm]:
    """Return what is finished, and the shipped results that it does not replace; raise if these have more steps.

    Shipped results of other runs, and of agents and tasks whose parameters have changed, are left out.
    """
    arms, size = finished(directories), Experiment(directories[0]).manifest
    if (size["runs"], size["seed"]) != (shipped().runs, shipped().seed):
        return arms
    few, most = f"{size['steps']:,} steps", f"{shipped().steps:,}"
    require(size["steps"] >= shipped().steps, str(directories[0]), few, f"the shipped results have {most}; run as many")
    done, whole = {(arm.agent, arm.task) for arm in arms}, lineup(afresh=True)
    agents, tasks = (set(labels) - whole.changed for labels in (whole.agents, whole.tasks))
    known = [arm for arm in shipped().arms if arm.agent in agents and arm.task in tasks]
    return arms + [arm for arm in known if (arm.agent, arm.task) not in done]


def write(page: Path, tables: str, comments: tuple[str, str] = (BEGIN, END)) -> None:
    """Put tables between two comments of a page, in place of what was there."""
    begin, end = comments
    before, begun, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    require(bool(begun and ended), page.name, "no comments", f"put {begin} and {end} where the tables should be")
    with replacing(page) as target:
        target.write(f"{before}{begin}\n\n{tables}\n{end}{after}".encode())


def _lineup(directories: Sequence[Path]) -> Lineup:
    arms, manifest = results(directories), Experiment(directories[0]).manifest
    agents, tasks = (list({getattr(arm, key) for arm in arms}) for key in ("agent", "task"))
    return lineup(agents, tasks, runs=manifest["runs"], steps=manifest["steps"], afresh=True)


def _board(directories: Sequence[Path]) -> Board:
    return Board(_lineup(directories), results(directories), directories[0])


def _variants(experiment: Experiment) -> tuple[str, Figure]:
    drawn = [arm for arm in experiment.arms if arm.agent in DRAWN]
    return variants_table(experiment.arms).markdown(level=3), relative_regrets(drawn, WHOLE)


def variants_table(arms: Sequence[Arm]) -> Grid:
    """Return the relative regret of every variant on every task at the end: its mean, and that of the worst run."""
    tasks, variants = (list(dict.fromkeys(getattr(arm, key) for arm in arms)) for key in ("task", "agent"))
    cells = {}
    for arm in arms:
        lost = np.asarray(arm.regret)[:, -1] / (arm.times[-1] * np.abs(np.asarray(arm.optimum)))
        cells[arm.agent, arm.task] = f"{lost.mean():.3f} ({lost.max():.3f})"
    steps, runs = int(arms[0].times[-1]), arms[0].units
    title = f"Relative regret after {steps:,} steps, mean of {runs:,} runs (the worst of them)"
    rows = [[variant, *(cells[variant, task] for task in tasks)] for variant in variants]
    return Grid(title, ["variant", *tasks], rows)


def main(arguments: list[str]) -> int:
    """Write, and say what was written; an error is one line and exit code 2."""
    if not arguments:
        sys.stderr.write("usage: python -m docs.board DIR...\n")
        return 2
    try:
        sys.stdout.write(
            "".join(
                f"written: {path}\n" for path in document([Path(argument) for argument in arguments], DOCS, PACKAGE)
            )
        )
    except EverlearnError as error:
        sys.stderr.write(f"everlearn: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
