"""The commands ``everlearn experiment ...``, as they are parsed; what they do is in ``experiment_actions``."""

from __future__ import annotations

from typing import Annotated

import typer

from everlearn.cli import options
from everlearn.cli.endings import Commands
from everlearn.cli.options import integer, number

app = typer.Typer(
    cls=Commands,
    help="Compare agents on tasks, durably: describe it once, run it, add to it, get tables and figures.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else.", callback=options.json_alone)
]
Directory = Annotated[str, typer.Argument(metavar="DIR", help="The directory of an experiment.")]
Threads = Annotated[int | None, integer(help="Threads of the compiled engine. Default: one a core.", least=1)]
Cluster = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="A Dask cluster, as in tcp://host:8786; local:N starts one here.")
]
Confidence = Annotated[float, number(help="How often an interval should hold what it estimates.")]


@app.command()
def run(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A TOML file that describes the experiment.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Where to keep it; what is there already is not repeated.")],
    threads: Threads = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Do the I-th of N parts; bring them together with merge.")
    ] = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Run what is missing of an experiment; interrupted or killed, the same command goes on where it was."""
    from everlearn.cli.experiment_actions import run_spec

    run_spec(spec, out, threads, shard, cluster, as_json)


@app.command()
def extend(
    directory: Directory,
    steps: Annotated[int, options.steps("How many steps each run is to have in all; 1e7 is understood.")],
    threads: Threads = None,
    cluster: Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Go on from finished runs to more steps: the same, bit for bit, as runs of that length from the start."""
    from everlearn.cli.experiment_actions import extend_directory

    extend_directory(directory, steps, threads, cluster, as_json)


@app.command()
def merge(
    directories: Annotated[list[str], typer.Argument(metavar="DIR...", help="Directories of one experiment.")],
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where to bring them. Default: into the first.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bring together what was done in several directories, and make the tables of all of it."""
    from everlearn.cli.experiment_actions import merge_directories

    merge_directories(directories, out, as_json)


@app.command()
def status(directory: Directory, as_json: AsJson = False) -> None:
    """Say how far an experiment is, and whether its files are whole."""
    from everlearn.cli.experiment_actions import print_status

    print_status(directory, as_json)


@app.command()
def table(
    directory: Directory,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="final, late, anytime, regret or 'relative regret'; may be repeated. Default: a few of them."
        ),
    ] = None,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
) -> None:
    """Print what each agent earned on each task, with intervals over runs, and regret over time."""
    from everlearn.cli.experiment_actions import print_tables

    print_tables(directory, measure, confidence, as_json)


@app.command()
def compare(
    directory: Directory,
    measure: Annotated[str, typer.Option(help="final, late, anytime, regret or 'relative regret'.")] = "final",
    against: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Compare every agent with this one. Default: the first.")
    ] = None,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Compare every agent with every other.")] = False,
    sentences: Annotated[bool, typer.Option("--sentences", help="Print a sentence for each comparison.")] = False,
    confidence: Confidence = 0.95,
    as_json: AsJson = False,
) -> None:
    """Compare every agent with the first, by pairs of runs with the same random numbers, and print one matrix."""
    from everlearn.cli.experiment_actions import print_comparisons

    shape = {"all_pairs": all_pairs, "sentences": sentences}
    print_comparisons(directory, measure, against, confidence, **shape, as_json=as_json)


@app.command()
def plot(
    directory: Directory,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where to put the figures. Default: DIR/figures.")
    ] = None,
    form: Annotated[
        list[str] | None, typer.Option("--format", help="png, svg or pdf; may be repeated. Default: png, svg.")
    ] = None,
    measure: Annotated[str, typer.Option(help="What a sweep over parameters shows.")] = "final",
    as_json: AsJson = False,
) -> None:
    """Draw average reward, regret where the optimum is known, and sweeps over parameters."""
    from everlearn.cli.experiment_actions import draw_figures

    draw_figures(directory, out, form or ["png", "svg"], measure, as_json)


@app.command()
def export(
    directory: Directory,
    form: Annotated[str, typer.Option("--format", help="parquet or csv.")] = "parquet",
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write it. Default: DIR/runs.FORMAT.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write every run at every recording time to one file."""
    from everlearn.cli.experiment_actions import export_runs

    export_runs(directory, form, out, as_json)
