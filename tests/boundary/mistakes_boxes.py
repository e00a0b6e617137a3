"""Mistakes with a durable agent whose observations are points of a box."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_live import script

ROOM = """import everlearn as el

box = el.Box(low=[10, 0], high=[30, 1])
agent = el.live("agent", actions=["off", "on"], observations=box, reward_range=(0, 1))
agent.act()
"""
CAR = """import everlearn as el

parameters = {"task.rewards": "-1,0"}
agent = el.live("agent", "gymnasium:MountainCar-v0", agent="linear", parameters=parameters)
agent.act()
"""
MADE = """import everlearn as el

setup = {{"actions": ["off", "on"], "observations": el.Box([10, 0], [30, 1]), "reward_range": (0, 1)}}
el.live("agent", **{{**setup, {entry}}})
"""


def observed(title: str, point: str, answer: str) -> Mistake:
    """Return an observation that is no point of the box of a room."""
    return script(title, f"{ROOM}agent.observe({point}, reward=0.5)\n", answer)


def driven(title: str, line: str, answer: str) -> Mistake:
    """Return a mistake with a car, for which Gymnasium brings the observations."""
    return script(title, f"{CAR}{line}\n", answer)


def room(title: str, entry: str, answer: str) -> Mistake:
    """Return a mistake in the setup of a room."""
    return script(title, MADE.format(entry=entry), answer)


MISTAKES = [
    observed(
        "a measurement that is not a number",
        "[float('nan'), 0.5]",
        "observation: (nan, 0.5); coordinate 1 is not a number",
    ),
    observed("a measurement as a text", "['21.5', 0.5]", "observation: ('21.5', 0.5); coordinate 1 is not a number"),
    observed(
        "a measurement outside the box",
        "[31.0, 0.5]",
        "observation: (31.0, 0.5); coordinate 1 lies outside 10 to 30; clip it, or declare wider bounds",
    ),
    observed("a measurement too few", "[21.5]", "observation: (21.5,); has length 1; give 2 numbers"),
    observed("a text in place of measurements", "'warm'", "observation: 'warm'; is no list of 2 numbers"),
    observed(
        "measurements by name, in a box without names",
        "{'temperature': 21.5}",
        "observation: {'temperature': 21.5}; is no list of 2 numbers",
    ),
    room(
        "a box whose bounds are equal",
        "'observations': el.Box([10], [10])",
        "high: 10.0; coordinate 1 must be finite, and greater than 10 by more than rounding errors",
    ),
    room(
        "a box with more upper bounds than lower ones",
        "'observations': el.Box([10], [30, 1])",
        "high: [30.0, 1.0]; give as many numbers as in low",
    ),
    room(
        "a box without a bound",
        "'observations': el.Box([10], [float('inf')])",
        "high: [inf]; give a list of numbers, one for each coordinate, each finite",
    ),
    room(
        "a box with too many coordinates for tiles",
        "'observations': el.Box([0] * 65, [1] * 65)",
        "features: 'auto'; makes 258 tilings of 65 coordinates, at most 256; give fewer, as in tiles:4:8, "
        "fewer coordinates, or the agent network",
    ),
    room(
        "a window of points of a box",
        "'aleatoric': 'window:3'",
        "aleatoric: 'window:3'; observations are a box, so the state is the last one: give last, or an "
        "el.AleatoricState with such states",
    ),
    room(
        "an agent with a table, in a box",
        "'agent': 'q-learning'",
        "agent: 'q-learning'; needs a table; give an agent with features, such as linear",
    ),
    room(
        "a first point outside the box",
        "'start': [9, 0]",
        "start: [9, 0]; coordinate 1 lies outside 10 to 30; clip it, or declare wider bounds",
    ),
    room(
        "actions that are allowed by state, in a box",
        "'allowed': {'warm': ['off']}",
        "allowed: [['warm', ['off']]]; is by state, and the states are points of a box; pass allowed with "
        "each call of act",
    ),
    room(
        "a promotion rule, in a box",
        "'promotion': {'gain': 0}",
        "promotion: {'gain': 0.0, 'steps': 0, 'hours': 0.0, 'every': 1000, 'error': 0.05, 'to': 'frozen', "
        "'demote': True}; a rule estimates from states that are listed, and those of this agent are points of "
        "a box; leave it out",
    ),
    script(
        "the policy of an agent on a box",
        f"{ROOM}agent.policy()\n",
        "policy: 'linear'; the states are points of a box, too many for a table of values or actions; ask "
        "act() in frozen mode",
    ),
    script(
        "a report about an agent on a box",
        f"{ROOM}agent.report()\n",
        "agent: 'agent'; has states that are points of a box, and an estimate needs states that are listed",
    ),
    script(
        "an estimate from the journal of an agent on a box",
        f"{ROOM}agent.observe([21.5, 0.5], reward=0.5)\nel.evaluate('agent', 'on')\n",
        "agent: 'agent'; has states that are points of a box, and an estimate needs states that are listed",
    ),
    script(
        "another box for the same directory",
        f"{ROOM}agent.close()\nel.live('agent', observations=el.Box([10, 0], [35, 1]))\n",
        "agent: the observations changed: high was 30.0 and is now 35.0; the states changed: high was 30.0 "
        "and is now 35.0; what the agent knows does not fit; use a new directory",
    ),
    script(
        "a durable agent with a table, for an environment without bounds",
        "import everlearn as el\n\nel.live('agent', 'gymnasium:CartPole-v1', parameters={'task.rewards': 1})\n",
        "agent: 'versatile'; needs a table; give an agent with features, such as linear, or task.discretiser=quantile",
    ),
    driven(
        "a point without the reward that came with it",
        "agent.observe([-0.5, 0.01])",
        "observation: (-0.5, 0.01); give (point, reward, mark): the rewards are -1, 0",
    ),
    driven(
        "a reward beside an observation that contains it",
        "agent.observe(([-0.5, 0.01], -1, ''), reward=-1)",
        "reward: -1; follows from the setup; leave it out",
    ),
    driven(
        "a point with an unknown mark",
        "agent.observe(([-0.5, 0.01], -1, 'over'))",
        "observation: ([-0.5, 0.01], -1, 'over'); the third entry is 'over'; give one of '', 'terminated', 'truncated'",
    ),
    driven(
        "a point outside the space of an environment",
        "agent.observe(([9.0, 0.01], -1, ''))",
        "observation: ([9.0, 0.01], -1, ''); coordinate 1 lies outside -1.2 to 0.6; clip it, or declare wider bounds",
    ),
    driven(
        "a reward that the environment was said not to pay",
        "agent.observe(([-0.5, 0.01], -7, ''))",
        "reward: -7.0; not among those declared: -1, 0; add it, as in task.rewards=-7,-1,0, or round with "
        "task.reward_levels=21 and task.reward_range=-7,0",
    ),
]
