"""Mistakes in the parameters of tasks, agents, schedules and searches."""

from __future__ import annotations

from tests.boundary.mistakes_gymnasium import line

MISTAKES = [
    line(
        "schedules",
        "a misspelt schedule",
        'el.Agent("riverswim", schedule="smoth")',
        "schedule: 'smoth'; known: change-points, fixed, practical, smooth (did you mean smooth?); or name "
        "your own as module:attribute",
    ),
    line(
        "schedules",
        "a parameter that a schedule does not have",
        'el.Agent("riverswim", schedule="smooth", parameters={"schedule.horizon": 3})',
        "parameter: 'schedule.horizon'; only fixed takes it; smooth takes schedule.horizon_power, "
        "schedule.horizon_scale, schedule.optimism_power, schedule.optimism_scale",
    ),
    line(
        "schedules",
        "a number as a schedule",
        'el.Agent("riverswim", schedule=5)',
        "schedule: 5; is neither a schedule nor a function that makes one",
    ),
    line(
        "agents",
        "a policy whose rows do not sum to one",
        'el.Agent("service-station", "always", parameters={\'agent.policy\': [[1, 1], [1, 0]]})',
        "policy: [[1, 1], [1, 0]]; give probabilities of shape (2, 2), each row summing to one",
    ),
    line(
        "live",
        "an observation that an agent cannot make",
        'el.Agent("service-station").observe("rain", executed="slow")',
        "observation: 'rain'; declared: arrival, departure, arrival+departure, nothing",
    ),
    line(
        "schedules",
        "a first change point at step one",
        'el.Agent("riverswim", schedule="change-points", parameters={"schedule.first": 1})',
        "schedule.first: 1; give a step of at least 2",
    ),
    line(
        "schedules",
        "change points that do not grow apart",
        'el.Agent("riverswim", schedule="change-points", parameters={"schedule.growth": 1.0})',
        "schedule.growth: 1.0; give a factor above 1",
    ),
    line(
        "agents",
        "a phase of no steps",
        'el.Agent("service-station", "static", parameters={\'agent.phase\': 0})',
        "agent.phase: 0; give at least 1 step",
    ),
    line(
        "agents",
        "an agent that restarts another that restarts",
        'el.Agent("riverswim", "restarting", parameters={"agent.of": "restarting"})',
        "agent.of: 'restarting'; restarts already; give the agent that it is made from",
    ),
    line(
        "agents",
        "a parameter that the agent to restart does not have",
        'el.Agent("riverswim", "restarting", parameters={"agent.of": "psrl", "agent.phase": 5})',
        "parameter: 'agent.phase'; known: agent.precision, agent.prior, agent.reward_prior, agent.rewards, "
        "agent.sweeps (did you mean agent.sweeps?)",
    ),
    line(
        "agents",
        "a negative threshold of the alarm",
        'el.restarting("tsde", alarm=-1)',
        "agent.alarm: -1.0; give a finite number of at least 0",
    ),
    line(
        "schedules",
        "a schedule for an agent that restarts one without",
        'el.restarting("tsde", schedule="smooth")',
        "schedule: 'smooth'; the agent 'tsde' takes no schedule; leave it out",
    ),
    line(
        "agents",
        "a completion that never happens",
        'el.Agent("service-station", "static", parameters={\'agent.slow_completion\': 0})',
        "agent.slow_completion: 0.0; give a probability in (0, 1]",
    ),
    line(
        "tasks",
        "more options and a longer period than a table can hold",
        'el.Agent("drifting", "always", parameters={\'task.options\': 100000})',
        "options and period: (100000, 500); give at most 1,000,000 as their product",
    ),
    line(
        "tasks",
        "an unknown wave",
        "el.Agent(\"drifting\", \"always\", parameters={'task.wave': 'square'})",
        "wave: 'square'; give triangle or cosine",
    ),
    line(
        "tasks",
        "more branches than states",
        'el.Agent("garnet", "always", parameters={\'task.branching\': 21})',
        "branching: 21; give at most the number of states, 20",
    ),
    line(
        "tasks",
        "more memories than there may be",
        'el.Agent("garnet", "always", parameters={\'task.states\': 1000000000})',
        "states and group: (1000000000, 1); give at most 2,000,000 memories in all",
    ),
    line(
        "tasks",
        "more branches than a table can hold",
        "el.Agent(\"garnet\", \"always\", parameters={'task.states': 1000000, 'task.actions': 4})",
        "states, group, actions and branching: (1000000, 1, 4, 3); give at most 10,000,000 branches, "
        "states times group times actions times branching",
    ),
    line(
        "tasks",
        "a number as a task",
        "el.Agent(7)",
        "task: 7; is neither a task nor a function that makes one",
    ),
    line(
        "tasks",
        "an unknown view of the stock",
        "el.Agent(\"inventory\", \"always\", parameters={'task.see': 'orders'})",
        "see: 'orders'; give one of all, position, on-hand",
    ),
    line(
        "rewards",
        "a holding cost below zero",
        'el.Agent("inventory", "always", parameters={\'task.holding_cost\': -1})',
        "holding_cost: -1.0; give a number of at least 0, at most 1e+300",
    ),
    line(
        "rewards",
        "a penalty of zero",
        'el.Agent("inventory", "always", parameters={\'task.penalty\': 0})',
        "penalty: 0.0; give a positive number of at most 1e+300",
    ),
    line(
        "tasks",
        "a capacity of nothing",
        'el.Agent("inventory", "always", parameters={\'task.capacity\': 0})',
        "capacity: 0; give 1 to 200 units",
    ),
    line(
        "tasks",
        "orders beyond the capacity",
        'el.Agent("inventory", "always", parameters={\'task.most_ordered\': 21})',
        "most_ordered: 21; give 1 to 20, the capacity",
    ),
    line(
        "tasks",
        "too many orders under way",
        'el.Agent("inventory", "always", parameters={\'task.lead_time\': 9})',
        "lead_time: 9; too many orders under way; give less, or a smaller most_ordered",
    ),
    line(
        "states",
        "a window that is too long for its corridor",
        'el.Agent("t-maze", "always", parameters={\'task.window\': 100})',
        "window: 100; with a length of 4, there are too many windows; give less",
    ),
    line(
        "states",
        "a window of less than no customers",
        'el.Agent("queueing-network", "always", parameters={\'task.window\': -1})',
        "window: -1; give 0 to 1,000,000,000 customers",
    ),
    line(
        "tasks",
        "no patience",
        'el.Agent("queueing-network", "always", parameters={\'task.patience\': 0})',
        "patience: 0; give at least 1 customer, or none",
    ),
    line(
        "tasks",
        "an unknown topology",
        "el.Agent(\"queueing-network\", \"always\", parameters={'task.topology': 'ring'})",
        "topology: 'ring'; give parallel or tandem",
    ),
    line(
        "tasks",
        "an unknown control",
        "el.Agent(\"queueing-network\", \"always\", parameters={'task.control': 'some'})",
        "control: 'some'; give each or all",
    ),
    line(
        "tasks",
        "an arrival rate of zero",
        'el.Agent("queueing-network", "always", parameters={\'task.arrival_floor\': 0})',
        "arrival_floor: 0.0; give a positive rate",
    ),
    line(
        "tasks",
        "a fast rate below the slow one",
        'el.Agent("queueing-network", "always", parameters={\'task.fast_rate\': 0.5})',
        "fast_rate: 0.5; give a rate of at least slow_rate, 1",
    ),
    line(
        "rewards",
        "a cost below zero",
        'el.Agent("queueing-network", "always", parameters={\'task.slow_cost\': -1})',
        "slow_cost: -1.0; give a number of at least 0, for all servers in a step at most 1e+300",
    ),
    line(
        "tasks",
        "rates whose sum is not finite",
        'el.Agent("queueing-network", "always", parameters={\'task.arrival_floor\': 1e+308, '
        "'task.arrival_height': 1e+308})",
        "arrival and service rates: (1e+308, 1e+308, 4.0); their sum, over all servers, is the pace of the "
        "network; give rates whose sum is finite",
    ),
    line(
        "rewards",
        "no revenue",
        'el.Agent("service-station", "always", parameters={\'task.revenue\': 0})',
        "revenue: 0.0; give a positive number",
    ),
    line(
        "states",
        "a window of no customers",
        'el.Agent("service-station", "always", parameters={\'task.window\': 0})',
        "window: 0; give at least 1 customer",
    ),
    line(
        "tasks",
        "an unknown view of the wear",
        "el.Agent(\"maintenance\", \"always\", parameters={'task.see': 'wear'})",
        "see: 'wear'; give one of observation, age",
    ),
    line(
        "tasks",
        "a new machine that fails less than never",
        'el.Agent("maintenance", "always", parameters={\'task.new_failure\': -0.1})',
        "new_failure: -0.1; give a probability in [0, 1)",
    ),
    line(
        "tasks",
        "a worn machine that fails less than a new one",
        'el.Agent("maintenance", "always", parameters={\'task.worn_failure\': 0.01})',
        "worn_failure: 0.01; give a probability above 0.01 and below 1",
    ),
    line(
        "tasks",
        "a matrix with a probability above one",
        "el.mdp([[[1, 0], [2, -1]]], [[0], [1]])",
        "P[0]: 2.0; probabilities must lie in [0, 1]",
    ),
    line(
        "tasks",
        "rewards of an array that are texts",
        'el.mdp([[[1, 0], [0, 1]]], [["0"], ["1"]])',
        "R: [['0'], ['1']]; give numbers of shape (2, 1) or (2, 1, 2), or a sparse matrix for each action",
    ),
    line(
        "states",
        "as many classes as there are not states",
        'el.mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 1], [1, 0]], aggregate=["any"])',
        "aggregate: '1 labels'; give 2, one for each state",
    ),
    line(
        "rewards",
        "rewards that differ within a class",
        'el.mdp([[[1, 0], [1, 0]]], [[0], [1]], aggregate=["any", "any"])',
        "reward of ('any', 0, 0): (0.0, 1.0); must be equal; distinguish them by the next state or the aggregate",
    ),
    line(
        "tasks",
        "a first state that there is not",
        "el.mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 1], [1, 0]], start=2)",
        "start: 2; give a state from 0 to 1",
    ),
    line(
        "tasks",
        "as many actions as there are not matrices",
        'el.mdp([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[0, 1], [1, 0]], actions=["stay"])',
        "actions: ('stay',); P has 2 matrices; give as many labels",
    ),
    line(
        "tasks",
        "an observation of a larger task",
        'el.Agent("garnet").observe(99, executed=0)',
        "observation: 99; declared: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...",
    ),
    line(
        "specs",
        "a search of nothing",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {}})",
        "search: {}; name at least one parameter, as in [search.schedule]",
    ),
    line(
        "specs",
        "a number as a search",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': 3})",
        "search: 3; give a table of names and values",
    ),
    line(
        "specs",
        "a search of a parameter of the task",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'task.window': [1, 2]}})",
        "key: 'search.task.window'; search parameters of agent and schedule, as in [search.agent]",
    ),
    line(
        "specs",
        "a search of a single number",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'agent.step_size': 3}})",
        "search.agent.step_size: 3; give a list of values, or a range as in { low = 1, high = 10 }",
    ),
    line(
        "specs",
        "a search of an empty list",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'agent.step_size': []}})",
        "search.agent.step_size: []; is an empty list; give at least one value",
    ),
    line(
        "specs",
        "a logarithmic search from zero",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'agent.step_size': "
        "{'low': 0, 'high': 1, 'scale': 'log'}}})",
        "search.agent.step_size.low: 0; a logarithmic scale begins above 0",
    ),
    line(
        "specs",
        "an unknown scale of a search",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'agent.step_size': "
        "{'low': 0, 'high': 1, 'scale': 'root'}}})",
        "search.agent.step_size.scale: 'root'; give one of linear, log",
    ),
    line(
        "specs",
        "a search of whole numbers from a half",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'agent.step_size': "
        "{'low': 0.5, 'high': 2, 'whole': True}}})",
        "search.agent.step_size: {'low': 0.5, 'high': 2, 'whole': True}; give whole numbers for low and "
        "high, or leave whole out",
    ),
    line(
        "specs",
        "an unknown objective of a search",
        "el.tune({'task': 'riverswim', 'agent': 'q-learning', 'steps': 10, 'search': {'agent.step_size': "
        "[0.1, 0.2]}, 'objective': 'best'})",
        "objective: 'best'; give one of mean, worst",
    ),
    line(
        "specs",
        "a search for two agents",
        "el.tune({'task': 'riverswim', 'agent': ['growing-horizon', 'always'], 'steps': 10, 'search': "
        "{'agent.step_size': [0.1, 0.2]}})",
        "agent: 2; tune one agent at a time",
    ),
    line(
        "specs",
        "a search for two schedules",
        "el.tune({'task': 'riverswim', 'agent': {'name': 'growing-horizon', 'schedule': ['smooth', "
        "'fixed']}, 'steps': 10, 'search': {'agent.step_size': [0.1, 0.2]}})",
        "agent.schedule: ['smooth', 'fixed']; tune with one schedule at a time",
    ),
    line(
        "specs",
        "a grid of parameters beside a search",
        "el.tune({'task': 'riverswim', 'agent': {'name': 'always', 'parameters': {'policy': ['a', 'b']}}, "
        "'steps': 10, 'search': {'agent.step_size': [0.1, 0.2]}})",
        "agent.parameters.policy: ['a', 'b']; is a list; give one value, and put what is to be searched under search",
    ),
    line(
        "states",
        "features that are fractions",
        "el.Features(lambda s: [0.5, 1], active=2, size=10).table([3])",
        "features of state 3: 0.5; give whole numbers",
    ),
    line(
        "states",
        "features that are too few",
        "el.Features(lambda s: [1], active=2, size=10).table([3])",
        "features of state 3: [1]; has length 1; return 2 indices, as declared",
    ),
    line(
        "states",
        "features that are negative",
        "el.Features(lambda s: [0, -1], active=2, size=10).table([3])",
        "features of state 3: -1; give indices from 0 to 9",
    ),
    line(
        "states",
        "features that are there twice",
        "el.Features(lambda s: [4, 4], active=2, size=10).table([3])",
        "features of state 3: [4, 4]; the same index twice; give different ones",
    ),
    line(
        "states",
        "features that are a number",
        "el.Features(lambda s: 4, active=2, size=10).table([3])",
        "features of state 3: 4; return a list of 2 indices, as declared",
    ),
    line(
        "states",
        "features that say of each whether it is active",
        "el.Features(lambda s: [s > 2, s > 5], active=2, size=2).table([3])",
        "features of state 3: True; give the indices of the active features, not whether each is active",
    ),
    line(
        "states",
        "features with weights",
        "el.Features(lambda s: {4: 0.5, 7: 0.5}, active=2, size=10).table([3])",
        "features of state 3: {4: 0.5, 7: 0.5}; return a list of 2 indices, as declared",
    ),
    line(
        "states",
        "features without end",
        "import itertools\n\nel.Features(lambda s: itertools.repeat(s), active=1, size=10).table([3])",
        "features of state 3: [3, 3, 3]; are the first of more than 4,096; return 1 index, as declared",
    ),
    line(
        "states",
        "features whose number is not declared",
        "el.Features(lambda s: [s])",
        "arguments of el.Features: ['function']; give active and size, too, as in "
        "el.Features(function, active=..., size=...)",
    ),
    line(
        "states",
        "a function as features",
        'el.Agent("riverswim", "linear", parameters={"agent.features": lambda s: [s]})',
        "features: '<lambda>'; is a function; give el.Features(function, active=..., size=...)",
    ),
    line(
        "agents",
        "a horizon of a pseudo-episode that is too long",
        'el.Agent("service-station", "ucb-h", parameters={"agent.duration": 9, "agent.horizon": 10**9})',
        "agent.horizon: 1000000000; its table has |S| |A| H entries, at most 15,000,000; 'service-station' "
        "has 2 aleatoric states and 2 actions: give 1 to 3,750,000",
    ),
    line(
        "agents",
        "a duration that is too long",
        'el.Agent("service-station", "ucb-h", parameters={"agent.duration": 10**20})',
        "agent.duration: 100000000000000000000; give at most 1e+18 steps",
    ),
    line(
        "states",
        "a window of more outcomes than a table can hold",
        'el.Agent("drifting", "always", parameters={"task.window": 100})',
        "window: 100; give 0 to 9: with 2 options, more would make too many aleatoric states",
    ),
    line(
        "agents",
        "a policy without states",
        'el.Agent("service-station", "always", parameters={"agent.policy": "0=slow,fast"})',
        "policy: 'fast'; write state=action or state=action:probability, separated by commas",
    ),
    line(
        "agents",
        "a policy with a probability above one",
        'el.Agent("service-station", "always", parameters={"agent.policy": "1=fast:1.5"})',
        "probability in the policy: 1.5; give a number from 0 to 1",
    ),
    line(
        "agents",
        "a step size of the average above one",
        'el.Agent("service-station", "differential-q", parameters={"agent.eta": 4.5, "agent.step_size": 0.25})',
        "agent.eta: 4.5; give at most 4, so that eta times step_size is at most 1",
    ),
    line(
        "agents",
        "an agent with a model of too many states",
        'el.Agent("garnet", "ucrl2", parameters={"task.states": 3000})',
        "agent: 'ucrl2'; its model has |S|^2 |A| entries, at most 15,000,000; with 3 actions that is 2,236 "
        "aleatoric states, and 'garnet' has 3,000; choose fewer, or an agent without a model, such as "
        "growing-horizon",
    ),
    line(
        "tasks",
        "a network with too many queues",
        'el.Agent("queueing-network", "always", parameters={"task.queues": 12})',
        "queues, capacity, window, control: (12, 3, 3, 'each'); that is 10^7.8 memories and 10^12.8 "
        "transitions, of at most 2,000,000 and 20,000,000; give fewer queues, a smaller capacity, a "
        "shorter window or control=all",
    ),
    line(
        "agents",
        "a text in the place of a snapshot",
        'el.Agent("service-station").restore("x")',
        "state: 'x'; give what snapshot() returned; bytes are read by from_bytes()",
    ),
]
