"""The names of the tasks and of the functions that make them, without importing any."""

from __future__ import annotations

NETWORKS: dict[str, str] = {
    "criss-cross": "everlearn.tasks.networks:criss_cross",
    "input-switch": "everlearn.tasks.networks:input_switch",
    "n-model": "everlearn.tasks.networks:n_model",
    "reentrant-line": "everlearn.tasks.networks:reentrant_line",
    "six-class": "everlearn.tasks.networks:six_class",
}
"""Networks of queues, which have infinitely many memories."""

CONTROL: dict[str, str] = {
    "catch": "everlearn.tasks.catch:catch",
    "puckworld": "everlearn.tasks.puckworld:puckworld",
}
"""Tasks for values that generalise: too large for exact computation, or without a model."""

_FINITE: dict[str, str] = {
    "access-control": "everlearn.tasks.access_control:access_control",
    "aggregation": "everlearn.tasks.aggregation:aggregation",
    "alternating": "everlearn.tasks.alternating:alternating",
    "biased-rps": "everlearn.tasks.games:biased_rps",
    "cheese-maze": "everlearn.tasks.mazes:cheese_maze",
    "drifting": "everlearn.tasks.drifting:drifting",
    "extended-tiger": "everlearn.tasks.tiger:extended_tiger",
    "garnet": "everlearn.tasks.garnet:garnet",
    "grid-4x4": "everlearn.tasks.mazes:grid_4x4",
    "hallway": "everlearn.tasks.hallway:hallway",
    "inventory": "everlearn.tasks.inventory:inventory",
    "kuhn-poker": "everlearn.tasks.games:kuhn_poker",
    "maintenance": "everlearn.tasks.maintenance:maintenance",
    "maze-1d": "everlearn.tasks.mazes:maze_1d",
    "maze-4x3": "everlearn.tasks.mazes:maze_4x3",
    "queueing-network": "everlearn.tasks.queueing_network:queueing_network",
    "riverswim": "everlearn.tasks.riverswim:riverswim",
    "riverswim-12": "everlearn.tasks.riverswim:riverswim_12",
    "seasons": "everlearn.tasks.seasons:seasons",
    "service-station": "everlearn.tasks.service_station:service_station",
    "shuttle": "everlearn.tasks.shuttle:shuttle",
    "t-maze": "everlearn.tasks.t_maze:t_maze",
    "tic-tac-toe": "everlearn.tasks.games:tic_tac_toe",
    "tiger": "everlearn.tasks.tiger:tiger",
}

TASKS: dict[str, str] = dict(sorted((_FINITE | NETWORKS | CONTROL).items()))
"""The registered tasks: name to ``module:factory``.  Pass a name to :func:`everlearn.run`; ``everlearn tasks`` lists
them."""

PREFIXES: dict[str, str] = {
    "gymnasium": "everlearn.adapters.task:from_gymnasium",
    "pomdp": "everlearn.adapters.pomdp:from_pomdp",
    "qgym": "everlearn.adapters.qgym:from_qgym",
}
"""The functions that make a task from a name elsewhere, as in ``gymnasium:FrozenLake-v1``, ``pomdp:tiger.pomdp`` and
``qgym:criss_cross_bh.yaml``."""
