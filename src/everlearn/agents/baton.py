"""What belongs to a whole run, in designs that work by state: handed on from row to row like a baton.

Such a design may touch no rows but those of the two states of a step.  A number of the run, be it an estimate
of the average reward or the time, is therefore taken from the row of the state that a step leaves and put, with
the time, into the row of the state that it enters, where the next step finds it.  Rows entered before keep what
held then; the row with the latest time tells what holds now.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everlearn.protocol import Table


def bearers(entered: Table, states: int) -> NDArray[np.intp]:
    """Return which row has the baton, for each of the runs that are stacked here.

    Parameters
    ----------
    entered:
        for each row, the step after which its state was last entered; zero where it never was
    states:
        how many rows belong to a run

    Examples
    --------
    >>> bearers(np.array([3.0, 7.0, 5.0, 0.0, 0.0, 0.0]), 3).tolist()
    [1, 3]

    """
    runs = entered.reshape(-1, states)
    return np.asarray(runs.argmax(axis=1) + states * np.arange(len(runs)))
