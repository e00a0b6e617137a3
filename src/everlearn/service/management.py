"""What operators request, done in the committer's thread: inspect, change modes, roll back, import, export."""

from __future__ import annotations

from typing import Any

from everlearn.durable import audit, views
from everlearn.durable.core import Core
from everlearn.service.agents import Agents, Missing


def list_agents(agents: Agents) -> dict[str, Any]:
    """Return every agent by name; what is not known of an agent that is not loaded yet is None."""
    return {"agents": [{"name": name, **_listed(agents.cores.get(name))} for name in sorted(agents.names)]}


def _listed(core: Core | None) -> dict[str, Any]:
    if core is None:
        return {"step": None, "mode": None, "quarantined": None}
    return {"step": core.step, "mode": core.mode, "quarantined": core.failure is not None}


def inspect(agents: Agents, name: str) -> dict[str, Any]:
    """Return what an agent is and what it knows."""
    return {"name": name, **views.inspect(agents.core(name))}


def change_mode(agents: Agents, name: str, mode: str) -> dict[str, Any]:
    """Let an agent learn, freeze or shadow; a mode that it has already is not journalled again."""
    core = agents.core(name)
    if core.mode != mode:
        agents.write(core, core.change_mode(mode))
    return inspect(agents, name)


def snapshots(agents: Agents, name: str) -> dict[str, Any]:
    """Return the snapshots of an agent."""
    return {"snapshots": agents.store.snapshots(agents.core(name).number)}


def roll_back(agents: Agents, name: str, step: int) -> dict[str, Any]:
    """Restore what an agent knew at a snapshot."""
    core = agents.core(name)
    if step not in {snapshot["step"] for snapshot in agents.store.snapshots(core.number)}:
        raise Missing(f"there is no snapshot of step {step}")
    agents.write(core, agents.store.roll_back(core, step))
    return inspect(agents, name)


def policy(agents: Agents, name: str) -> dict[str, Any]:
    """Return the greedy policy of an agent and its state update, for a controller that runs alone."""
    core = agents.core(name)
    return {"name": name, "aleatoric": core.setup.document["aleatoric"], **views.policy_table(core)}


def export(agents: Agents, name: str) -> bytes:
    """Return the agent state of an agent."""
    return agents.core(name).export_state()


def import_state(agents: Agents, name: str, data: bytes) -> dict[str, Any]:
    """Replace what an agent knows by an exported agent state."""
    core = agents.core(name)
    agents.write(core, core.import_state(data))
    return inspect(agents, name)


def page(agents: Agents, name: str, steps: tuple[int, int | None], after: int, limit: int) -> list[dict[str, Any]]:
    """Return some rows of a journal, with labels."""
    if name not in agents.names:
        raise Missing(f"there is no agent {name}")
    core = agents.core(name)
    return audit.page(agents.store, (core.number, core.agent.task), steps, after, limit)


def gauges(agents: Agents) -> tuple[int, dict[str, dict[str, float]]]:
    """Return how many agents there are, and the numbers of those that are loaded, for Prometheus."""
    return len(agents.names), {name: views.gauges(core) for name, core in sorted(agents.cores.items())}
