"""Choose the engine for a plan, and run it."""

from __future__ import annotations

import warnings

from everlearn.agents.design import Design
from everlearn.agents.guard import Guard, build_knowledge
from everlearn.engine.curves import Curves, concatenate
from everlearn.engine.plan import Finished, Plan, Progress
from everlearn.engine.reference import ReferenceBatch
from everlearn.errors import AgentError, CompilationError, EverlearnError, InputError
from everlearn.notices import Notice
from everlearn.tables import EAGER, MOST_PAIRS, AnyTable, make_table

ENGINES = ("auto", "compiled", "reference")

STEPS_PER_PAIR = 16
"""Expand one pair beforehand per this many steps: expanding more than a short run visits would take too long."""

LEAST_EXPANDED = 64
"""Expand at least this many pairs beforehand, which is enough to see how many outcomes a row has.

Code is compiled for each number of outcomes, and that takes far longer than expanding these pairs."""

TRIED, TRIAL_SECONDS = 128, 0.5
"""Try a user's design in both engines for this many steps, and for about this many seconds at most."""


def table_for(plan: Plan, engine: str = "auto", max_pairs: int = MOST_PAIRS) -> AnyTable | None:
    """Return the table with which the compiled engine runs a plan, or None if the reference engine runs it."""
    table = None
    if engine != "reference" and plan.task.model is not None:
        eager = max(LEAST_EXPANDED, plan.steps * plan.runs // STEPS_PER_PAIR)
        table = make_table(plan.task, max_pairs, min(EAGER, eager))
    return table if choose_engine(plan, engine, table) == "compiled" else None


def choose_engine(plan: Plan, engine: str, table: AnyTable | None) -> str:
    """Return the engine that will run a plan, given the table of its task (None for a task without a model).

    With ``auto`` it is the compiled engine, unless the agent cannot be compiled.
    """
    if engine not in ENGINES:
        raise InputError("engine", engine, f"give one of {', '.join(ENGINES)}")
    if table is None:
        if engine == "compiled":
            raise InputError("engine", engine, f"the task {plan.task.name!r} has no model; give auto or reference")
        return "reference"
    if engine == "reference":
        return engine
    try:
        _try_compiling(plan, table)
    except CompilationError as error:
        if engine == "compiled":
            raise
        warnings.warn(ReferenceWarning(error), stacklevel=2)
        return "reference"
    return "compiled"


def _try_compiling(plan: Plan, table: AnyTable) -> None:
    """Compile a design for a task by a run of one step; try a user's design in both engines."""
    from numba.core.errors import NumbaError

    from everlearn.engine.compiled import simulate_compiled

    try:
        if plan.design.own:
            _try_own(plan, table)
        else:
            simulate_compiled(Plan(plan.task, plan.design, 1, 1, 0), table, threads=1)
    except EverlearnError:
        raise
    except Exception as error:
        if not (plan.design.own or isinstance(error, NumbaError)):
            raise
        raise _not_compiled(plan.design, _reason(error)) from error


class ReferenceWarning(Notice):
    """An agent cannot be compiled, and runs in the reference engine: ``agent`` is its name, and ``error`` says why."""

    def __init__(self, error: CompilationError) -> None:
        self.error, self.agent = error, error.agent
        super().__init__(f"{error}; running in the reference engine, which is slower")


def _not_compiled(design: Design, reason: str) -> CompilationError:
    return CompilationError(f"the agent {design.name!r} cannot be compiled: {reason}", design.name)


def _try_own(plan: Plan, table: AnyTable) -> None:
    """Take the first steps of the first run of a user's design in both engines, and raise if they differ.

    This finds most mistakes before anything is compiled.  It also finds what the checks of the source cannot see: a
    function that depends on more than its arguments, or behaves differently when it is compiled.
    """
    from everlearn.engine.compiled import CompiledBatch
    from everlearn.engine.copies import unsafe
    from everlearn.engine.guarded import check_agreement, difference, interpret
    from everlearn.engine.timeline import Timeline

    design = plan.design
    trial = Plan(plan.task, design, min(plan.steps, TRIED), 1, plan.seed)
    if difference(*(build_knowledge(design, table.indexed) for _ in range(2))) is not None:
        problem = "build returned something else when it was called again; it must be repeatable"
        raise AgentError(design.name, problem, function="build")
    batch = CompiledBatch(trial, table, [0], 1)
    group, guard = batch.groups[0], Guard(design, table.indexed)
    block = Timeline(design.schedule).next(trial.steps)
    first = interpret(batch, group, 0, block, (0, trial.steps), guard, TRIAL_SECONDS)
    again = interpret(batch, group, 0, block, (0, first.steps), guard)
    if first[2:] != again[2:] or difference(first.knowledge, again.knowledge) is not None:
        problem = f"in {first.steps} steps it did something else when it was run again with the same seed"
        raise AgentError(design.name, f"{problem}; its functions must depend on their arguments alone")
    if (reason := unsafe(design.act, design.learn)) is not None:
        raise _not_compiled(design, reason)
    check_agreement(batch, group, block, first, guard)


EXCEPT = "Cannot compile an 'except' of one kind of exception; write 'except Exception', or check before"
"""What Numba says of an ``except`` that names an exception, in other words."""


def _reason(error: Exception) -> str:
    """Return the most helpful line of Numba's message, which goes from the outermost call to the innermost."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [EXCEPT if "exception_match" in line and line.startswith("No impl") else line for line in lines]
    openings = ("Unknown", "No implementation", "Cannot", "Use of", "Invalid", "Untyped", "NameError")
    innermost = max((place for place, line in enumerate(lines) if line.startswith(openings)), default=0)
    where = next((line.rstrip(":") for line in lines[innermost:] if line.startswith("File ")), "")
    return f"{lines[innermost]} ({where})" if where else lines[innermost]


def simulate(
    plan: Plan,
    table: AnyTable | None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    finished: Finished | None = None,
) -> Curves:
    """Run a plan with the table that :func:`table_for` returned, and return the curves of all runs.

    ``finished`` is called with what the first run knows at its end.

    Examples
    --------
    >>> from everlearn.agents.registry import make_design
    >>> from everlearn.tasks.registry import make_task
    >>> plan = Plan(make_task("service-station"), make_design("always", {"policy": "fast"}), 100, 2, 1)
    >>> simulate(plan, table_for(plan)).total_reward[:, -1].tolist()
    [50.5, 50.5]

    """
    if table is not None:
        from everlearn.engine.compiled import simulate_compiled

        return simulate_compiled(plan, table, threads=threads, progress=progress, finished=finished)
    parts = []
    for run in range(plan.runs):
        batch = ReferenceBatch(plan, [run])
        for _ in batch.advance(progress=progress):
            pass
        parts.append(batch.curves)
        if run == 0 and finished is not None:
            finished(batch.agents[0].knowledge)
    return concatenate(parts)
