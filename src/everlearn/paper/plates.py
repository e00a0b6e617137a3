"""The figures of the reproduction, each with the table behind it and a caption that says what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.analysis.statistics import bands
from everlearn.environments.service_station import ServiceStation
from everlearn.experiments.experiment import Experiment
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.paper import appendix_b
from everlearn.paper.appendix_d import Example
from everlearn.paper.claims.bounds import coins_bound
from everlearn.paper.claims.station import exact_average
from everlearn.paper.claims.worlds import coins
from everlearn.paper.drawing import draw_curves, draw_runs, written_kinds
from everlearn.paper.experiments import BASELINES, SLOW, SMOOTH, THEOREM
from everlearn.results.arm import Arm
from everlearn.tasks.aggregation import Aggregation
from everlearn.tasks.registry import make_task
from everlearn.theory.bounds import growing_horizon_regret, says_something_from
from everlearn.theory.places import place_of
from everlearn.theory.report import Theory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS, NEAR_ONE = 21, (0.92, 0.94, 0.96, 0.97, 0.98, 0.985, 0.99, 0.993, 0.996, 0.998, 0.999)
"""The values of epsilon at which averages are computed exactly: so many evenly spaced, and more where they rise."""

STATION_LIMITS, APPENDIX_D_LIMITS = (0.0, 0.55), (-0.05, 0.55)
"""The average rewards that are drawn."""


@dataclass(frozen=True)
class Plate:
    """A figure with its file name, the paper's label, a title, a caption, and the rows of the table behind it."""

    name: str
    label: str
    title: str
    sentence: str
    figure: Figure
    rows: list[dict[str, Any]]


def arrival_probability() -> Plate:
    """Draw the arrival probability against the longest recent service time (Figure 7)."""
    chances = {w: ServiceStation().arrival_probability(w) for w in range(1, 11)}
    with _axes() as (figure, axes):
        axes.plot(list(chances), list(chances.values()), "o", color=PALETTE[0])
        axes.set(xlabel="longest service among the last 12 customers", ylabel="arrival probability", ylim=(0, 1.05))
        axes.set_title("How reputation brings customers")
        axes.set_xticks(list(chances))
    sentence = (
        "While every recent service took one step, the next customer comes for certain; one service of two "
        f"steps or more among the last dozen brings that down to {chances[2]:.5f}, and worse hardly matters."
    )
    rows = [{"longest_service": w, "arrival_probability": chance} for w, chance in chances.items()]
    return Plate("arrival-probability", "fig:arrival_prob", "Reputation", sentence, figure, rows)


def agent_comparison(station: Experiment) -> Plate:
    """Draw the agent and the baselines (Figure 5)."""
    arms = _arms(station, [SMOOTH, SLOW, *BASELINES.values()])
    ends, exact = _ends(arms), exact_average(0.0)
    sentence = (
        f"After {int(arms[0].times[-1]):,} steps optimistic Q-learning has earned {ends[SMOOTH]:.3f} per step on "
        f"average, where 0.5 is possible and always slow earns {exact:.4f}; the baselines have earned "
        f"{', '.join(f'{ends[label]:.3f}' for label in BASELINES.values())}. None of them sees that fast "
        "service would bring the customers back. The bands are 95% intervals for the mean."
    )
    drawn = {"optimistic Q-learning,\nsmooth schedule": arms[0], **{arm.agent: arm for arm in arms[2:]}}
    with _axes() as (figure, axes):
        draw_curves(axes, drawn, {"optimum": 0.5, "always slow, exact": exact}, STATION_LIMITS)
        axes.set_title(f"The service station, means over {arms[0].units:,} runs")
    label = "fig:agent-comparison"
    return Plate("agent-comparison", label, "The agent and the baselines", sentence, figure, _curves(arms))


