"""The command ``everlearn``.

Each command imports what it needs when it runs, so that ``everlearn --help`` answers at once.
"""

from __future__ import annotations

import io
import sys
import warnings
from typing import Annotated

import typer

from everlearn._version import __version__
from everlearn.cli import experiment, options
from everlearn.cli.endings import Commands, end
from everlearn.cli.options import integer, number

app = typer.Typer(
    name="everlearn",
    cls=Commands,
    help="Reinforcement learning on one endless stream of experience.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(experiment.app, name="experiment")

AsJson = experiment.AsJson


def main() -> None:
    """Run a command; what a user can mend is one line on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character is no reason to fail
    warnings.showwarning = _show_warning  # type: ignore[assignment]  # it takes what it does not need
    end(app)


def _show_warning(message: Warning | str, *_where: object) -> None:
    typer.echo(f"everlearn: warning: {message}", err=True)


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    """Reinforcement learning on one endless stream of experience."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


@app.command()
def tasks(as_json: AsJson = False) -> None:
    """List the tasks that have a name, and their parameters."""
    from everlearn.cli.lists import list_factories
    from everlearn.tasks.registry import TASKS

    list_factories("task", TASKS, as_json)


@app.command()
def agents(as_json: AsJson = False) -> None:
    """List the agents that have a name, and their parameters."""
    from everlearn.agents.registry import AGENTS
    from everlearn.cli.lists import list_factories

    list_factories("agent", AGENTS, as_json)


@app.command()
def schedules(as_json: AsJson = False) -> None:
    """List the schedules that have a name, and their parameters."""
    from everlearn.agents.registry import SCHEDULES
    from everlearn.cli.lists import list_factories

    list_factories("schedule", SCHEDULES, as_json)


@app.command()
def run(
    task: Annotated[
        str, typer.Argument(help="A task: a name, gymnasium:ID, or module:attribute.", autocompletion=options.tasks)
    ],
    agent: Annotated[
        str, typer.Option(help="An agent: a name, or module:attribute.", autocompletion=options.agents)
    ] = "growing-horizon",
    schedule: Annotated[
        str | None,
        typer.Option(
            help="A schedule, for agents that take one. Default: practical.", autocompletion=options.schedules
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter, as in task.window=6 or agent.phase=1e4."),
    ] = None,
    steps: Annotated[int, options.steps("How many steps each run takes; 1e6 is understood.")] = 100_000,
    runs: Annotated[int, integer(help="How many independent runs.", least=1)] = 1,
    seed: Annotated[int, integer(help="The seed: the same gives the same result.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, compiled or reference.", autocompletion=options.engines)] = "auto",
    threads: experiment.Threads = None,
    max_pairs: Annotated[int, integer(help="How many pairs of memory and state may be expanded.", least=1)] = 1_000_000,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw it to a file that ends in .png, .svg or .pdf.")
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="DIR", help="Keep the result and its tables in a folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run an agent on a task, and print how much reward it gathered."""
    from everlearn.cli.run import run_and_print

    numbers = {"steps": steps, "runs": runs, "seed": seed, "max_pairs": max_pairs}
    run_and_print(task, agent, schedule, settings or [], numbers, engine, threads, plot, out, as_json)


@app.command()
def theory(
    task: Annotated[
        str,
        typer.Argument(
            help="A task with a model: a name, gymnasium:ID, or module:attribute.", autocompletion=options.tasks
        ),
    ],
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy over aleatoric states, as in 0=slow,1=fast:0.5; may be repeated.")
    ] = None,
    horizon: Annotated[list[float] | None, number(help="A horizon for the distortion; may be repeated.")] = None,
    steps: Annotated[list[int] | None, options.steps("A number of steps for the bounds; may be repeated.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter, as in task.window=6.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="optimum: that alone, where a task is large.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compute exactly what can be earned on a task, how long that takes to tell, and what the theorems promise."""
    from everlearn.cli.theory import theory_and_print

    theory_and_print(task, settings or [], policy or [], horizon or [], steps or [], only, as_json)


@app.command()
def tune(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A TOML file that says what to search.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Where to keep it; what is there already is not repeated.")],
    threads: experiment.Threads = None,
    cluster: experiment.Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Search for good parameters of an agent on tasks; interrupted or killed, the same command goes on."""
    from everlearn.cli.tune import tune_and_print

    tune_and_print(spec, out, threads, cluster, as_json)


@app.command()
def leaderboard(
    out: Annotated[str, typer.Option(metavar="DIR", help="Where to keep it; what is there already is not repeated.")],
    agent: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent of the board, or module:attribute; may be repeated.", autocompletion=options.agents
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="A task of the board; may be repeated.", autocompletion=options.tasks)
    ] = None,
    runs: Annotated[int | None, integer(help="How many independent runs of each agent; 20.", least=1)] = None,
    steps: Annotated[int | None, options.steps("How many steps each run takes; 1e6.")] = None,
    threads: experiment.Threads = None,
    cluster: experiment.Cluster = None,
    as_json: AsJson = False,
) -> None:
    """Run every agent on every task, and say who lost how much; killed, the same command goes on."""
    from everlearn.cli.leaderboard import leaderboard_and_print

    leaderboard_and_print(out, agent or [], task or [], {"runs": runs, "steps": steps}, threads, cluster, as_json)


@app.command()
def serve(
    data: Annotated[str, typer.Option(metavar="DIR", help="Where the agents are kept.")],
    host: Annotated[
        str, typer.Option(help="The address to listen on; other than loopback, with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, integer(help="The port to listen on; 0 for any.")] = 8321,
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file of tokens, one a line; read again on SIGHUP.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name by which requests may call it; may be repeated.")
    ] = None,
    max_agents: Annotated[int | None, integer(help="How many agents there may be; 1000.")] = None,
    max_body: Annotated[int | None, integer(help="Bytes of a request; 1048576.")] = None,
    max_state: Annotated[int | None, integer(help="Bytes of an agent state to import; 67108864.")] = None,
    max_labels: Annotated[int | None, integer(help="Actions or observations of an agent; 10000.")] = None,
    max_states: Annotated[int | None, integer(help="Aleatoric states of an agent; 100000.")] = None,
    max_values: Annotated[int | None, integer(help="States times actions of an agent; 1000000.")] = None,
    max_rows: Annotated[int | None, integer(help="Rows of a table in a setup; 100000.")] = None,
    max_waiting: Annotated[int | None, integer(help="Requests that may wait for the disk; 1024.")] = None,
    max_connections: Annotated[int | None, integer(help="Connections at a time; 1000.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Serve durable agents over HTTP, until SIGTERM or Ctrl-C."""
    from everlearn.cli.serve import serve_until_told

    most = (max_agents, max_body, max_state, max_labels, max_states, max_values, max_rows, max_waiting, max_connections)
    names = ("agents", "body", "state", "labels", "states", "values", "rows", "waiting", "connections")
    limits = dict(zip(names, most, strict=True))
    serve_until_told(data, (host, port), token_file, allow_host or [], limits, log_level)


@app.command()
def play(
    task: Annotated[
        str | None,
        typer.Argument(
            help="The task to begin with: a name, gymnasium:ID, or module:attribute.", autocompletion=options.tasks
        ),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option(help="The agent to begin with: a name, or module:attribute.", autocompletion=options.agents),
    ] = None,
    schedule: Annotated[
        str | None, typer.Option(help="Its schedule: a name, or module:attribute.", autocompletion=options.schedules)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter, as in task.window=6.")
    ] = None,
    port: Annotated[int, integer(help="The port; 0 for any that is free.")] = 8090,
    host: Annotated[str, typer.Option(help="Where to listen; others can reach anything but loopback.")] = "127.0.0.1",
    opened: Annotated[bool, typer.Option("--open/--no-open", help="Whether to open a browser.")] = True,
) -> None:
    """Open a page where you watch an agent learn, and try others; it needs no network."""
    from everlearn.cli.play import play as serve_page

    serve_page(task, agent, schedule, settings or [], (host, port), opened)


@app.command()
def reproduce(
    out: Annotated[str, typer.Option(help="Where to put the figures.")] = "reproduction",
    runs: Annotated[int, integer(help="How many independent runs of each agent.", least=1)] = 200,
    steps: Annotated[int, options.steps("How many steps each run takes.")] = 1_000_000,
    full: Annotated[
        bool, typer.Option("--full", help="Follow the schedule of the theorem for 2e9 steps too, until it improves.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: every figure, the tables behind them, and a report."""
    from everlearn.cli.reproduce import reproduce_and_print

    reproduce_and_print(out, runs, steps, full, as_json)


@app.command()
def claims(as_json: AsJson = False) -> None:
    """Compute every claim of the paper that can be computed, and say of each whether it holds."""
    from everlearn.cli.claims import check_and_print

    check_and_print(as_json)


AgentName = Annotated[str | None, typer.Option(metavar="NAME", help="Which agent, where there are several.")]
Directory = Annotated[str, typer.Argument(metavar="DIR", help="A directory of durable agents.")]


@app.command()
def accept(directory: Directory, agent: AgentName = None, as_json: AsJson = False) -> None:
    """Let a durable agent resume although its task is not what it was; the change is written to its journal."""
    from everlearn.cli.live import accept_and_print

    accept_and_print(directory, agent, as_json)


@app.command()
def backup(
    directory: Directory,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to put the copy; what is there is replaced.")],
    as_json: AsJson = False,
) -> None:
    """Copy a directory of durable agents to a file, while it may be in use, and check the copy."""
    from everlearn.cli.live import backup_and_print

    backup_and_print(directory, file, as_json)


@app.command()
def check(
    directory: Directory,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make a sound file of what can be trusted; the damaged one is kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a directory of durable agents; exits with 1 where something is damaged."""
    from everlearn.cli.live import check_and_print

    check_and_print(directory, repair, as_json)


@app.command()
def journal(
    directory: Directory,
    agent: AgentName = None,
    first: Annotated[int | None, integer("--from", help="The first step.")] = None,
    last: Annotated[int | None, integer("--to", help="The last step.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print what a durable agent did and saw, a line a step; --json gives JSON lines."""
    from everlearn.cli.live import journal_and_print

    journal_and_print(directory, agent, first, last, as_json)


@app.command()
def policy(directory: Directory, agent: AgentName = None, as_json: AsJson = False) -> None:
    """Print the greedy policy of a durable agent, for a controller that must run without it."""
    from everlearn.cli.live import policy_and_print

    policy_and_print(directory, agent, as_json)


@app.command()
def warm(
    directory: Directory,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A log: CSV with a header, or JSON lines (.jsonl).")],
    agent: AgentName = None,
    as_json: AsJson = False,
) -> None:
    """Let a durable agent learn from a log of the past: observation, action and reward."""
    from everlearn.cli.live import warm_and_print

    warm_and_print(directory, file, agent, as_json)
