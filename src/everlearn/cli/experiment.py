"""The commands that work on an experiment: ``everlearn experiment run``, ``extend``, ``merge`` and ``status``."""

from __future__ import annotations

from typing import Annotated

import typer

import everlearn as el
from everlearn.cli import options
from everlearn.cli.output import print_json, say
from everlearn.errors import InputError
from everlearn.files import expanded

Directory = Annotated[str, typer.Argument(metavar="DIR", help="The directory of an experiment.")]


def run(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A TOML file that describes the experiment.")],
    out: options.Out,
    threads: options.Threads = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Run part I of N; combine the parts with merge.")
    ] = None,
    cluster: options.Cluster = None,
    as_json: options.AsJson = False,
) -> None:
    """Run an experiment. If it is interrupted, run the same command again to resume."""
    from everlearn.api import workforce
    from everlearn.cli.progress import interruptible, show_progress
    from everlearn.experiments.execute import Shard, execute
    from everlearn.experiments.spec import load_spec

    part = None if shard is None else Shard.read(shard)
    if part is not None and cluster is not None:
        raise InputError("--shard", shard, "a cluster deals out the work itself; give one of --shard and --cluster")
    loaded = load_spec(spec)
    with interruptible(out), show_progress(loaded.name) as bar:
        force = workforce(threads, cluster, loaded.folder)
        execute(loaded, out, workforce=force, shard=part, watcher=bar)
    _print_progress(out, as_json)


def extend(
    directory: Directory,
    steps: Annotated[int, options.steps("The total number of steps of each run; you may write 1e7.")],
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    as_json: options.AsJson = False,
) -> None:
    """Continue finished runs to more steps. The result is the same, bit for bit, as that of one longer experiment."""
    from everlearn.api import workforce
    from everlearn.cli.progress import interruptible, show_progress
    from everlearn.experiments import execute
    from everlearn.experiments.spec import read_spec

    manifest = el.Experiment(directory).manifest
    if not manifest["named"]:
        remedy = "its tasks or agents were passed as objects, not by name; extend it with experiment(..., steps=, out=)"
        raise InputError("directory", directory, remedy)
    spec = read_spec({**manifest["spec"], "steps": steps}, folder=manifest["folder"])
    with interruptible(directory), show_progress(spec.name) as bar:
        execute.extend(directory, spec, workforce=workforce(threads, cluster, spec.folder), watcher=bar)
    _print_progress(directory, as_json)


def merge(
    directories: Annotated[list[str], typer.Argument(metavar="DIR...", help="Directories of the same experiment.")],
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="The directory to merge into. Default: the first.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Merge the results of several directories into one, and write the combined tables."""
    from everlearn.experiments.merge import merge as merge_directories

    _print_progress(str(merge_directories(directories, out).path), as_json)


def _print_progress(directory: str, as_json: bool) -> None:
    status = el.Experiment(directory).status
    if as_json:
        print_json(status)
        return
    cells = status["cells"]
    left = cells - status["cells_done"]
    state = f"{left:,} of {cells:,} cells are left" if left else f"all {cells:,} cells are finished"
    say(f"{status['name']}: {state}, {status['seconds_worked']:,.1f} s of work in all")
    say(f"results: {expanded(directory).resolve()}")
    if not left:
        say(f"see them with: everlearn experiment table {directory}")


def status(directory: Directory, as_json: options.AsJson = False) -> None:
    """Print how much of an experiment is done, and whether its files are intact."""
    document = el.Experiment(directory).status
    if as_json:
        print_json(document)
        return
    steps, steps_done = document["steps"], document["steps_done"]
    state = "complete" if document["complete"] else f"{steps_done / steps:.1%} done"
    say(f"{document['name']} in {document['directory']}: {state}")
    cells = f"{document['cells_done']:,} of {document['cells']:,} cells finished, {document['cells_begun']:,} begun"
    say(f"{cells}; {steps_done:,} of {steps:,} steps, {document['seconds_worked']:,.1f} s of work")
    if document["cells_unused"]:
        say(f"{document['cells_unused']:,} cells belong to no agent or task of the spec any more")
    for message in document["damaged"]:
        say(f"{message}; run the experiment again to recompute it")
    if document["tables_steps"] not in (None, document["steps_each"]):
        remedy = f"run the experiment again to continue to {document['steps_each']:,}"
        say(f"the tables are those of {document['tables_steps']:,} steps; {remedy}")
    for name in document["altered_tables"]:
        say(f"{name}: was changed after it was written; run the experiment again to rewrite it")
    origin = document["provenance"]
    commit = f", commit {origin['commit']}" if origin["commit"] else ""
    say(f"everlearn {origin['everlearn']}{commit}", style="dim")
    for platform in document["platforms"]:
        say(f"on {platform}", style="dim")