def better_schedules(station: Experiment, long: Experiment | None) -> Plate:
    """Draw the smooth schedule against that of the theorem (Figure 6)."""
    arms = _arms(station, [SMOOTH, THEOREM])
    ends, finals = _ends(arms), arms[1].average_reward[:, -1]
    sentence = (
        f"With the smooth schedule the agent has earned {ends[SMOOTH]:.3f} per step, with that of the theorem "
        f"{ends[THEOREM]:.3f} ({written_kinds(finals)}): there hardly any value has left its clip, and a run chooses "
        "at random among equal values unless it has locked into one action early. "
    )
    if long is None:
        sentence += "That it eventually improves takes until step 671,088,640; --full follows it there."
    else:
        late = long.arms[0]
        arms = [*arms, late]
        mean = late.average_reward.mean(axis=0)[late.times >= late.times[-1] // 4]
        sentence += (
            f"Followed for {int(late.times[-1]):,} steps it improves, as the paper says without a figure: at "
            "the change point at 671,088,640 values have come down far enough, and the mean over runs of its "
            f"average goes from {mean[0]:.3f} to {mean.max():.3f}, and down again at the next change point, "
            "where it forgets."
        )
    names = ("smooth", "change points", f"change points,\n{arms[-1].units} longer runs")
    drawn = dict(zip(names, arms, strict=False))
    with _axes(9.6, 4.4, (3, 1)) as (figure, (left, right)):
        draw_curves(left, drawn, {"optimum": 0.5, "always slow, exact": exact_average(0.0)}, STATION_LIMITS)
        left.set_title(f"The service station, means over {arms[0].units:,} runs")
        draw_runs(right, dict(list(drawn.items())[:2]), PALETTE[:2], STATION_LIMITS)
        right.set_title(f"at step {int(arms[0].times[-1]):,}")
    return Plate("better-schedules", "fig:better-schedules", "Two schedules", sentence, figure, _curves(arms))


def appendix_b_plate() -> Plate:
    """Draw the average reward of pi_epsilon: closed form, exact, and the expansions of the baselines (Appendix B)."""
    grid = np.union1d(np.linspace(0, 1, POINTS), NEAR_ONE)
    zero, slope = float(appendix_b.closed_form_average(0.0)), appendix_b.closed_form_derivative()
    bend = appendix_b.closed_form_half_second_derivative()
    rows = [
        {
            "epsilon": epsilon,
            "exact": exact_average(epsilon),
            "closed_form": float(appendix_b.closed_form_average(epsilon)),
            "first_order": zero + slope * epsilon,
            "second_order": zero + slope * epsilon + bend * epsilon**2,
        }
        for epsilon in grid.tolist()
    ]
    curves = {
        "exact": ("-o", "exact average reward"),
        "closed_form": ("--s", "the paper's closed form"),
        "first_order": (":^", "first-order expansion of the closed form"),
        "second_order": ("-.D", "second-order expansion of the closed form"),
    }
    with _axes() as (figure, axes):
        for (key, (look, name)), colour in zip(curves.items(), PALETTE, strict=False):
            axes.plot(grid, [row[key] for row in rows], look, markersize=3, color=colour, label=name)
        axes.set(xlabel="probability of fast service while a customer is there", ylabel="average reward")
        axes.set_title("Average reward against the probability of fast service")
        axes.legend(loc="upper left")
    half = rows[POINTS // 2]
    sentence = (
        f"The average reward falls from {rows[0]['exact']:.4f} before it rises to {rows[-1]['exact']:.1f}, so "
        "that neither a derivative at 0 nor a second-order expansion there shows the way up. The paper's "
        f"closed form is near it only for small probabilities: at 0.5 it has {half['closed_form']:.4f}, "
        f"the average is {half['exact']:.4f}."
    )
    return Plate("appendix-b", "eq:average_reward1", "Why the baselines stay", sentence, figure, rows)


def regret_and_bound(experiment: Experiment) -> Plate:
    """Draw realized regret under a bound that says something, and say where that of the main theorem would."""
    (arm,) = experiment.arms
    regret: Any = arm.regret
    mean, (low, high) = regret.mean(axis=0), bands(regret)
    bound, theory = coins_bound(horizon=1.0), Theory(coins())
    limits = [bound(float(t)).value for t in arm.times]
    rows = [
        {"t": int(t), "regret": float(m), "low": float(a), "high": float(b), "bound": float(c), "most": float(t)}
        for t, m, a, b, c in zip(arm.times, mean, low, high, limits, strict=True)
    ]
    label = "theorem:average-reward-discounted-algorithm"
    with _axes() as (figure, axes):
        axes.fill_between(arm.times, np.maximum(low, 1e-2), high, color=PALETTE[0], alpha=0.2, linewidth=0)
        axes.loglog(arm.times, np.where(mean > 0, mean, np.nan), "-", color=PALETTE[0], label="realized regret")
        axes.loglog(arm.times, limits, "--", color=PALETTE[1], label=place_of(label))
        axes.loglog(arm.times, arm.times, ":", color=REFERENCE_COLOUR, label="the most there can be, T")
        axes.set(xlabel="time step", ylabel="regret", title="Algorithm 1 at horizon 1 on two coins")
        axes.legend(loc="upper left")
    tau, delta = theory.averaging_time("right").value, theory.distortion(1.0).value
    main = partial(growing_horizon_regret, pairs=2, averaging_time=tau, distortion_sup=delta)
    sentence = (
        f"Algorithm 1 at horizon 1, with T = {int(arm.times[-1]):,}, on two coins: after T steps its regret "
        f"is {rows[-1]['regret']:,.0f}, the bound {rows[-1]['bound']:,.0f}. For T steps the bound says "
        f"something, being below T, from T = {says_something_from(bound):,.0f} on. (Before its T the curve is of a "
        "longer run, so there the bound is only drawn.) Theorem 4 would say something on the same task from T = "
        f"{says_something_from(main):.1e}, and on the station at no T: the distortion there exceeds the range of "
        "rewards, and three times that times T is more than anybody can lose."
    )
    return Plate("regret-and-bound", label, "A bound that bites", sentence, figure, rows)


def aggregation_plate(experiment: Experiment) -> Plate:
    """Draw fitted value iteration on the aggregation example, and the agent on the same task (Appendix D)."""
    chosen = make_task("aggregation").parameters
    system = Aggregation(chosen["half"], chosen["reset"], chosen["slip"])
    example = Example(system, chosen["gain"], chosen["penalty"], discount=1 - chosen["reset"])
    expected, sampled = example.fitted(np.zeros(2)), example.sampled(np.zeros(2), draws=200, iterations=80, seed=1)
    greedy = example.average_reward(example.greedy(expected.last))
    arms = [arm for arm in experiment.arms if arm.task == "aggregation"]
    others = [arm for arm in experiment.arms if arm.task == "alternating"]
    ends, other, kinds = _ends(arms), _ends(others), written_kinds(others[1].average_reward[:, -1])
    sentence = (
        f"Fitted value iteration {expected.outcome}: it takes the even states, most of which pay, for good "
        f"ones, and stays in state 2, where it earns {greedy:.3f} per step. The agent weighs states by how "
        f"often it is there, and with the smooth schedule has earned {ends[SMOOTH]:.4f}, where 0 is optimal; "
        f"with that of the theorem {ends[THEOREM]:.3f}, most values being at their clip. On the alternating task, "
        "where no policy over aleatoric states earns more than 1/2 and 1 is possible, they have earned "
        f"{other[SMOOTH]:.3f} and {other[THEOREM]:.3f}; of the latter, {kinds}."
    )
    rows = _curves([*arms, *others])
    for k, V in enumerate(expected.values[:81]):
        for s in (0, 1):
            agent = f"fitted value iteration, V({s + 1})"
            rows.append({"task": "aggregation", "agent": agent, "t": k, "mean": float(V[s]), "low": None, "high": None})
    figure = _aggregation_figure(expected.values[:81], sampled, arms, greedy, others)
    return Plate("aggregation", "theorem:adp-fail", "Fitted values and learned ones", sentence, figure, rows)


def _aggregation_figure(expected: Any, sampled: Any, arms: Sequence[Arm], greedy: float, others: list[Arm]) -> Figure:
    names = "smooth", "change points"
    with _axes(12.6, 4.0, (1, 1.1, 0.5)) as (figure, (left, middle, right)):
        for s, (line, mark) in enumerate((("-", "o"), ("--", "s"))):
            left.plot(expected[:, s], line, color=PALETTE[s], label=f"V({s + 1}), expected")
            left.plot(sampled[:, s], mark, color=PALETTE[s], markersize=2, alpha=0.5, label=f"V({s + 1}), 200 draws")
        left.set(xlabel="iteration", ylabel="value", title="aggregation: fitted value iteration")
        left.legend(loc="center right", fontsize=8)
        lines = {"optimum": 0.0, "greedy policy of\nfitted values": greedy}
        draw_curves(middle, dict(zip(names, arms, strict=True)), lines, (1.1 * greedy, 0.02))
        middle.set_title(f"aggregation: the agent, {arms[0].units} runs")
        draw_runs(right, dict(zip(names, others, strict=True)), PALETTE[:2], APPENDIX_D_LIMITS)
        right.set(title="alternating", ylabel=f"average reward at step {int(others[0].times[-1]):,}")
        right.legend(fontsize=8, loc="center right")
    return figure


@contextmanager
def _axes(width: float = 7.2, height: float = 4.4, ratios: Sequence[float] = (1,)) -> Iterator[tuple[Figure, Any]]:
    """Draw in the style of the house on empty axes; if there are several side by side, they come as an array."""
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(width, height))
        yield figure, figure.subplots(1, len(ratios), width_ratios=ratios)


def _arms(experiment: Experiment, labels: Sequence[str]) -> list[Arm]:
    by_label = {arm.agent: arm for arm in experiment.arms}
    return [by_label[label] for label in labels]


def _ends(arms: Sequence[Arm]) -> dict[str, float]:
    """Return the mean over runs of what each agent earned per step by the end."""
    return {arm.agent: float(arm.average_reward[:, -1].mean()) for arm in arms}


def _curves(arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Return the mean over runs at each time, with its band."""
    rows: list[dict[str, Any]] = []
    for arm in arms:
        low, high = bands(arm.average_reward)
        mean = arm.average_reward.mean(axis=0)
        rows += [
            {"task": arm.task, "agent": arm.agent, "t": int(t), "mean": float(m), "low": float(a), "high": float(b)}
            for t, m, a, b in zip(arm.times, mean, low, high, strict=True)
        ]
    return rows
