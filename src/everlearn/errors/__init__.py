"""Every error that everlearn raises on purpose, so that one ``except`` can catch them all.

::

    EverlearnError
    ├── InputError (ValueError)      an argument cannot be used: it names the argument, the value and a remedy
    │   ├── UnknownName              a name that is in no registry, with the names that are
    │   │   └── UnknownKey           a key that a mapping does not have
    │   ├── ScheduleError            a schedule leaves its domain, at step ``t``
    │   └── TaskError                a task contradicts itself
    │       ├── LabelError           an action, observation, state or memory of an unsupported type
    │       ├── ProbabilityError     probabilities that do not form a distribution
    │       ├── ObservationError     an observation outside the declared set
    │       ├── AleatoricStateError  f leaves the set of aleatoric states
    │       └── RewardError          a reward that is not finite or outside its range
    ├── AgentError                   an agent returned or did something invalid
    ├── UserCodeError                a function of the user's raised an exception
    ├── CompilationError             a design's functions cannot be compiled
    ├── TableFull                    more pairs were visited than may be expanded
    ├── SnapshotError                a saved agent state that cannot be read or does not fit
    ├── StoreError                   a directory of results that cannot be read, written or added to
    │   ├── Damaged                  a file of results that is torn or was altered
    │   ├── NoExperiment             a directory without an experiment
    │   └── Held                     a directory that another process uses
    └── LiveError                    a durable agent cannot do what was asked
        ├── Absent                   there is no such agent, snapshot, file or directory
        ├── OtherVersion             a directory that this everlearn cannot read
        ├── Changed                  something that an agent depends on has changed since it was last open
        ├── Conflict                 a step that is recorded with other content, or that is not due
        ├── Failed                   a built-in design could not act or learn with what it knows
        ├── Corrupt                  a damaged file: it names the file and the place
        └── StoreFull                the disk is full; nothing was changed, and the call can be repeated
            └── Unsynced             the disk failed; whether the call was recorded is unknown
"""

from everlearn.errors.arguments import (
    AleatoricStateError,
    EverlearnError,
    InputError,
    LabelError,
    ObservationError,
    ProbabilityError,
    RewardError,
    ScheduleError,
    TaskError,
    UnknownKey,
    UnknownName,
    require,
    restored,
    shown,
)
from everlearn.errors.code import AgentError, CompilationError, TableFull, UserCodeError
from everlearn.errors.disk import (
    Absent,
    Changed,
    Conflict,
    Corrupt,
    Damaged,
    Failed,
    Held,
    LiveError,
    NoExperiment,
    OtherVersion,
    SnapshotError,
    StoreError,
    StoreFull,
    Unsynced,
)

__all__ = [
    "Absent",
    "AgentError",
    "AleatoricStateError",
    "Changed",
    "CompilationError",
    "Conflict",
    "Corrupt",
    "Damaged",
    "EverlearnError",
    "Failed",
    "Held",
    "InputError",
    "LabelError",
    "LiveError",
    "NoExperiment",
    "ObservationError",
    "OtherVersion",
    "ProbabilityError",
    "RewardError",
    "ScheduleError",
    "SnapshotError",
    "StoreError",
    "StoreFull",
    "TableFull",
    "TaskError",
    "UnknownKey",
    "UnknownName",
    "Unsynced",
    "UserCodeError",
    "require",
    "restored",
    "shown",
]

for _name in __all__:
    globals()[_name].__module__ = __name__  # the name by which users know them, as in a traceback
