"""The realized regret of one result over time, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from everlearn.analysis.regret import Regret, regret
from everlearn.figures.curves import name_result, next_colour, put_legend
from everlearn.figures.style import house_style
from everlearn.results.references import OPTIMUM

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from everlearn.protocol import Table
    from everlearn.results.result import Result


def regret_curve(result: Result, *, reference: float | str | None = None, axes: Axes | None = None) -> Axes:
    """Draw the realized regret of a result over time, both logarithmic: the mean over runs, and a band.

    The band is two standard errors on either side.  If bounds of the optimum are all that is known, it reaches from
    below the regret against the lower bound to above that against the upper one, which is a second line.  A logarithmic
    axis cannot show what is not positive: there the curve has a gap, and if it ends there, the axis is linear.

    Examples
    --------
    >>> import everlearn as el
    >>> axes = regret_curve(el.run("service-station", steps=1000, runs=3, seed=1))
    >>> axes.get_ylabel()
    'regret against the optimum over all policies'

    """
    import matplotlib.pyplot as plt

    realized = regret(result, "optimum" if reference is None else reference)
    against = OPTIMUM if reference in (None, "optimum") else reference
    with house_style():
        given, axes = axes, axes or plt.figure().add_subplot()
        colour, logarithmic = next_colour(axes), realized.mean[-1] > 0
        low, high = band(realized)
        mean = _gaps(realized.mean, logarithmic)
        axes.set_xscale("log")
        axes.set_yscale("log" if logarithmic else "linear")
        bounded = realized.mean_upper is not None
        axes.plot(
            realized.times, mean, color=colour, label=f"{result.label}{', at least' if bounded else ''}", linewidth=1.8
        )
        if realized.mean_upper is not None:
            upper = _gaps(realized.mean_upper, logarithmic)
            label = f"{result.label}, at most"
            axes.plot(realized.times, upper, color=colour, linestyle="--", label=label, linewidth=1.2)
        if not np.isnan(high).all():
            floor = np.nanmin(mean) / 2 if logarithmic else -np.inf
            shown = ~np.isnan(mean)
            axes.fill_between(
                realized.times, np.maximum(low, floor), high, where=shown, color=colour, alpha=0.2, linewidth=0
            )
        axes.set_xlabel("time step")
        axes.set_ylabel(f"regret against the {against}" if isinstance(against, str) else f"regret against {against:g}")
        errors = "" if result.runs == 1 else ", and two standard errors beyond"
        note = f"bands: between the bounds of the optimum{errors}" if bounded else ""
        put_legend(axes, below=given is None, note=note)
        if given is None:
            name_result(axes, result)
    return axes


def band(realized: Regret) -> tuple[Table, Table]:
    """Return the lower and the upper end of the interval at each time; nan where nothing is known of it."""
    bounded = realized.mean_upper is not None
    error = np.nan_to_num(realized.standard_error) if bounded else realized.standard_error
    upper = realized.mean if realized.mean_upper is None else realized.mean_upper
    return realized.mean - 2 * error, upper + 2 * error


def _gaps(line: Table, logarithmic: bool) -> Table:
    return np.where(line > 0, line, np.nan) if logarithmic else line
