"""Successive halving: every candidate has a few runs; the worst are dropped, and the rest have more; and so on.

What grows from rung to rung is the number of runs, not their length (Karnin, Koren and Somekh, 2013, for any bandit;
Jamieson and Talwalkar, 2016, stop training early instead).  Learning curves cross: an agent that explores more is
behind after a tenth of the steps and ahead at the end, so that short runs would choose the impatient.  Fewer runs are
merely noisy, and noise is what halving is made for.

Each rung is an experiment of its own, with the runs that are new in it; what is known of a candidate is its runs in all
rungs so far.  The last rung chooses.  Then the final: who was in the last rung, and the default, have fresh runs, on
which nothing is chosen.  The best of many noisy scores is lower than what it stands for; the score in the final is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from everlearn.engine.memory import refuse_beyond_memory
from everlearn.experiments.execute import ROW, Watcher, Workforce, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.variants import variants
from everlearn.protocol import Table
from everlearn.tuning.candidates import FINAL, RUNG, Candidate, candidates, seed_of
from everlearn.tuning.losses import Losses, enter, scales
from everlearn.tuning.scores import score
from everlearn.tuning.spec import TuningSpec


class Rung(NamedTuple):
    """How many candidates there are, how many runs each has had at its end, and how many of these are new."""

    number: int
    candidates: int
    runs: int
    new: int


@dataclass(frozen=True)
class Standing:
    """What is known of a candidate at the end of a rung: its losses, by task, in all its runs so far."""

    candidate: Candidate
    rung: int
    """From 1; 0 is the final."""
    runs: int
    units: Mapping[str, Table]
    kept: bool
    """Whether it went on to the next rung, or from the last to being chosen."""


def rungs(number: int, runs: int, factor: int) -> list[Rung]:
    """Return the rungs for so many candidates: of each, one in ``factor`` goes on, with that many times the runs.

    Examples
    --------
    >>> for rung in rungs(31, runs=4, factor=3):
    ...     print(rung)
    Rung(number=1, candidates=31, runs=4, new=4)
    Rung(number=2, candidates=11, runs=12, new=8)
    Rung(number=3, candidates=4, runs=36, new=24)
    Rung(number=4, candidates=2, runs=108, new=72)

    """
    found = [Rung(1, number, runs, runs)]
    while (left := -(-found[-1].candidates // factor)) > 1:
        before = found[-1]
        found.append(Rung(before.number + 1, left, before.runs * factor, before.runs * (factor - 1)))
    return found


class Tournament:
    """A search under way in a directory."""

    def __init__(self, spec: TuningSpec, path: Path, workforce: Workforce, watcher: Watcher) -> None:
        self.spec, self.path, self.workforce, self.watcher = spec, path, workforce, watcher
        self.scales = scales(spec.experiment)
        self.candidates = candidates(spec)
        self.rungs = rungs(len(self.candidates), spec.experiment.runs, spec.factor)
        most = max(spec.final_runs, *(rung.new for rung in self.rungs))
        refuse_beyond_memory([one.plan for one in variants(replace(spec.experiment, runs=most))], row=ROW)

    def play(self) -> list[Standing]:
        """Return how every candidate stood at the end of every rung, best first, and in the final."""
        running = self.candidates
        default, found, standings = running[0], list[Standing](), list[Standing]()
        losses = {one.label: Losses() for one in running}
        for rung in self.rungs:
            self.watcher.stage(f"rung {rung.number} of {len(self.rungs)}, {rung.candidates} candidates")
            seed = seed_of(self.spec.experiment.seed, RUNG, rung.number)
            self._run(running, self.path / "rungs" / str(rung.number), rung.new, seed, losses)
            standings = self._stand(running, losses, rung.number)
            found += standings
            running = [one.candidate for one in standings if one.kept]
        finalists = [one.candidate for one in standings]
        return found + self._final([default, *(one for one in finalists if one != default)])

    def _final(self, finalists: Sequence[Candidate]) -> list[Standing]:
        self.watcher.stage(f"final, {len(finalists)} candidates")
        losses = {one.label: Losses() for one in finalists}
        seed = seed_of(self.spec.experiment.seed, FINAL)
        self._run(finalists, self.path / "final", self.spec.final_runs, seed, losses)
        return [Standing(one, 0, losses[one.label].runs, losses[one.label].units, kept=False) for one in finalists]

    def _run(
        self, running: Sequence[Candidate], path: Path, runs: int, seed: int, losses: Mapping[str, Losses]
    ) -> None:
        """Do an experiment of candidates, and enter into their losses what each lost."""
        agents = tuple(one.entry(self.spec.agent) for one in running)
        experiment = replace(self.spec.experiment, runs=runs, seed=seed, agents=agents)
        execute(experiment, path, workforce=self.workforce, watcher=self.watcher, gathered=False)
        enter(Experiment(path).recorded, self.scales, losses)

    def _stand(self, running: Sequence[Candidate], losses: Mapping[str, Losses], rung: int) -> list[Standing]:
        """Return how candidates stand, best first; of equals the earlier one."""
        units = {one.label: losses[one.label].units for one in running}
        ranked = sorted(running, key=lambda one: (score(units[one.label], self.spec.objective), one.number))
        going = -(-len(ranked) // self.spec.factor)
        return [
            Standing(one, rung, losses[one.label].runs, units[one.label], kept=place < going)
            for place, one in enumerate(ranked)
        ]
