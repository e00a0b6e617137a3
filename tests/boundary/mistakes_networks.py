"""Mistakes with networks of queues."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_gymnasium import line

MISTAKES = [
    Mistake(
        group="tasks",
        title="a regime that the criss-cross network does not have",
        files={},
        call="everlearn run criss-cross --set task.regime=XX",
        answer="regime: 'XX'; give one of IL, BL, IM, BM, IH, BH",
    ),
    Mistake(
        group="agents",
        title="a misspelt rule",
        files={},
        call="everlearn run criss-cross --agent always --set agent.policy=MaxWeight",
        answer=(
            "policy: 'MaxWeight'; known actions: 1-2, 3-2; known rules: c-mu, max-weight, max-pressure, longest-queue, "
            "last-buffer, fluid"
        ),
    ),
    Mistake(
        group="tasks",
        title="the exact average of a policy for unbounded queues",
        files={},
        call="everlearn theory criss-cross --policy max-weight",
        answer=(
            "task: 'criss-cross'; has unbounded queues, so that only its optimum is computed (--only optimum); "
            "simulate policies"
        ),
    ),
    Mistake(
        group="tasks",
        title="a network of QGym whose arrivals are not exponential",
        files={"network.yaml": "{name: network, lam_type: hyper}"},
        call="everlearn run qgym:network.yaml",
        answer="lam_type: 'hyper'; only constant is supported",
    ),
    Mistake(
        group="tasks",
        title="a line of more stations than there is memory for",
        files={},
        call="everlearn run reentrant-line --set task.stations=7 --set task.seen=1",
        answer="stations: 7; give 2 to 6",
    ),
    *(
        line("tasks", title, f"el.Network({arguments})", answer)
        for title, arguments, answer in (
            (
                "a network without arrivals",
                "0.5, [[1.0]], [None], [1]",
                "arrivals: 0.5; give a rate of at least 0 for each class, one of them positive",
            ),
            (
                "a network whose servers have no lists of rates",
                "(0.4, 0), (1.5, 0.9), (1, None), (1, 1)",
                "services: (1.5, 0.9); give for each server 2 rates of at least 0, one for each class",
            ),
            (
                "a network whose classes are counted from 1",
                "(0.4, 0), ((1.5, 0), (0, 0.9)), (2, None), (1, 1)",
                "routes: (2, None); give for each class the next one, from 0 to 1, or None",
            ),
            (
                "a route that is a text",
                "(0.4, 0), ((1.5, 0), (0, 0.9)), ('1', None), (1, 1)",
                "routes: ('1', None); give for each class the next one, from 0 to 1, or None",
            ),
            (
                "a network whose jobs cost nothing",
                "(0.4, 0), ((1.5, 0), (0, 0.9)), (1, None), None",
                "holding: None; give a whole number of at least 1 for each class; only ratios matter, so multiply if "
                "you need to",
            ),
            (
                "a network without holding costs",
                "(0.4, 0), ((1.5, 0), (0, 0.9)), (1, None)",
                "arguments of el.Network: ['arrivals', 'services', 'routes']; give holding, too, as in "
                "el.Network(arrivals, services, routes, holding)",
            ),
        )
    ),
    line(
        "tasks",
        "a network that is busier than its servers can be",
        "el.network_task(el.Network([0.9], [[0.8]], [None], [1]), seen=5)",
        "load of the network: 1.125; queues grow forever; give lower arrival rates",
    ),
    line(
        "tasks",
        "a task in place of a network",
        'el.network_task(el.Theory("criss-cross").task, seen=5)',
        "network: Task('criss-cross': 2 actions, 9,436 observations, 9,262 aleatoric states, a model); give an "
        "el.Network",
    ),
    line(
        "tasks",
        "a task of a network without what is seen",
        "el.network_task(el.Network([0.5], [[0.8]], [None], [1]))",
        "arguments of el.network_task: ['network']; give seen, too, as in el.network_task(network, seen=20)",
    ),
    line(
        "tasks",
        "the certified optimum of a task in place of its network",
        'from everlearn.theory.network import network_optimum\n\nnetwork_optimum("criss-cross")',
        "network: 'criss-cross'; give an el.Network; that of a task is task.network",
    ),
    line(
        "tasks",
        "a grid of half a job",
        "from everlearn.theory.network import network_optimum\n\n"
        "network_optimum(el.Network([0.5], [[0.8]], [None], [1]), 2.5)",
        "jobs: 2.5; give a whole number",
    ),
    line(
        "tasks",
        "a tolerance that is not a number",
        "from everlearn.theory.network import network_optimum\n\n"
        'network_optimum(el.Network([0.5], [[0.8]], [None], [1]), 20, float("nan"))',
        "tolerance: nan; give a positive number, such as 1e-6",
    ),
    Mistake(
        group="tasks",
        title="a network of QGym with rates in place of 0 and 1",
        files={"network.yaml": "{name: network, network: [[2]], mu: [[1]]}"},
        call="everlearn run qgym:network.yaml",
        answer="network: [[2.0]]; give a 0 or 1 for each server and queue; rates belong in mu",
    ),
]
