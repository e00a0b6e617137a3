"""Run the benchmarks, all or those that are named, and print a table of each: ``python -m benchmarks [NAME...]``."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table

from benchmarks.agents import by_the_thousand
from benchmarks.checking import checked
from benchmarks.designs import by_design
from benchmarks.engine import against_c
from benchmarks.experiments import durability
from benchmarks.live import durable
from benchmarks.networks import by_network
from benchmarks.play import looking
from benchmarks.queues import by_regime
from benchmarks.replay import replayed
from benchmarks.rivals import against_package
from benchmarks.service import over_http
from benchmarks.shards import by_shards
from benchmarks.size import by_size
from benchmarks.start import waiting
from benchmarks.steps import interpreted
from benchmarks.theory import growth
from benchmarks.travelling import sizing

BENCHMARKS = {
    "engine": ("The compiled engine compared with a C program, same results, best of five rounds", against_c),
    "size": (
        "Cost per step against the number of aleatoric states, one core, 32 runs (plot: build/benchmarks)",
        by_size,
    ),
    "designs": ("Every agent, compiled against interpreted, one core", by_design),
    "rivals": ("Agents with a model on RiverSwim, 10,000 steps, against statisticalrl_learners", against_package),
    "checking": ("The cost of checking a user's own agent, one core, best of four rounds", checked),
    "networks": (
        "Queueing networks, the paper's agent on one core, 8 runs; exact optima up to 1e5 memories",
        by_network,
    ),
    "queues": ("The criss-cross network under MaxWeight, unbounded, one core, 8 runs; certified optima", by_regime),
    "experiments": ("The paper's experiment over 1.5e7 steps, 200 runs of three agents, start to tables", durability),
    "cluster": ("The overhead of a leg of a cluster, the paper's agent on the station, two workers here", sizing),
    "steps": ("A step of an agent without compilation, median of 3,000 after 5,000", interpreted),
    "live": ("A durable agent: speed, recovery and memory", durable),
    "replay": ("A what-if replay of a journal of 1e6 rows, compiled against interpreted, one core", replayed),
    "service": ("Over HTTP against a bare endpoint that does the same commit, and 64 agents against one", over_http),
    "shards": ("Over HTTP with one shard and with two: processor time per step, front included", by_shards),
    "agents": ("10,000 agents of ten values in one service", by_the_thousand),
    "theory": ("Exact computation, one core", growth),
    "play": ("The page in Chromium, the paper's agent on the station at full speed; medians of five rounds", looking),
    "start": ("How long a user waits", waiting),
}


def main() -> None:
    """Run the benchmarks that are named, or all."""
    screen = Console(width=140)
    for name in sys.argv[1:] or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"benchmarks: {name!r}; known: {', '.join(BENCHMARKS)}")
        title, measure = BENCHMARKS[name]
        screen.print(tabulated(title, measure()))


def tabulated(title: str, rows: list[dict[str, str]]) -> Table:
    """Return rows as a table."""
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column, justify="left" if column == next(iter(rows[0])) else "right")
    for row in rows:
        table.add_row(*row.values())
    return table


if __name__ == "__main__":
    main()
