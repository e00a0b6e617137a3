"""Sweeps: heat maps of a measure over two parameters, and lines over one."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everlearn.analysis.measures import MEASURES, measurable, measured
from everlearn.analysis.names import described, varying, written
from everlearn.analysis.statistics import interval
from everlearn.errors import InputError, require
from everlearn.figures.panels import entitle, figure_of, panels
from everlearn.figures.style import PALETTE, house_style
from everlearn.protocol import Table
from everlearn.results.arm import Arm, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _Panel(NamedTuple):
    """Arms of one agent on one task that differ only in the parameters on the axes."""

    title: str
    values: dict[str, list[Any]]
    """The values of each parameter that has an axis."""
    arms: list[Arm]
    samples: list[Table]
    """The measure of each arm, one number per unit."""


def swept(arms: Sequence[Arm]) -> list[str]:
    """Return the parameters, including those of tasks, that take several values for an agent; most values first."""
    counts: dict[str, int] = {}
    for group in grouped(arms, lambda arm: arm.agent).values():
        for name in varying(arm.settings for arm in group):
            counts[name] = max(counts.get(name, 0), len(_values(group, name)))
    return sorted(counts, key=lambda name: -counts[name])


def heat_maps(arms: Sequence[Arm], measure: str = "final") -> Figure:
    """Draw the mean of a measure over the parameters that were swept, one panel per task and agent.

    Two parameters make a heat map: those with most values.  Further parameters make further panels; nothing
    is averaged over them.  One parameter makes a line, with an interval at each value.  Brighter cells are better.
    Agents that were not swept, and arms of which the measure is not known, are left out.

    Examples
    --------
    >>> settings = [{"agent.phase": phase, "task.window": window} for phase in (1, 2) for window in (3, 4, 5)]
    >>> arms = [Arm("shop", "smooth", chosen, np.array([1]), np.ones((2, 1))) for chosen in settings]
    >>> axes = heat_maps(arms).axes[0]
    >>> axes.get_title(), axes.get_xlabel(), axes.get_ylabel()
    ('shop: smooth', 'task.window', 'agent.phase')

    """
    known = [arm for arm in arms if measurable(arm, measure)]
    groups = grouped(known, lambda arm: repr((arm.task, arm.agent))).values()
    shown = [panel for group in groups for panel in _split(group, measure)]
    if not shown:
        remedy = "in none does an agent have a parameter with two values or more; sweep one"
        raise InputError("arms", sorted({f"{arm.task}: {arm.agent}" for arm in known}), remedy)
    with house_style():
        grid = panels(len(shown), *_size(shown), most_columns=4)
        for axes, panel in zip(grid, shown, strict=True):
            entitle(axes, panel.title)
            if len(panel.values) == 2:
                same_task = [each for each in shown if each.arms[0].task == panel.arms[0].task]
                means = [sample.mean() for each in same_task for sample in each.samples]
                _draw_map(axes, panel, measure, min(means), max(means))
            else:
                _draw_line(axes, panel, measure)
    return figure_of(grid[0])


def _split(group: Sequence[Arm], measure: str) -> list[_Panel]:
    """Return the panels of one agent on one task: one for each combination of the parameters without an axis."""
    varied = swept(group)
    chosen, others = varied[:2], varied[2:]
    shown = []
    for detail, arms in grouped(group if chosen else (), lambda arm: described(arm.settings, others)).items():
        title = f"{group[0].task}: {group[0].agent}" + (f" ({detail})" if detail else "")
        places = Counter(described(arm.settings, chosen) for arm in arms)
        place, count = places.most_common(1)[0]
        require(count == 1, "arms", place, f"there are {count} such arms of {title!r}; give each once")
        values = {name: _values(arms, name) for name in chosen}
        shown.append(_Panel(title, values, arms, [measured(arm, measure) for arm in arms]))
    return shown


def _values(arms: Sequence[Arm], name: str) -> list[Any]:
    """Return the values of a parameter: numbers sorted, others in the order of their first appearance."""
    values = list({repr(arm.settings.get(name)): arm.settings.get(name) for arm in arms}.values())
    return sorted(values) if is_numeric(values) else values


def is_numeric(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers; booleans are not."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _size(shown: Sequence[_Panel]) -> tuple[float, float]:
    """Return the size of a panel in inches, so that a number fits into every cell."""
    sizes = [[len(values) for values in panel.values.values()] for panel in shown if len(panel.values) == 2]
    across, up = map(max, zip(*sizes, strict=True)) if sizes else (1, 1)
    return max(4.2, 2.1 + 0.55 * across), max(3.2, 1.3 + 0.32 * up)


def _draw_map(axes: Axes, panel: _Panel, measure: str, least: float, greatest: float) -> None:
    """Draw a heat map; ``least`` and ``greatest`` are the means at the ends of the colour scale."""
    (horizontal, across), (vertical, up) = panel.values.items()
    cells = np.full((len(up), len(across)), np.nan)  # nan if there is no arm
    for arm, sample in zip(panel.arms, panel.samples, strict=True):
        cells[up.index(arm.settings.get(vertical)), across.index(arm.settings.get(horizontal))] = sample.mean()
    colours = "cividis_r" if MEASURES[measure].less_is_better else "cividis"
    image = axes.imshow(cells, cmap=colours, vmin=least, vmax=greatest, origin="lower", aspect="auto")
    axes.set_facecolor("#dddddd")  # shows in cells without an arm
    axes.grid(visible=False)
    labels = _ticks(across)
    slant: dict[str, Any] = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(across)), labels, **(slant if max(map(len, labels)) > 5 else {}))
    axes.set_yticks(range(len(up)), _ticks(up))
    axes.set_xlabel(horizontal, fontsize=10)
    axes.set_ylabel(vertical, fontsize=10)
    for row, column in np.argwhere(~np.isnan(cells)):
        mean = cells[row, column]
        red, green, blue, _ = image.cmap(image.norm(mean))
        ink = "black" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 else "white"
        text = f"{mean:.0f}" if 1000 <= abs(mean) < 100_000 else f"{mean:.3g}"
        axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
    bar = figure_of(axes).colorbar(image, ax=axes)
    bar.set_label(_label(measure, "brighter is better"), fontsize=9)
    bar.ax.tick_params(labelsize=9)


def _draw_line(axes: Axes, panel: _Panel, measure: str) -> None:
    ((name, values),) = panel.values.items()
    pairs = sorted(
        zip(panel.arms, panel.samples, strict=True), key=lambda pair: values.index(pair[0].settings.get(name))
    )
    samples = [sample for _, sample in pairs]
    means = np.array([sample.mean() for sample in samples])
    bars = np.abs(np.array([interval(sample) for sample in samples]) - means[:, None]).T
    numeric = is_numeric(values)
    places = values if numeric else list(range(len(values)))
    # Only between numbers does a line mean anything.
    axes.errorbar(places, means, yerr=bars, color=PALETTE[0], fmt="o-" if numeric else "o", capsize=3, linewidth=1.5)
    if not numeric:
        axes.set_xticks(places, _ticks(values))
        axes.set_xlim(-0.5, len(values) - 0.5)
    elif min(values) > 0 and max(values) >= 20 * min(values):
        axes.set_xscale("log")
    axes.set_xlabel(name, fontsize=10)
    axes.set_ylabel(_label(measure, "95% intervals"), fontsize=9)


def _label(measure: str, remark: str) -> str:
    return f"{textwrap.fill(MEASURES[measure].description, 36)}\n({remark})"


def _ticks(values: Sequence[Any]) -> list[str]:
    brief = [f"{value:.4g}" if isinstance(value, float) else written(value) for value in values]
    return brief if len(set(brief)) == len(values) else [written(value) for value in values]
