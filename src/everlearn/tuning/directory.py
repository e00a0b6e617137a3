"""Run a search in a directory, and write its results there.

::

    tuned.toml    the agent with the best settings, for the spec of an experiment
    tried.parquet every candidate at the end of every rung, and in the final, by task
    tried.png     the same as a figure; also tried.svg
    rungs/        one experiment per rung, with the new runs of that rung
    final/        the experiment whose runs were not used to choose

The same search gives the same files to the last byte, except for the manifests and cells of the experiments.
"""

from __future__ import annotations

from pathlib import Path

from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import Watcher
from everlearn.experiments.work import Threads, Workforce
from everlearn.files import refuse_unwritable
from everlearn.locks import working
from everlearn.results.tables import encoded, rows_table
from everlearn.tuning.halving import Tournament
from everlearn.tuning.snippet import snippet
from everlearn.tuning.spec import TuningSpec
from everlearn.tuning.tuned import Tuned


def search(
    spec: TuningSpec, path: str | Path, *, workforce: Workforce | None = None, watcher: Watcher | None = None
) -> Tuned:
    """Run what is missing of a search in a directory, and return its result.

    Call it again to resume after an interruption; the result is the same.
    """
    refuse_unwritable(path)
    directory = Directory(path)
    tournament = Tournament(spec, directory.path, workforce or Threads(), watcher or Watcher())
    with working(directory.path):
        tuned = Tuned(spec, directory.path, tournament.run())
        directory.write("tried.parquet", encoded(rows_table(tuned.tried()), "parquet"))
        directory.write("tuned.toml", snippet(tuned).encode())
        tuned.plot()
    return tuned
