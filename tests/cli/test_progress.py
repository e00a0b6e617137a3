"""Progress on a terminal: what is being done, how far it is, from one stage to the next."""

from __future__ import annotations

import io

from rich.console import Console
from rich.progress import Progress

from everlearn.cli.progress import Bar


def test_a_stage_begins_anew_under_its_name():
    progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))
    bar = Bar(progress, "search")
    bar.begin(cells=2, done=0, steps=100, steps_done=0)
    bar.steps(100)
    bar.cell()
    bar.cell()
    (task,) = progress.tasks
    assert (task.description, task.fields["cells"], task.completed) == ("search", "2/2 cells", 100)
    bar.stage("rung 2 of 3")
    assert task.fields["cells"] == "preparing"
    bar.begin(cells=5, done=1, steps=1000, steps_done=200)
    assert (task.description, task.fields["cells"]) == ("rung 2 of 3", "1/5 cells")
    assert (task.total, task.completed, task.finished) == (1000, 200, False)
