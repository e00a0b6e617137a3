"""The names of the tasks and of the functions that make them, without importing any."""

from __future__ import annotations

TASKS: dict[str, str] = {
    "access-control": "everlearn.tasks.access_control:access_control",
    "aggregation": "everlearn.tasks.aggregation:aggregation",
    "alternating": "everlearn.tasks.alternating:alternating",
    "drifting": "everlearn.tasks.drifting:drifting",
    "garnet": "everlearn.tasks.garnet:garnet",
    "inventory": "everlearn.tasks.inventory:inventory",
    "maintenance": "everlearn.tasks.maintenance:maintenance",
    "queueing-network": "everlearn.tasks.queueing_network:queueing_network",
    "riverswim": "everlearn.tasks.riverswim:riverswim",
    "riverswim-12": "everlearn.tasks.riverswim:riverswim_12",
    "service-station": "everlearn.tasks.service_station:service_station",
    "t-maze": "everlearn.tasks.t_maze:t_maze",
}

PREFIXES: dict[str, str] = {
    "gymnasium": "everlearn.adapters.task:from_gymnasium",
}
"""The functions that make a task from a name of another library, as in ``gymnasium:FrozenLake-v1``."""
