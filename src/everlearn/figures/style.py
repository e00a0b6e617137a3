"""One look for every figure: colours that colour-blind people can tell apart, and that print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The palette of Okabe and Ito, without its yellow and black."""

REFERENCE_COLOUR = "#555555"
REFERENCE_STYLES = ("--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))

_SETTINGS: dict[str, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.figsize": (7.2, 4.4),
    "font.size": 11,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "savefig.dpi": 160,
    "svg.hashsalt": "everlearn",
}


@contextmanager
def house_style() -> Iterator[None]:
    """Apply the house style within a ``with`` block."""
    import matplotlib as mpl

    with mpl.rc_context(_SETTINGS):  # type: ignore[arg-type]  # the stub names every key
        yield
