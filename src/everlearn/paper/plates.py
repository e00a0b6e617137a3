"""The figures of the reproduction, each with the table behind it and a sentence that says what is to be seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from everlearn.analysis.statistics import bands
from everlearn.environments.aggregation import Aggregation
from everlearn.environments.service_station import ServiceStation
from everlearn.experiments.experiment import Experiment
from everlearn.figures.multiples import average_rewards
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.paper import appendix_b
from everlearn.paper.appendix_d import Example
from everlearn.paper.claims.bounds import coins
from everlearn.paper.experiments import BASELINES, SLOW, SMOOTH, THEOREM
from everlearn.results.arm import Arm
from everlearn.results.references import OPTIMUM
from everlearn.tasks.registry import make_task
from everlearn.theory import bounds
from everlearn.theory.report import Theory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS = 21
"""Values of epsilon at which averages are computed exactly."""


@dataclass(frozen=True)
class Plate:
    """A figure: its file name, the paper's label, a title, what is to be seen, the picture, and the rows behind it."""

    name: str
    label: str
    title: str
    sentence: str
    figure: Figure
    rows: list[dict[str, Any]]


def arrival_probability() -> Plate:
    """Draw the arrival probability against the longest recent service time (``fig:arrival_prob``)."""
    station = ServiceStation()
    rows = [{"longest_service": w, "arrival_probability": station.arrival_probability(w)} for w in range(1, 11)]
    figure, axes = _blank()
    with house_style():
        axes.plot(
            [row["longest_service"] for row in rows],
            [row["arrival_probability"] for row in rows],
            "o-",
            color=PALETTE[0],
        )
        axes.set(xlabel="longest service among the last 12 customers", ylabel="arrival probability", ylim=(0, 1.05))
    two = station.arrival_probability(2)
    sentence = (
        "While every recent service took one step, the next customer comes for certain; one service of two "
        f"steps or more among the last dozen brings that down to {two:.5f}, and worse hardly matters."
    )
    return Plate("arrival-probability", "fig:arrival_prob", "Reputation", sentence, figure, rows)


def agent_comparison(station: Experiment) -> Plate:
    """Draw the agent beside the baselines (``fig:agent-comparison``)."""
    arms = _arms(station, [SMOOTH, SLOW, *BASELINES.values()])
    ends = {arm.agent: float(arm.average_reward[:, -1].mean()) for arm in arms}
    steps = int(arms[0].times[-1])
    sentence = (
        f"After {steps:,} steps optimistic Q-learning has earned {ends[SMOOTH]:.3f} a step on average, where "
        f"0.5 is possible and always slow earns {ends[SLOW]:.3f}; the baselines have earned "
        f"{', '.join(f'{ends[label]:.3f}' for label in BASELINES.values())}. None of them sees that fast "
        "service would bring the customers back. The bands are 95% intervals for the mean."
    )
    figure = average_rewards(arms, references=["optimum"])
    return Plate(
        "agent-comparison", "fig:agent-comparison", "The agent and the baselines", sentence, figure, _curves(arms)
    )


