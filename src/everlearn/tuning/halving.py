"""Successive halving: run every candidate a few times, drop the worst, run the others more often, and so on.

The number of runs grows from rung to rung, not their length (Karnin, Koren and Somekh, 2013, for any bandit; Jamieson
and Talwalkar, 2016, stop training early instead).  Learning curves cross: an agent that explores more is behind after a
tenth of the steps and ahead at the end, so short runs would favour agents that explore too little.  Few runs are only
noisy, and halving is made for noise.

Each rung is an experiment with the new runs of that rung.  A candidate is judged by its runs in all rungs so far, and
the last rung chooses.  In the final, the candidates of the last rung and the default have fresh runs, which are not
used to choose.  The lowest of many noisy losses is biased downwards; the loss in the final is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from everlearn.engine.memory import refuse_beyond_memory
from everlearn.experiments.execute import ROW, Watcher, execute
from everlearn.experiments.experiment import Experiment
from everlearn.experiments.variants import make_variants
from everlearn.experiments.work import Workforce
from everlearn.protocol import Table
from everlearn.tuning.candidates import FINAL, RUNG, Candidate, derive_seed, draw_candidates
from everlearn.tuning.scores import Losses, add_losses, rewards_by_task, score
from everlearn.tuning.spec import TuningSpec


class Rung(NamedTuple):
    """The number of candidates, the runs that each has had at the end of the rung, and how many of these are new."""

    number: int
    candidates: int
    runs: int
    new: int


@dataclass(frozen=True)
class Standing:
    """The losses of a candidate at the end of a rung, by task, in all its runs so far."""

    candidate: Candidate
    rung: int
    """The number of the rung, from 1; 0 is the final."""
    runs: int
    units: Mapping[str, Table]
    kept: bool
    """Whether it was kept for the next rung; in the last rung, whether it was chosen."""


def rungs(number: int, runs: int, factor: int) -> list[Rung]:
    """Return the rungs for a number of candidates: one in ``factor`` is kept, with ``factor`` times as many runs.

    Examples
    --------
    >>> for rung in rungs(31, runs=4, factor=3):
    ...     print(rung)
    Rung(number=1, candidates=31, runs=4, new=4)
    Rung(number=2, candidates=11, runs=12, new=8)
    Rung(number=3, candidates=4, runs=36, new=24)
    Rung(number=4, candidates=2, runs=108, new=72)

    """
    planned = [Rung(1, number, runs, runs)]
    while (kept := -(-planned[-1].candidates // factor)) > 1:
        last = planned[-1]
        planned.append(Rung(last.number + 1, kept, last.runs * factor, last.runs * (factor - 1)))
    return planned


class Tournament:
    """A search that is running in a directory."""

    def __init__(self, spec: TuningSpec, path: Path, workforce: Workforce, watcher: Watcher) -> None:
        self.spec, self.path, self.workforce, self.watcher = spec, path, workforce, watcher
        self.rewards = rewards_by_task(spec.experiment)
        self.candidates = draw_candidates(spec)
        self.rungs = rungs(len(self.candidates), spec.experiment.runs, spec.factor)
        most = max(spec.final_runs, *(rung.new for rung in self.rungs))
        largest = make_variants(replace(spec.experiment, runs=most))
        refuse_beyond_memory([variant.plan for variant in largest], row=ROW)

    def run(self) -> list[Standing]:
        """Return the standings of every candidate at the end of every rung, best first, and in the final."""
        candidates, default = self.candidates, self.candidates[0]
        finished, standings = list[Standing](), list[Standing]()
        losses = {candidate.label: Losses() for candidate in candidates}
        for rung in self.rungs:
            self.watcher.stage(f"rung {rung.number} of {len(self.rungs)}, {rung.candidates} candidates")
            seed = derive_seed(self.spec.experiment.seed, RUNG, rung.number)
            self._run(candidates, self.path / "rungs" / str(rung.number), rung.new, seed, losses)
            standings = self._rank(candidates, losses, rung.number)
            finished += standings
            candidates = [standing.candidate for standing in standings if standing.kept]
        others = [standing.candidate for standing in standings if standing.candidate != default]
        return finished + self._run_final([default, *others])

    def _run_final(self, finalists: Sequence[Candidate]) -> list[Standing]:
        self.watcher.stage(f"final, {len(finalists)} candidates")
        losses = {candidate.label: Losses() for candidate in finalists}
        seed = derive_seed(self.spec.experiment.seed, FINAL)
        self._run(finalists, self.path / "final", self.spec.final_runs, seed, losses)
        return [_standing(candidate, 0, losses[candidate.label], kept=False) for candidate in finalists]

    def _run(
        self, candidates: Sequence[Candidate], path: Path, runs: int, seed: int, losses: Mapping[str, Losses]
    ) -> None:
        """Run an experiment with the candidates, and add what each lost to its losses."""
        agents = tuple(candidate.entry(self.spec.agent) for candidate in candidates)
        experiment = replace(self.spec.experiment, runs=runs, seed=seed, agents=agents)
        execute(experiment, path, workforce=self.workforce, watcher=self.watcher, gathered=False)
        add_losses(Experiment(path).recorded, self.rewards, losses)

    def _rank(self, candidates: Sequence[Candidate], losses: Mapping[str, Losses], rung: int) -> list[Standing]:
        """Return the standings, best first; of equal candidates, the one with the lower number first."""
        scores = {each.label: score(losses[each.label].units, self.spec.objective) for each in candidates}
        ranked = sorted(candidates, key=lambda candidate: (scores[candidate.label], candidate.number))
        kept = -(-len(ranked) // self.spec.factor)
        return [
            _standing(candidate, rung, losses[candidate.label], kept=place < kept)
            for place, candidate in enumerate(ranked)
        ]


def _standing(candidate: Candidate, rung: int, losses: Losses, *, kept: bool) -> Standing:
    return Standing(candidate, rung, losses.runs, losses.units, kept)
