"""Five tasks with a hidden regime, for the board of learned states (``docs/learned.py``).

They were written before any agent was run on them, and no setting was chosen on them.
"""

from __future__ import annotations

from collections.abc import Iterator

import everlearn as el

Outcomes = Iterator[tuple[str, float, object]]


def _mix(chances: dict[str, float], regimes: dict[object, float]) -> Outcomes:
    """Yield every pair of an observation and a next regime, which are independent."""
    for observation, chance in chances.items():
        for regime, share in regimes.items():
            yield observation, chance * share, regime


def _stay(regime: object, others: list[object], change: float) -> dict[object, float]:
    """Return the distribution of the next regime: another one with a small probability."""
    return {regime: 1 - change, **{other: change / len(others) for other in others}}


@el.task(
    actions=["full price", "discount"], observations=["sold full", "sold cheap", "refused"], memory="eager", hidden=True
)
def moods(mood, action) -> Outcomes:
    """Sell to a customer whose mood, eager or thrifty, changes every 50 steps on average and cannot be seen."""
    chance = {"eager": (0.8, 0.9), "thrifty": (0.1, 0.7)}[mood][action == "discount"]
    sold = "sold cheap" if action == "discount" else "sold full"
    other = "thrifty" if mood == "eager" else "eager"
    yield from _mix({sold: chance, "refused": 1 - chance}, _stay(mood, [other], 0.02))


@moods.reward
def _paid(_state, _action, observation) -> float:
    return {"sold full": 1.0, "sold cheap": 0.5, "refused": 0.0}[observation]


@el.task(actions=["wait", "harvest"], observations=["bell", "quiet", "ripe", "unripe"], memory=0, hidden=True)
def season(day, action) -> Outcomes:
    """Harvest on the sixth of nine days: a bell rings on the first day, and nothing else shows which day it is."""
    shown = "bell" if day == 8 else "quiet"
    if action == "harvest":
        shown = "ripe" if day == 5 else "unripe"
    yield shown, 1.0, (day + 1) % 9


@season.reward
def _harvested(_state, _action, observation) -> float:
    return {"ripe": 1.0, "unripe": 0.0}.get(observation, 0.4)


@el.task(actions=["wait", "open"], observations=["blank", "key", "prize", "alarm"], memory=0, hidden=True)
def key(turned, action) -> Outcomes:
    """Open a box three steps after a key was seen, when its lock has turned; until then only blanks are seen."""
    if action == "open":
        yield "prize" if turned == 4 else "alarm", 1.0, 0
    elif turned:
        yield "blank", 1.0, min(turned + 1, 4)
    else:
        yield "key", 0.2, 1
        yield "blank", 0.8, 0


@key.reward
def _opened(_state, _action, observation) -> float:
    return {"prize": 1.0, "alarm": 0.0}.get(observation, 0.3)


@el.task(actions=["a", "b", "c"], observations=["win", "loss"], memory="a", hidden=True)
def favourite(best, action) -> Outcomes:
    """Choose among three options: the favourite wins with 0.8 and the others with 0.2, and it changes now and then."""
    chance = 0.8 if action == best else 0.2
    others = [option for option in "abc" if option != best]
    yield from _mix({"win": chance, "loss": 1 - chance}, _stay(best, others, 0.02))


@favourite.reward
def _won(_state, _action, observation) -> float:
    return float(observation == "win")


@el.task(
    actions=["low", "high"], observations=[(seen, right) for seen in "lh" for right in (0, 1)], memory="l", hidden=True
)
def sensor(level, action) -> Outcomes:
    """Say whether a level is low or high; a sensor shows the next level rightly with probability 0.75."""
    right = int(action[0] == level)
    for following, share in _stay(level, ["h" if level == "l" else "l"], 0.05).items():
        for seen in "lh":
            yield (seen, right), share * (0.75 if seen == following else 0.25), following


@sensor.reward
def _right(_state, _action, observation) -> float:
    return float(observation[1])
