"""When to record: at logarithmically spaced times, which depend on t alone and never on the length of a run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PER_DECADE = 20


def recording_times(steps: int, per_decade: int = PER_DECADE) -> NDArray[np.int64]:
    """Return the times up to ``steps`` at which to record, and ``steps`` itself.

    The times are the whole numbers nearest to 10 ** (k / per_decade), each once.

    Examples
    --------
    >>> recording_times(12).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    >>> recording_times(10**9).size
    170

    """
    decades = len(str(steps))
    grid = np.unique(np.rint(10.0 ** (np.arange(decades * per_decade + 1) / per_decade)).astype(np.int64))
    return np.append(grid[grid < steps], steps)
