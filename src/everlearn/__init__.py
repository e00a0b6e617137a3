"""everlearn: reinforcement learning on one endless stream of experience.

Names are imported when they are first used, so that ``import everlearn`` is instant and a program pays only for what it
uses.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from everlearn._version import __version__

if TYPE_CHECKING:
    from everlearn.adapters.export import to_gymnasium
    from everlearn.adapters.pomdp import from_pomdp
    from everlearn.adapters.qgym import from_qgym
    from everlearn.adapters.task import from_gymnasium
    from everlearn.agents.agent import Agent
    from everlearn.agents.design import Design
    from everlearn.agents.frozen import freeze
    from everlearn.agents.policies import AleatoricPolicy
    from everlearn.agents.registry import AGENTS, SCHEDULES
    from everlearn.agents.restarting import restarting
    from everlearn.agents.schedule import Schedule
    from everlearn.aleatoric.features import Features
    from everlearn.aleatoric.reward import Reward
    from everlearn.aleatoric.state import AleatoricState, last_observation, window
    from everlearn.analysis.evaluation import Evaluation, evaluate
    from everlearn.analysis.regret import regret
    from everlearn.analysis.replay import Replay, replay
    from everlearn.analysis.shadow import ShadowReport, shadow_report
    from everlearn.api import experiment, run, tune
    from everlearn.client import Client
    from everlearn.durable.agent import Live
    from everlearn.durable.live import live
    from everlearn.environments.model import Model
    from everlearn.environments.network import Network
    from everlearn.errors import EverlearnError
    from everlearn.experiments.experiment import Experiment
    from everlearn.grids import Box
    from everlearn.page.start import play
    from everlearn.protocol import AgentState, Environment, Experience, ScheduleValues
    from everlearn.randomness import choose, uniform
    from everlearn.results.result import Result
    from everlearn.results.saving import load
    from everlearn.tasks.arrays import mdp
    from everlearn.tasks.define import task
    from everlearn.tasks.indexed import IndexedTask
    from everlearn.tasks.networks import network_task
    from everlearn.tasks.registry import TASKS
    from everlearn.tasks.task import Task
    from everlearn.tasks.views import seen_through
    from everlearn.theory.report import Theory
    from everlearn.tuning.tuned import Tuned

_WHERE = {
    "AGENTS": "agents.registry",
    "Agent": "agents.agent",
    "AgentState": "protocol",
    "AleatoricPolicy": "agents.policies",
    "AleatoricState": "aleatoric.state",
    "Box": "grids",
    "Client": "client",
    "Design": "agents.design",
    "Environment": "protocol",
    "Evaluation": "analysis.evaluation",
    "EverlearnError": "errors",
    "Experience": "protocol",
    "Experiment": "experiments.experiment",
    "Features": "aleatoric.features",
    "IndexedTask": "tasks.indexed",
    "Live": "durable.agent",
    "Model": "environments.model",
    "Network": "environments.network",
    "Replay": "analysis.replay",
    "Result": "results.result",
    "Reward": "aleatoric.reward",
    "SCHEDULES": "agents.registry",
    "Schedule": "agents.schedule",
    "ScheduleValues": "protocol",
    "ShadowReport": "analysis.shadow",
    "TASKS": "tasks.registry",
    "Task": "tasks.task",
    "Theory": "theory.report",
    "Tuned": "tuning.tuned",
    "choose": "randomness",
    "evaluate": "analysis.evaluation",
    "freeze": "agents.frozen",
    "experiment": "api",
    "from_gymnasium": "adapters.task",
    "from_pomdp": "adapters.pomdp",
    "from_qgym": "adapters.qgym",
    "last_observation": "aleatoric.state",
    "live": "durable.live",
    "load": "results.saving",
    "mdp": "tasks.arrays",
    "network_task": "tasks.networks",
    "play": "page.start",
    "regret": "analysis.regret",
    "replay": "analysis.replay",
    "restarting": "agents.restarting",
    "run": "api",
    "seen_through": "tasks.views",
    "shadow_report": "analysis.shadow",
    "task": "tasks.define",
    "to_gymnasium": "adapters.export",
    "tune": "api",
    "uniform": "randomness",
    "window": "aleatoric.state",
}

__all__ = [
    "AGENTS",
    "SCHEDULES",
    "TASKS",
    "Agent",
    "AgentState",
    "AleatoricPolicy",
    "AleatoricState",
    "Box",
    "Client",
    "Design",
    "Environment",
    "Evaluation",
    "EverlearnError",
    "Experience",
    "Experiment",
    "Features",
    "IndexedTask",
    "Live",
    "Model",
    "Network",
    "Replay",
    "Result",
    "Reward",
    "Schedule",
    "ScheduleValues",
    "ShadowReport",
    "Task",
    "Theory",
    "Tuned",
    "__version__",
    "choose",
    "evaluate",
    "experiment",
    "freeze",
    "from_gymnasium",
    "from_pomdp",
    "from_qgym",
    "last_observation",
    "live",
    "load",
    "mdp",
    "network_task",
    "play",
    "regret",
    "replay",
    "restarting",
    "run",
    "seen_through",
    "shadow_report",
    "task",
    "to_gymnasium",
    "tune",
    "uniform",
    "window",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'everlearn' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"everlearn.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
