"""Doing a search in a directory, and leaving there what it found.

::

    tuned.toml    the agent with the best settings, for the spec of an experiment
    tried.parquet every candidate at the end of every rung, and in the final, by task
    tried.png     the same as a picture, and tried.svg
    rungs/        an experiment for each rung, with the runs that are new in it
    final/        the experiment on whose runs nothing was chosen

All of it but the experiments' manifests is the same to the last byte when the search is.
"""

from __future__ import annotations

from pathlib import Path

from everlearn.experiments.directory import Directory
from everlearn.experiments.execute import Threads, Watcher, Workforce
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
    """Do what is missing of a search in a directory, and return what it found.

    Killed at any moment and called again, it goes on where it was, and finds the same.
    """
    refuse_unwritable(path)
    directory = Directory(path)
    tournament = Tournament(spec, directory.path, workforce or Threads(), watcher or Watcher())
    with working(directory.path):
        tuned = Tuned(spec, directory.path, tournament.play())
        directory.write("tried.parquet", encoded(rows_table(tuned.tried()), "parquet"))
        directory.write("tuned.toml", snippet(tuned).encode())
        tuned.plot()
    return tuned
