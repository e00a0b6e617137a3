"""Runs of a design on a task: independent, each with its own streams, by the engine that is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from everlearn.engine.plan import Finished, Plan, Progress
from everlearn.engine.reference import ReferenceBatch
from everlearn.engine.table import EAGER, MOST_PAIRS, AnyTable, make_table
from everlearn.errors import CompilationError, InputError

ENGINES = ("auto", "compiled", "reference")


STEPS_WORTH_A_PAIR = 16
"""Steps for each pair expanded beforehand: expanding more than a short run visits would take longer than running it."""


PROBED = 64
"""Pairs that are expanded at least, and for a trial of the compiler: enough to see how many outcomes a row has.

Code is compiled for each number of outcomes, which takes far longer than expanding these pairs."""


def choose_engine(plan: Plan, engine: str, table: AnyTable | None = None) -> str:
    """Return the engine that will do the work; with ``auto`` the compiled one where it can.

    ``table`` is that of the task, where it was made already.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> choose_engine(Plan(make_task("service-station"), make_design("always"), 100, 1, 0), "auto")
    'compiled'

    """
    if engine not in ENGINES:
        raise InputError("engine", engine, f"give one of {', '.join(ENGINES)}")
    if plan.task.model is None:
        if engine == "compiled":
            raise InputError("engine", engine, f"the task {plan.task.name!r} has no model; give auto or reference")
        return "reference"
    if engine == "reference":
        return engine
    try:
        _try_compiling(plan, make_table(plan.task, eager=PROBED) if table is None else table)
    except CompilationError as error:
        if engine == "compiled":
            raise
        warnings.warn(f"{error}; running in the reference loop, which is slower", stacklevel=2)
        return "reference"
    return "compiled"


def _try_compiling(plan: Plan, table: AnyTable) -> None:
    """Compile the design's functions for this task, by a run of one step."""
    from numba.core.errors import NumbaError

    from everlearn.engine.compiled import simulate_compiled

    try:
        for _ in simulate_compiled(Plan(plan.task, plan.design, 1, 1, 0), table, threads=1):
            pass
    except NumbaError as error:
        raise CompilationError(f"the agent {plan.design.name!r} cannot be compiled: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what tells a user most in Numba's message, which goes from the outermost call to the innermost."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    openings = ("Unknown", "No implementation", "Cannot", "Use of", "Invalid", "Untyped", "NameError")
    innermost = max((place for place, line in enumerate(lines) if line.startswith(openings)), default=0)
    where = next((line.rstrip(":") for line in lines[innermost:] if line.startswith("File ")), "")
    return f"{lines[innermost]} ({where})" if where else lines[innermost]


def simulate(
    plan: Plan,
    engine: str = "auto",
    *,
    threads: int | None = None,
    max_pairs: int = MOST_PAIRS,
    progress: Progress | None = None,
    expanded: Callable[[int], None] | None = None,
) -> Iterator[Finished]:
    """Do the runs of a plan, and yield each when it is finished.

    ``expanded`` is called at the end with the number of pairs that the compiled engine expanded.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> plan = Plan(make_task("service-station"), make_design("always", {"policy": "fast"}), 100, 2, 1)
    >>> [float(finished.total_reward[-1]) for finished in simulate(plan)]
    [50.5, 50.5]

    """
    if choose_engine(plan, engine) == "compiled":
        from everlearn.engine.compiled import simulate_compiled

        eager = max(PROBED, plan.steps * plan.runs // STEPS_WORTH_A_PAIR)
        table = make_table(plan.task, max_pairs, eager=min(EAGER, eager))
        yield from simulate_compiled(plan, table, threads=threads, progress=progress)
        if expanded is not None:
            expanded(table.expanded)
    else:
        for run in range(plan.runs):
            batch = ReferenceBatch(plan, [run])
            for _ in batch.advance(progress=progress):
                pass
            yield from batch.finished()
