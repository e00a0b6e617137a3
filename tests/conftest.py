"""What all tests share: hypothesis, one cache of compiled code, one process that forks, and the order of files."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.boundary.runner import Runner

ROOT = Path(__file__).parents[1]

SLOWEST = (
    "tests/engine/test_checkpoint.py",
    "tests/page/test_layout.py",
    "tests/boundary/test_mistakes.py",
    "tests/test_documents.py",
    "tests/paper/test_reproduce.py",
    "tests/conformance/test_engines.py",
    "tests/engine/test_compiled.py",
    "tests/conformance/test_agents.py",
    "tests/experiments/test_execute.py",
    "tests/engine/test_guarded.py",
    "tests/conformance/test_tasks.py",
    "tests/adapters/test_task.py",
    "tests/leaderboard/test_board.py",
    "tests/engine/test_compiling.py",
    "tests/page/test_export.py",
    "tests/durable/test_changes.py",
    "tests/conformance/test_resume.py",
    "tests/cluster/test_cluster.py",
    "tests/cli/test_experiment.py",
    "tests/service/test_operation.py",
    "tests/paper/test_claims.py",
    "tests/test_examples.py",
)
"""Files that take ten seconds or more, the first of them longest; they are begun first, so that none is left over.

The first compiles agents that others then find in the cache."""

LONG_EXAMPLES = (
    "everlearn.agents.frozen.freeze",
    "everlearn.agents.learned.learned",
    "everlearn.analysis.diagnosis.diagnose",
    "everlearn.leaderboard.board.Board",
    "everlearn.tables.PairTable",
    "everlearn.tasks.inventory.inventory",
    "everlearn.theory.frontier.Frontier",
    "everlearn.theory.known.Known",
    "everlearn.theory.network.network_optimum",
)
"""Examples in docstrings that take one to ten seconds, and are left to the soak."""

INSTALLED = (sys.prefix, sys.base_prefix)
"""Where Python's own modules and those of packages are."""

# Nothing that is collected is garbage; pytest_collection_finish lets the collector run again.
gc.disable()
settings.register_profile("everlearn", max_examples=25, deadline=None, derandomize=True, database=None)
settings.register_profile("soak", settings.get_profile("everlearn"), max_examples=200)
settings.load_profile("everlearn")
# One cache for all workers and all processes that they start; it is kept, since what was edited is never served stale.
os.environ.setdefault("EVERLEARN_CACHE_DIR", str(ROOT / "build" / "cache"))
# Threads of OpenBLAS wait for each other at full speed: with two workers on two cores that took twenty times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Let laws be tried with more examples in the soak, unless they say how many themselves."""
    if config.option.markexpr == "soak":
        settings.load_profile("soak")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the slowest files first; leave the longest examples to the soak, which has every law of hypothesis, too."""
    for item in items:
        if item.name in LONG_EXAMPLES:
            item.add_marker(pytest.mark.soak)
    for item in items if config.option.markexpr == "soak" else ():
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.soak)
    if gone := [name for name in SLOWEST if not (ROOT / name).exists()]:
        raise pytest.UsageError(f"tests/conftest.py lists {', '.join(gone)}, which there is not")
    order = {ROOT / name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))


def pytest_collection_finish() -> None:
    """Collect garbage seldom, and never look at the thousands of collected tests: that was a fifth of all the time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Give the collected tests back, so that modules of others can say at the end what they really lost."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    """One process that forks, for all tests of a worker; it is started where one needs it."""
    with Runner() as made:
        yield made


@pytest.fixture
def interpreted() -> Iterator[None]:
    """Let the reference engine run what says nothing of engines."""
    from tests.interpreted import interpreting

    with interpreting():
        yield


@pytest.fixture(autouse=True)
def _forgotten_modules() -> Iterator[None]:
    """Forget what a test imported from a folder of its own, since another test may give the name to another module."""
    yield
    if (len(sys.modules), next(reversed(sys.modules))) == (len(_KNOWN), _KNOWN and next(reversed(_KNOWN))):
        return  # nothing was imported, which is so after most tests
    for name in [name for name in sys.modules if name not in _KNOWN]:
        file = getattr(sys.modules[name], "__file__", None)
        if file is not None and not Path(file).is_relative_to(ROOT) and not file.startswith(INSTALLED):
            del sys.modules[name]
    _KNOWN.clear()
    _KNOWN.update(dict.fromkeys(sys.modules))


_KNOWN: dict[str, None] = {}
"""The modules after the last test, in the order in which they were imported."""
