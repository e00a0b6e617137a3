"""Any interleaving of clients that repeat themselves equals the agent that was told once, in order."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import everlearn as el
from everlearn.errors import Conflict
from everlearn.service import operations
from everlearn.service.loading import LoadingCommitter, load
from everlearn.service.metrics import Metrics
from everlearn.service.models import ActIn, ObserveIn, StepIn
from everlearn.service.settings import Limits
from everlearn.service.setups import remote_setup
from tests.laws import law
from tests.memory import place
from tests.service.conftest import STATION

NAMES = ("a", "b", "c")
OBSERVATIONS = ("arrival", "departure", "nothing")


stories = st.lists(st.sampled_from(OBSERVATIONS), min_size=1, max_size=12)
calls = st.tuples(st.sampled_from(NAMES), st.integers(0, 14), st.sampled_from(["act", "observe", "step"]))


@law(
    6,
    told=st.fixed_dictionaries(dict.fromkeys(NAMES, stories)),
    order=st.lists(calls, max_size=80),
    ordered=st.booleans(),
)
def test_interleavings_equal_the_serial_agent(told, order, ordered):
    with tempfile.TemporaryDirectory(dir=place()) as folder:
        interleave(Path(folder), told, order, ordered)


def interleave(directory: Path, told, order, ordered) -> None:
    """Play what was drawn, and compare every agent with one that was told once, in order."""
    committer = LoadingCommitter(directory, Limits(), Metrics())
    committer.start()
    try:
        answers = asyncio.run(play(committer, told, order, ordered))
    finally:
        committer.close()
    check_answers(answers)
    for number, name in enumerate(NAMES):
        core = load(directory, name).core
        twin = el.Agent("service-station", schedule="smooth", seed=number)
        for observation in told[name]:
            twin.act()
            twin.observe(observation)
        twin.act()
        core.act()
        assert core.step == len(told[name])
        assert core.export_state() == twin.to_bytes()


async def play(committer, told, order, ordered) -> list[tuple[Any, ...]]:
    """Send what was drawn, all at once or one after another, whether it is due or not; then the rest in order."""
    for number, name in enumerate(NAMES):
        setup = remote_setup({**STATION, "seed": number, "snapshot_every": 4}, Limits())
        await committer.do(name, lambda agents, name=name, setup=setup: agents.create(name, setup))
    if ordered:
        answers = [await send(committer, told, *call) for call in order]
    else:
        answers = list(await asyncio.gather(*(send(committer, told, *call) for call in order)))
    rest = [(name, step, "step") for name in NAMES for step in range(1, len(told[name]) + 1)]
    return answers + [await send(committer, told, *call) for call in rest]


async def send(committer, told, name: str, step: int, what: str) -> tuple[Any, ...]:
    if what == "act":
        body: Any = ActIn(allowed=None)
    elif not 1 <= step <= len(told[name]):
        return name, step, what, None
    else:
        body = (StepIn if what == "step" else ObserveIn)(step=step, observation=told[name][step - 1])
    work = getattr(operations, what)
    try:
        return name, step, what, await committer.do(name, lambda agents: work(agents, name, body))
    except Conflict as error:
        return name, step, what, error


def check_answers(answers) -> None:
    """The same request was always answered the same; and so was the question for the action of a step."""
    seen: dict[tuple[Any, ...], Any] = {}
    for name, step, what, answer in answers:
        if isinstance(answer, Conflict):  # it was not due yet; what is recorded is never contradicted here
            assert answer.expected < step
            assert answer.recorded is None
        if answer is None or isinstance(answer, Conflict):
            continue
        asked = [answer] if what == "act" else [answer["next"]] if what == "step" else []
        for one in asked:
            assert seen.setdefault((name, one["step"], "act"), one) == one
        if what != "act":
            content = {key: answer[key] for key in ("step", "observation", "executed", "reward", "state")}
            assert seen.setdefault((name, step, "content"), content) == content
