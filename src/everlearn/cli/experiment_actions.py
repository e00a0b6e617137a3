"""What the commands ``everlearn experiment ...`` do: call, and print for a person or a program."""

from __future__ import annotations

from pathlib import Path

from everlearn.api import workforce
from everlearn.cli.output import console, print_json
from everlearn.cli.summaries import show_tables
from everlearn.cli.watching import interruptible, watching
from everlearn.errors import InputError
from everlearn.experiments.execute import Shard, execute, extend
from everlearn.experiments.experiment import SHOWN, Experiment
from everlearn.experiments.merge import merge
from everlearn.experiments.spec import Spec, load_spec, read_spec


def run_spec(spec: str, out: str, threads: int | None, shard: str | None, cluster: str | None, as_json: bool) -> None:
    """Run what is missing of a spec."""
    part = None if shard is None else Shard.read(shard)
    if part is not None and cluster is not None:
        raise InputError("--shard", shard, "a cluster deals out the work itself; give one of --shard and --cluster")
    described = load_spec(spec)
    with interruptible(out), watching(described.name) as watcher:
        force = workforce(threads, cluster, described.folder)
        execute(described, out, workforce=force, shard=part, watcher=watcher)
    _print_done(out, as_json)


def extend_directory(directory: str, steps: int, threads: int | None, cluster: str | None, as_json: bool) -> None:
    """Extend finished runs."""
    spec = _spec_of(directory, steps)
    with interruptible(directory), watching(spec.name) as watcher:
        extend(directory, spec, workforce=workforce(threads, cluster, spec.folder), watcher=watcher)
    _print_done(directory, as_json)


def _spec_of(directory: str, steps: int) -> Spec:
    """Return the spec of a directory, with another number of steps."""
    manifest = Experiment(directory).manifest
    if not manifest["named"]:
        remedy = "its tasks or agents were given as things, not by name; extend it with compare(..., steps=, out=)"
        raise InputError("directory", directory, remedy)
    return read_spec({**manifest["spec"], "steps": steps}, folder=manifest["folder"])


def merge_directories(directories: list[str], out: str | None, as_json: bool) -> None:
    """Merge directories."""
    _print_done(str(merge(directories, out).path), as_json)


def print_status(directory: str, as_json: bool) -> None:
    """Print how far an experiment is."""
    found = Experiment(directory).status
    if as_json:
        print_json(found)
        return
    screen = console()
    state = "complete" if found["complete"] else f"{found['steps_done'] / found['steps']:.1%} done"
    screen.print(f"{found['name']} in {found['directory']}: {state}", soft_wrap=True, markup=False)
    screen.print(
        f"{found['cells_done']:,} of {found['cells']:,} cells finished, {found['cells_begun']:,} begun; "
        f"{found['steps_done']:,} of {found['steps']:,} steps, {found['seconds_worked']:,.1f} s of work",
        soft_wrap=True,
    )
    if found["cells_unused"]:
        screen.print(f"{found['cells_unused']:,} cells belong to no agent or task of the spec any more")
    for message in found["damaged"]:
        screen.print(f"{message}; run it again to compute it anew", soft_wrap=True, markup=False)
    if found["tables_steps"] not in (None, found["steps_each"]):
        screen.print(
            f"the tables are those of {found['tables_steps']:,} steps; run it again to go on to {found['steps_each']:,}"
        )
    for name in found["altered_tables"]:
        screen.print(f"{name}: not as it was written; run it again to make it anew", soft_wrap=True, markup=False)
    origin = found["provenance"]
    commit = f", commit {origin['commit']}" if origin["commit"] else ""
    screen.print(f"[dim]everlearn {origin['everlearn']}{commit}[/dim]", soft_wrap=True)
    for platform in found["platforms"]:
        screen.print(f"[dim]on {platform}[/dim]", soft_wrap=True)


def print_tables(directory: str, measures: list[str] | None, confidence: float, as_json: bool) -> None:
    """Print the summary, and regret over time."""
    experiment = Experiment(directory)
    rows = experiment.table(measures or (None if as_json else SHOWN), confidence=_confidence(confidence))
    regret = experiment.regret(confidence=confidence)
    if as_json:
        print_json({"name": experiment.manifest["name"], "summary": rows, "regret": regret})
        return
    show_tables(console(), experiment, rows, regret, confidence)


def print_comparisons(
    directory: str,
    measure: str,
    against: str | None,
    confidence: float,
    *,
    all_pairs: bool,
    sentences: bool,
    as_json: bool,
) -> None:
    """Print comparisons as a matrix, or a sentence each."""
    if all_pairs and against is not None:
        raise InputError("--against", against, "leave it out with --all-pairs, or leave out --all-pairs")
    found = Experiment(directory).compare(
        measure, against=against, all_pairs=all_pairs, confidence=_confidence(confidence)
    )
    if as_json:
        print_json(found.rows)
        return
    screen = console()
    shown = found.sentences if sentences and found else [found.text(screen.width)]
    for text in shown:
        screen.print(text, soft_wrap=True, markup=False)
    if sentences and len(found) > 1:
        note = (
            f"p-values are adjusted for {len(found)} comparisons (Holm); each pairs runs with the same random numbers."
        )
        screen.print(f"[dim]{note}[/dim]", soft_wrap=True)


def draw_figures(directory: str, out: str | None, formats: list[str], measure: str, as_json: bool) -> None:
    """Draw, and say where the figures are."""
    _print_paths("figure", Experiment(directory).plot(out, formats=formats, measure=measure), as_json)


def export_runs(directory: str, form: str, out: str | None, as_json: bool) -> None:
    """Export, and say where the file is."""
    _print_paths("table", [Experiment(directory).export(form, out)], as_json)


def _print_done(directory: str, as_json: bool) -> None:
    experiment = Experiment(directory)
    found = experiment.status
    if as_json:
        print_json(found)
        return
    left = found["cells"] - found["cells_done"]
    state = (
        f"all {found['cells']:,} cells are finished" if not left else f"{left:,} of {found['cells']:,} cells are left"
    )
    screen = console()
    worked = f"{found['seconds_worked']:,.1f} s of work in all"
    screen.print(f"{found['name']}: {state}, {worked}", soft_wrap=True, markup=False)
    screen.print(f"results: {Path(directory).resolve()}", soft_wrap=True, markup=False)
    if not left:
        screen.print(f"see them with: everlearn experiment table {directory}", soft_wrap=True, markup=False)


def _print_paths(what: str, paths: list[Path], as_json: bool) -> None:
    if as_json:
        print_json({f"{what}s": [str(path) for path in paths]})
        return
    for path in paths:
        console().print(f"{what}: {path.resolve()}", soft_wrap=True, markup=False)


def _confidence(value: float) -> float:
    if not 0 < value < 1:
        raise InputError("--confidence", value, "give a number between 0 and 1, as in 0.95")
    return value
