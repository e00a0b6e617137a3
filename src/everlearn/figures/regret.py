"""Realized regret and what the bounds promise, on one figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from everlearn.analysis.regret import regret
from everlearn.figures.style import PALETTE, REFERENCE_COLOUR, REFERENCE_STYLES, house_style
from everlearn.theory.bounds import Bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from everlearn.results.result import Result


def regret_and_bounds(
    result: Result, reference: float, bounds: Mapping[str, Callable[[float], Bound]], *, width: float = 1.0
) -> Axes:
    """Draw the realized regret of runs against a reference, bounds on it as functions of T, and the most there can be.

    Where realized regret is not positive, the logarithmic axis has no place for it, and the curve has a gap.
    """
    import matplotlib.pyplot as plt

    realized = regret(result, reference)
    with house_style():
        axes = plt.figure().add_subplot()
        mean = np.where(realized.mean > 0, realized.mean, np.nan)
        axes.plot(result.times, mean, color=PALETTE[0], linewidth=1.8, label="realized regret, mean over runs")
        if result.runs > 1:
            low, high = (mean + sign * 2 * realized.standard_error for sign in (-1, 1))
            axes.fill_between(result.times, np.maximum(low, 1e-3), high, color=PALETTE[0], alpha=0.2, linewidth=0)
        for (label, bound), colour in zip(bounds.items(), PALETTE[1:] * (len(bounds) + 1), strict=False):
            values = [bound(float(t)).value for t in result.times]
            axes.plot(result.times, values, color=colour, linewidth=1.4, label=label)
        most = f"the most there can be, {width:g} T"
        axes.plot(result.times, width * result.times, color=REFERENCE_COLOUR, linestyle=REFERENCE_STYLES[0], label=most)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("time step T")
        axes.set_ylabel("regret")
        axes.figure.legend(loc="outside lower center", ncols=2)
    return axes
