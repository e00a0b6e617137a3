"""Draw Theorem 4 as printed and repaired: ``python -m docs.bounds`` writes the figure of docs/repairs.md."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import everlearn as el
from everlearn.figures.saving import save_figure
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, house_style
from everlearn.theory.bounds import Bound, growing_horizon_regret, says_something_from
from everlearn.theory.ledger import MAIN
from everlearn.theory.repairs import growing_horizon

IMAGE = Path(__file__).parent / "images" / "repaired-bound.png"
TIMES = np.geomspace(1e8, 1e22, 60)


def pair_of_bounds(pairs: int, tau: float) -> dict[str, Callable[[float], Bound]]:
    """Return both bounds without distortion, as functions of T."""
    repaired = partial(growing_horizon, MAIN, horizon=max(1.0, tau), early_distortion=0.0)
    at = {"pairs": pairs, "averaging_time": tau, "distortion_sup": 0.0}
    return {"as printed": partial(growing_horizon_regret, **at), "repaired": partial(repaired, **at)}


def main() -> None:
    """Write the figure, and print where each bound begins to say something."""
    from matplotlib.figure import Figure

    river = el.Theory("riverswim")
    size = len(river.task.states) * len(river.task.actions)
    cases = {
        "one pair, tau = 0": pair_of_bounds(1, 0.0),
        "RiverSwim": pair_of_bounds(size, river.optimal_averaging_time.value),
    }
    with house_style():
        figure = Figure(figsize=(9.6, 3.8))
        for axes, (title, both) in zip(figure.subplots(1, 2, sharey=True), cases.items(), strict=True):
            for (name, bound), colour, style in zip(both.items(), PALETTE, ("--", "-"), strict=False):
                first = says_something_from(bound)
                print(f"{title}, {name}: {first:.3g}")  # noqa: T201
                axes.loglog(TIMES, [bound(T).value / T for T in TIMES], style, color=colour, label=f"Theorem 4, {name}")
                axes.plot([first], [1.0], "o", color=colour)
            axes.axhline(1.0, color=REFERENCE_COLOUR, linestyle=":", label="the most there can be")
            axes.set(xlabel="T", title=title)
            axes.legend(loc="upper right", fontsize=8)
        figure.axes[0].set_ylabel("bound on the regret per step")
        save_figure(figure, IMAGE)


if __name__ == "__main__":
    main()