def better_schedules(station: Experiment, long: Experiment | None) -> Plate:
    """Draw the smooth schedule against that of the theorem (``fig:better-schedules``)."""
    arms = _arms(station, [SMOOTH, THEOREM])
    ends = {arm.agent: float(arm.average_reward[:, -1].mean()) for arm in arms}
    sentence = (
        f"With the smooth schedule the agent has earned {ends[SMOOTH]:.3f} a step, with that of the theorem "
        f"{ends[THEOREM]:.3f}: there hardly any value has left its clip, and it acts at random. "
    )
    if long is None:
        sentence += "That it eventually improves takes about a billion steps; --full follows it there."
    else:
        arms = [*arms, *long.arms]
        late = long.arms[0]
        mean = late.average_reward.mean(axis=0)[late.times >= late.times[-1] // 4]
        sentence += (
            f"Followed for {int(late.times[-1]):,} steps it improves, as the paper says without a figure: at "
            "the change point at 671,088,640 values have come down far enough, and the mean over runs of its "
            f"average goes from {mean[0]:.3f} to {mean.max():.3f}, and down again at the next change point, "
            "where it forgets."
        )
    figure = average_rewards(arms, references=["optimum"])
    return Plate("better-schedules", "fig:better-schedules", "Two schedules", sentence, figure, _curves(arms))


def appendix_b_plate() -> Plate:
    """Draw the average reward of pi_epsilon: closed form, exact, and the expansions of the baselines (Appendix B)."""
    theory, grid = Theory("service-station"), np.linspace(0, 1, POINTS)
    zero, slope = float(appendix_b.closed_form_average(0.0)), appendix_b.closed_form_derivative()
    bend = appendix_b.closed_form_half_second_derivative()
    rows = [
        {
            "epsilon": float(epsilon),
            "exact": theory.average_reward(f"0=slow,1=fast:{float(epsilon)!r}" if epsilon else "slow"),
            "closed_form": float(appendix_b.closed_form_average(float(epsilon))),
            "first_order": zero + slope * float(epsilon),
            "second_order": zero + slope * float(epsilon) + bend * float(epsilon) ** 2,
        }
        for epsilon in grid
    ]
    figure, axes = _blank()
    looks = {"exact": ("-", "o"), "closed_form": ("--", "s"), "first_order": (":", "^"), "second_order": ("-.", "D")}
    names = (
        "exact average reward",
        "the paper's closed form",
        "first-order expansion at 0",
        "second-order expansion at 0",
    )
    with house_style():
        for (key, (line, mark)), name, colour in zip(looks.items(), names, PALETTE, strict=False):
            axes.plot(grid, [row[key] for row in rows], line, marker=mark, markersize=4, color=colour, label=name)
        axes.set(xlabel="probability of fast service while a customer is there", ylabel="average reward")
        axes.legend(loc="upper left")
    sentence = (
        f"The average reward falls from {rows[0]['exact']:.4f} before it rises to {rows[-1]['exact']:.1f}, so "
        "that neither a derivative at 0 nor a second-order expansion there shows the way up. The paper's "
        f"closed form is near it only for small probabilities: at 0.5 it has {rows[POINTS // 2]['closed_form']:.4f}, "
        f"the average is {rows[POINTS // 2]['exact']:.4f}."
    )
    return Plate("appendix-b", "eq:average_reward1", "Why the baselines stay", sentence, figure, rows)


def regret_and_bound(bound: Experiment) -> Plate:
    """Draw realized regret under a bound that says something, and say where that of the main theorem would."""
    (arm,) = bound.arms
    regret: Any = arm.regret
    theory, pairs = Theory(coins()), 2
    tau, delta = theory.averaging_time("right").value, theory.distortion(1.0).value
    at: dict[str, Any] = {"pairs": pairs, "averaging_time": tau}
    limit = [bounds.discounted_regret(float(t), horizon=1.0, distortion=delta, **at).value for t in arm.times]
    low, high = bands(regret)
    rows = [
        {"t": int(t), "regret": float(mean), "low": float(a), "high": float(b), "bound": float(c), "most": float(t)}
        for t, mean, a, b, c in zip(arm.times, regret.mean(axis=0), low, high, limit, strict=True)
    ]
    figure, axes = _blank()
    with house_style():
        positive = np.where(regret.mean(axis=0) > 0, regret.mean(axis=0), np.nan)
        axes.fill_between(arm.times, np.maximum(low, 1e-2), high, color=PALETTE[0], alpha=0.2, linewidth=0)
        axes.loglog(arm.times, positive, "-", color=PALETTE[0], label="realized regret")
        axes.loglog(arm.times, limit, "--", color=PALETTE[1], label="theorem:average-reward-discounted-algorithm")
        axes.loglog(arm.times, arm.times, ":", color=REFERENCE_COLOUR, label="the most there can be, T")
        axes.set(xlabel="time step", ylabel="regret")
        axes.legend(loc="upper left")
    first = bounds.says_something_from(lambda t: bounds.discounted_regret(t, horizon=1.0, distortion=delta, **at))
    main = bounds.says_something_from(lambda t: bounds.growing_horizon_regret(t, distortion_sup=delta, **at))
    sentence = (
        f"Algorithm 1 at horizon 1, told T = {int(arm.times[-1]):,}, on two coins: after T steps its regret "
        f"is {rows[-1]['regret']:,.0f}, the bound {rows[-1]['bound']:,.0f}. For T steps the bound says "
        f"something, being below T, from about {first:,.0f} on. (Before its T the curve is of a longer run, "
        "so there the bound is only drawn.) theorem:main would say something on the same task from T = "
        f"{main:.0e}, and on the station at no T: the distortion there exceeds the range of rewards, and "
        "three times that times T is more than anybody can lose."
    )
    return Plate(
        "regret-and-bound", "theorem:average-reward-discounted-algorithm", "A bound that bites", sentence, figure, rows
    )


def aggregation_plate(experiment: Experiment) -> Plate:
    """Draw fitted value iteration on the aggregation example, and the agent on the same task (Appendix D)."""
    chosen = make_task("aggregation").parameters
    system = Aggregation(chosen["half"], chosen["reset"], chosen["slip"])
    example = Example(system, chosen["gain"], chosen["penalty"], discount=1 - chosen["reset"])
    expected, sampled = example.fitted(np.zeros(2)), example.sampled(np.zeros(2), draws=200, iterations=80, seed=1)
    greedy = example.average_reward(example.greedy(expected.last))
    arms = [arm for arm in experiment.arms if arm.task == "aggregation"]
    ends = {arm.agent: float(arm.average_reward[:, -1].mean()) for arm in arms}
    other = {arm.agent: float(arm.average_reward[:, -1].mean()) for arm in experiment.arms if arm.task == "alternating"}
    figure = _aggregation_figure(expected.values[:81], sampled, arms, greedy)
    sentence = (
        f"Fitted value iteration {expected.outcome}: it takes the even states, most of which pay, for good "
        f"ones, and stays in state 2, where it earns {greedy:.3f} a step. The agent weighs states by how "
        f"often it is there, and with the smooth schedule has earned {ends[SMOOTH]:.4f}, where 0 is optimal; "
        f"with that of the theorem {ends[THEOREM]:.3f}, which is acting at random. On the alternating task, "
        "where no policy over aleatoric states earns more than 1/2 and 1 is possible, they have earned "
        f"{other[SMOOTH]:.3f} and {other[THEOREM]:.3f}."
    )
    rows = _curves(arms) + [
        {
            "task": "aggregation",
            "agent": f"fitted value iteration, V({s + 1})",
            "t": k,
            "mean": float(v[s]),
            "low": None,
            "high": None,
        }
        for k, v in enumerate(expected.values[:81])
        for s in (0, 1)
    ]
    return Plate("aggregation", "theorem:adp-fail", "Fitted values and learned ones", sentence, figure, rows)


_NO_BAND = {"task": "aggregation", "agent": "", "t": 0, "mean": 0.0, "low": None, "high": None}


def _aggregation_figure(expected: Any, sampled: Any, arms: Sequence[Arm], greedy: float) -> Figure:
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(9.6, 4.4))
        left, right = figure.subplots(1, 2)
        for s, (line, mark) in enumerate((("-", "o"), ("--", "s"))):
            left.plot(expected[:, s], line, color=PALETTE[s], label=f"V({s + 1}), expected")
            left.plot(sampled[:, s], mark, color=PALETTE[s], markersize=2, alpha=0.5, label=f"V({s + 1}), 200 draws")
        left.set(xlabel="iteration", ylabel="value", title="fitted value iteration")
        left.legend(loc="center right")
        for arm, colour, line in zip(arms, PALETTE[2:], ("-", "--"), strict=False):
            mean, (low, high) = arm.average_reward.mean(axis=0), bands(arm.average_reward)
            right.semilogx(arm.times, mean, line, color=colour, label=arm.agent)
            right.fill_between(arm.times, low, high, color=colour, alpha=0.2, linewidth=0)
        right.axhline(0.0, color=REFERENCE_COLOUR, linestyle="--", linewidth=1.2, label=OPTIMUM)
        right.axhline(
            greedy, color=REFERENCE_COLOUR, linestyle=":", linewidth=1.2, label="greedy policy of fitted values"
        )
        right.set(xlabel="time step", ylabel="cumulative average reward", title="the agent on the same task")
        right.legend(loc="lower right", bbox_to_anchor=(1.0, 0.18), fontsize=8)
    return figure


def _blank() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure()
        return figure, figure.add_subplot()


def _arms(experiment: Experiment, labels: Sequence[str]) -> list[Arm]:
    known = {arm.agent: arm for arm in experiment.arms}
    return [known[label] for label in labels]


def _curves(arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Return the curves of a figure as rows: the mean over runs at each time, with its band."""
    rows = []
    for arm in arms:
        low, high = bands(arm.average_reward)
        mean = arm.average_reward.mean(axis=0)
        rows += [
            {"task": arm.task, "agent": arm.agent, "t": int(t), "mean": float(m), "low": float(a), "high": float(b)}
            for t, m, a, b in zip(arm.times, mean, low, high, strict=True)
        ]
    return rows
