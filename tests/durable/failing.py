"""An agent state from which a built-in design cannot learn, and a directory whose agent has been given it."""

from __future__ import annotations

from pathlib import Path

from everlearn.agents.snapshot import pack, unpack
from everlearn.durable.core import Core
from everlearn.durable.entry import Kind
from everlearn.durable.setup import make_setup
from everlearn.durable.store import Store
from everlearn.errors import Failed
from tests.durable.worlds import seen


def spoilt(state: bytes) -> bytes:
    """Return an agent state with counts below zero, whose roots there are not."""
    good, identity = unpack(state, "good")
    return pack(good._replace(epistemic={name: array * 0 - 5 for name, array in good.epistemic.items()}), identity)


def observe(store: Store, core: Core, fails: bool = False) -> None:
    """Write an observation down, and learn from it then, as the service does."""
    entry = core.prepare(seen(core.next_step, str(core.act())))
    store.append([(core.number, entry)])
    try:
        core.apply(entry)
    except Failed:
        assert fails
    else:
        assert not fails


def failing_directory(directory: Path, *names: str) -> None:
    """Make agents of three steps; from a fourth, which is on disk, the first of them cannot learn."""
    with Store(directory) as store:
        for name in names:
            core = store.create(name, make_setup(task="service-station", schedule="smooth", seed=1))
            for _ in range(3):
                observe(store, core)
            store.append([], [core])
            if name == names[0]:
                entry = core.entry(Kind.IMPORT, core.step, payload=spoilt(core.export_state()))
                store.append([(core.number, entry)])
                core.apply(entry)
                observe(store, core, fails=True)
