"""Mistakes in the values of arguments, and in what was saved."""

from __future__ import annotations

from tests.boundary.mistakes_calls import call
from tests.boundary.mistakes_gymnasium import line

MISTAKES = [
    line(
        "agents",
        "initial values that are not numbers",
        'el.Agent("service-station", "discounted-subroutine", parameters={\'agent.optimism\': 1, '
        "'agent.q_init': 'nan'})",
        "agent.q_init: 'nan'; give finite values",
    ),
    line(
        "agents",
        "initial values of another shape",
        'el.Agent("service-station", "discounted-subroutine", parameters={\'agent.optimism\': 1, '
        "'agent.q_init': [1, 2, 3]})",
        "agent.q_init: [1, 2, 3]; give a number, or an array of shape (2, 2)",
    ),
    line(
        "agents",
        "an agent without the duration that it needs",
        'el.Agent("service-station", "discounted-subroutine")',
        "agent.duration: None; give the number of steps that the agent will run for",
    ),
    line(
        "agents",
        "a variant of an agent that is unknown",
        "el.Agent(\"service-station\", \"kl-ucrl\", parameters={'agent.rows': 'mine'})",
        "agent.rows: 'mine'; give source or package",
    ),
    line(
        "agents",
        "a bonus larger than the proof allows",
        "el.Agent(\"service-station\", \"focus\", parameters={'agent.duration': 1000, 'agent.scale': 2})",
        "agent.scale: 2.0; give a number from 0 to 1; with more, values may never settle",
    ),
    line(
        "agents",
        "rewards of a plan that are unknown",
        "el.Agent(\"service-station\", \"focus\", parameters={'agent.duration': 1000, 'agent.rewards': 'known'})",
        "agent.rewards: 'known'; give bound or mean",
    ),
    line(
        "agents",
        "a prior that is too small",
        'el.Agent("service-station", "tsde", parameters={\'agent.prior\': 0})',
        "agent.prior: 0.0; give a number from 1e-300 to 1e+300",
    ),
    line(
        "agents",
        "rewards of a posterior that are unknown",
        "el.Agent(\"service-station\", \"tsde\", parameters={'agent.rewards': 'known'})",
        "agent.rewards: 'known'; give beta or mean",
    ),
    line(
        "agents",
        "a confidence of zero",
        'el.Agent("service-station", "ucrl2", parameters={\'agent.confidence\': 0})',
        "agent.confidence: 0.0; give a probability in (0, 1)",
    ),
    line(
        "agents",
        "a scale below zero",
        'el.Agent("service-station", "ucrl2", parameters={\'agent.scale\': -1})',
        "agent.scale: -1.0; give a finite number above 0",
    ),
    line(
        "agents",
        "no sweeps",
        'el.Agent("service-station", "ucrl2", parameters={\'agent.sweeps\': 0})',
        "agent.sweeps: 0; give a whole number of at least 1, at most 1e+18",
    ),
    line(
        "agents",
        "a phase of zero",
        'el.Agent("service-station", "versatile", parameters={\'agent.phase\': 0})',
        "agent.phase: 0.0; give a number above 0, at most 1",
    ),
    line(
        "agents",
        "a number of levels outside its range",
        'el.Agent("service-station", "imed-rl", parameters={\'agent.levels\': 1})',
        "agent.levels: 1; give a whole number from 2 to 1000",
    ),
    line(
        "agents",
        "a probability above one",
        'el.Agent("service-station", "planner", parameters={\'agent.fading\': 2})',
        "agent.fading: 2.0; give a probability",
    ),
    line(
        "agents",
        "trials below zero",
        'el.Agent("n-model", "lattice", parameters={"agent.trials": -1})',
        "agent.trials: -1.0; give a finite number of at least 0",
    ),
    line(
        "schedules",
        "a step size of forgetting above one",
        'el.Agent("riverswim", parameters={"schedule.forgetting": 1.5})',
        "schedule.forgetting: 1.5; give a step size from 0 to 1",
    ),
    line(
        "schedules",
        "a function that makes something else than a schedule",
        'def seven():\n    return 7\n\nel.Agent("riverswim", schedule=seven)',
        "schedule: 'seven'; returned an int, not a schedule; return one, as in el.Schedule(...)",
    ),
    line(
        "agents",
        "an agent with a table for too many states",
        'el.Agent(el.from_gymnasium("CartPole-v1", discretiser="fine"), "q-learning")',
        "agent: 'q-learning'; needs a table; give an agent with features, such as linear, or task.discretiser=quantile",
    ),
    line(
        "states",
        "tiles for a task whose states are no grid",
        'el.Agent("riverswim", "linear", parameters={"agent.features": "tiles:8:8"})',
        "features: 'tiles:8:8'; give auto, onehot, factors, pairs, hashed:N, or your own el.Features as "
        "module:attribute",
    ),
    line(
        "states",
        "features that are none at a time",
        "el.Features(lambda s: [], active=0, size=4)",
        "active of the features: 0; give a whole number from 1 to 4,096",
    ),
    line(
        "states",
        "features that a function cannot compute",
        'el.Features(lambda s: [s["x"]], active=1, size=4).table([0])',
        "features '<lambda>' raised TypeError at (aleatoric_state,) = (0,): 'int' object is not "
        "subscriptable (mine.py, line 3)",
    ),
    line(
        "states",
        "features that are drawn",
        "import random\n\nel.Features(lambda s: [random.randrange(4)], active=1, size=4).table([0])",
        "features '<lambda>' (mine.py, line 5): 'random.randrange' is used once and the result is cached; "
        "make it a function of the aleatoric state alone",
    ),
    line(
        "states",
        "an aggregation that raises an exception",
        'el.seen_through("service-station", lambda memory: 1 // 0)',
        "aggregation '<lambda>' raised ZeroDivisionError at (memory,) = ((-1, (0, 0, 0, 0)),): integer "
        "division or modulo by zero (mine.py, line 3)",
    ),
    line(
        "tasks",
        "matrices that are no list",
        "el.mdp(5, [[0, 0]])",
        "P: 5; give a matrix for each action",
    ),
    line(
        "rewards",
        "a matrix of rewards that is no matrix",
        "el.mdp([[[1, 0], [0, 1]]], [[0, 1], [1]])",
        "R: [[0, 1], [1]]; give numbers of shape (2, 1) or (2, 1, 2), or a sparse matrix for each action",
    ),
    line(
        "rewards",
        "a reward range of one number",
        "el.mdp([[[1, 0], [0, 1]]], [[0], [1]], reward_range=(1,))",
        "reward_range: (1,); give two finite numbers, the lower first",
    ),
    line(
        "tasks",
        "a function that makes a task and raises",
        'def broken():\n    raise KeyError("stall")\n\nel.run(broken)',
        "task 'broken' raised KeyError: 'stall' (mine.py, line 4)",
    ),
    line(
        "tasks",
        "an action that puckworld does not have",
        'el.Agent("puckworld", "always").observe(0, executed="north")',
        "action: 'north'; known: up, left, down, right",
    ),
    line(
        "agents",
        "a saved agent that is no such file",
        'el.Agent("riverswim").load("none.npz")',
        "none.npz: there is no such file",
    ),
    line(
        "agents",
        "a saved agent that is damaged",
        'import pathlib\n\npathlib.Path("broken.npz").write_text("nonsense")\nel.Agent("riverswim").load("broken.npz")',
        "broken.npz: not a complete agent state (File is not a zip file)",
    ),
    line(
        "agents",
        "a saved agent of another task",
        'el.Agent("riverswim").save("agent.npz")\nel.Agent("service-station").load("agent.npz")',
        "agent.npz: it was saved with task 'riverswim'; this agent has 'service-station'",
    ),
    line(
        "agents",
        "a saved agent of another design",
        'el.Agent("service-station", "q-learning").save("agent.npz")\nel.Agent("service-station").load("agent.npz")',
        "agent.npz: it was saved with design 'q-learning'; this agent has 'versatile'",
    ),
    line(
        "agents",
        "a saved agent that is compressed",
        "import numpy as np\n"
        "\n"
        'np.savez_compressed("agent.npz", x=np.zeros(9))\n'
        'el.Agent("riverswim").load("agent.npz")',
        "agent.npz: not a complete agent state (x.npy is compressed)",
    ),
    line(
        "agents",
        "a snapshot without a part",
        'agent = el.Agent("service-station")\n'
        "state = agent.snapshot()\n"
        'del state.algorithmic["t"]\n'
        "agent.restore(state)",
        "not a complete agent state ('t' is missing)",
    ),
    line(
        "agents",
        "a snapshot of arrays of another shape",
        'agent = el.Agent("service-station", "growing-horizon")\n'
        'agent.restore(el.Agent("t-maze", "growing-horizon").snapshot())',
        "the agent state has arrays {'cells': (29, 10)}, the design 'growing-horizon' has {'cells': (2, 10)}",
    ),
    line(
        "agents",
        "a result that is the state of an agent",
        'el.Agent("riverswim").save("agent.npz")\nel.load("agent.npz")',
        "agent.npz: is the state of an agent; give it to agent.load; a result is written by Result.save",
    ),
    line(
        "specs",
        "a file in the place of an experiment",
        "import pathlib\n"
        "\n"
        'pathlib.Path("out").write_text("mine")\n'
        'el.experiment("riverswim", ["always"], steps=10, runs=1, out="out")',
        "out: is a file; give a directory",
    ),
    line(
        "specs",
        "an experiment in a directory of durable agents",
        'el.live("out", "riverswim").close()\nel.experiment("riverswim", ["always"], steps=10, runs=1, out="out")',
        "out: there are durable agents in it; give the experiment a directory of its own",
    ),
    line(
        "specs",
        "a directory without an experiment",
        'el.Experiment("nowhere").table()',
        "nowhere: there is no experiment here; make one with 'everlearn experiment run'",
    ),
    line(
        "specs",
        "an experiment that is a file",
        'import pathlib\n\npathlib.Path("out").write_text("mine")\nel.Experiment("out")',
        "out: is a file; give a directory",
    ),
    line(
        "specs",
        "a search without its steps",
        'el.tune({"task": "riverswim", "agent": "always", "search": {"agent.policy": ["left", "right"]}})',
        "steps: None; is missing; say how many steps each run takes, as in steps = 1e6",
    ),
    line(
        "tasks",
        "more pairs than theory may use",
        'print(el.Theory("service-station", max_pairs=2).optimum)',
        "task 'service-station' has more than 2 pairs of memory and aleatoric state, and theory needs all; "
        "let its memory take fewer values, or give el.Theory a larger max_pairs",
    ),
    line(
        "specs",
        "an experiment with a damaged manifest",
        "import pathlib\n"
        "\n"
        'el.experiment("riverswim", ["always"], steps=10, runs=1, out="out")\n'
        'pathlib.Path("out/manifest.json").write_text("[]")\n'
        'el.Experiment("out").table()',
        "out/manifest.json: is damaged (it is not complete)",
    ),
    line(
        "schedules",
        "a horizon that is too large for a number",
        'el.run("riverswim", parameters={"schedule.horizon_power": 400}, schedule="smooth", steps=10, '
        'engine="reference")',
        "horizon at t = 6: inf; must be finite",
    ),
    line(
        "tasks",
        "a discretiser without labels",
        'el.from_gymnasium("FrozenLake-v1", discretiser=len)',
        "task.discretiser: <built-in function len>; give something with labels that maps a point to one of them",
    ),
    line(
        "tasks",
        "options of an environment that a function makes",
        'el.from_gymnasium(dict, options={"a": 1})',
        "task.options: {'a': 1}; a function of yours sets them itself",
    ),
    line(
        "tasks",
        "features for a grid that only a table has",
        'el.Agent(el.from_gymnasium("CartPole-v1", discretiser="fine"), "linear", '
        'parameters={"agent.features": "pairs"})',
        "features: 'pairs'; the states of this task are a grid; write auto or tiles:TILINGS:TILES, as in tiles:8:8; "
        "or list the states, as with task.discretiser=uniform",
    ),
    line(
        "tasks",
        "an argument of el.from_gymnasium that there is not",
        'el.from_gymnasium("CartPole-v1", discretizer="uniform")',
        "argument of el.from_gymnasium: 'discretizer'; known: action_levels, bins, discretiser, environment, high, "
        "low, model, options, raw, reward_levels, reward_range, rewards, termination_reward, tilings, time_limit, "
        "trial_steps (did you mean discretiser?)",
    ),
    line(
        "tasks",
        "a point of an environment without one of its parts",
        "import gymnasium\n\nspace = gymnasium.spaces.Dict(place=gymnasium.spaces.Discrete(4), "
        "load=gymnasium.spaces.Discrete(2))\n"
        "from everlearn.adapters.spaces import reading\n\nreading(space, len).read({'place': 3})",
        "point: {'place': 3}; is not in the observation space, Dict('place': Discrete(4), 'load': Discrete(2))",
    ),
    line(
        "states",
        "fewer hashed features than parts of a state",
        'el.Agent("access-control", "linear", parameters={"agent.features": "hashed:1"})',
        "features: 'hashed:1'; give a number of features from 3 to 16,777,216",
    ),
    line(
        "rewards",
        "a text as a reward function",
        'el.Reward("profit")',
        "reward: 'profit'; give a function of (s, action, observation)",
    ),
    line(
        "agents",
        "a function that makes something else than a design",
        'def seven():\n    return 7\n\nel.Agent("riverswim", seven)',
        "agent: 'seven'; returned an int, not a design; return one, as in el.Design(build, act, learn)",
    ),
    line(
        "states",
        "a history that cannot happen",
        'el.seen_through("riverswim", "natural").after([("left", 5)])',
        "history: ('left', 5); cannot happen there",
    ),
    line(
        "agents",
        "a state without arrays",
        'el.Agent("riverswim").restore(el.AgentState(0, 3, {}))',
        "not a complete agent state (its epistemic state is not arrays by name)",
    ),
    line(
        "agents",
        "a state without a mapping",
        'el.Agent("riverswim").restore(el.AgentState(0, {}, 3))',
        "not a complete agent state (its algorithmic state is no mapping)",
    ),
    line(
        "live",
        "a reward of a log that is not a number",
        'agent = el.live("agent", actions=["off", "on"], observations=["dry", "wet"], reward_range=(0, 1))\n'
        'agent.warm_start([("dry", "on", float("nan"))])',
        "row 1 of the log: ['dry', 'on', nan, None, None, None]; reward: nan; must be finite",
    ),
    line(
        "live",
        "a backup of a directory that is not there",
        'from everlearn.durable.backup import backup\n\nbackup("none", "copy.db")',
        "none/everlearn.db: there is no such file",
    ),
    line(
        "live",
        "a log in lines with an unknown key",
        "import pathlib\n"
        "\n"
        'line = \'{"observation": 1, "action": "left", "weather": "fine"}\'\n'
        'pathlib.Path("log.jsonl").write_text(line)\n'
        'el.replay("log.jsonl", task="riverswim")',
        "row 1 of the log: {'observation': 1, 'action': 'left', 'weather': 'fine'}; give observation, "
        "action and, where rewards are given, reward",
    ),
    call(
        "a policy whose probabilities are zero",
        'el.Agent("riverswim", el.Design(mine.build, mine.act, mine.learn, policy=lambda k: k.q)).policy',
        "agent 'agent': policy returned 0, 0 for state 0; return probabilities that sum to one",
    ),
    call(
        "a text among the arrays that an agent shows",
        'el.Agent("riverswim", el.Design(mine.build, mine.act, mine.learn, inspect=lambda k, now: {"Q": '
        '"text"})).inspect()',
        "agent 'agent': inspect returned 'text' as Q; return an array of numbers",
    ),
    call(
        "the policy of an agent that does not tell it",
        'el.Agent("riverswim", mine.agent).policy',
        "policy: 'agent'; this design has no policy function",
    ),
    call(
        "a parameter of a design that is made already",
        'el.Agent("riverswim", mine.agent, parameters={"agent.x": 1})',
        "parameter: 'agent.x'; this design is made already; pass the function that makes it, which takes parameters",
    ),
    call(
        "a function that Numba compiled",
        'import numba\n\nel.Agent("riverswim", el.Design(mine.build, numba.njit(mine.act), mine.learn))',
        "agent 'agent': act uses act, which Numba compiled without checks (decorated by Numba); leave out "
        "the decorator; everlearn compiles it, with checks",
    ),
    call(
        "a function that calls itself",
        "def act(k, s, now, stream):\n"
        "    return 0 if s == 0 else act(k, s - 1, now, stream)\n"
        "\n"
        'el.run("riverswim", el.Design(mine.build, act, mine.learn), steps=10, engine="compiled")',
        "the agent 'agent' cannot be compiled: act calls itself, which compiled code cannot check",
    ),
    call(
        "values that are no table",
        "agent = el.Design(mine.build, mine.act, mine.learn, values=lambda k: 3, masks=True)\n"
        'el.live("agent", "riverswim", agent=agent, allowed={0: ["left"]})',
        "agent 'agent': values returned an int; return an array of float64 of shape (6, 2)",
    ),
]
