"""The other state of the agent ``learned``: what each action has brought since the last event.

An *event* is an observation whose mean reward differs from that of the most frequent observation: in many tasks,
everything begins anew after it.  Since the last event, each action has a *leader*, an observation, and a *lead*.  When
the action brings its leader, the lead grows by 1; when it brings another observation, the lead falls by 1; at 0, the
next observation becomes the leader.  So if an action brings one of two observations, the lead is by how much one was
more frequent: the evidence of all that was observed, of which a window sees a part.  If it brings one only, the lead is
a count, such as an age.

The tally consists of the aleatoric state, the last event, and the leaders and leads of all actions.  It has a row in a
table of bounded size, which a hash finds, and the rows are learned as those of growing-horizon are.

How far leads are told apart is learned too, for each action and leader: all leads of n or more have the same row, for n
= 1 at first.  For each row, the agent compares how often the action brings its leader after a lead of n with how often
after a greater one, and sums the product of the error of the first prediction and the difference of the two.  If the
sum is so many standard deviations above 0, n is doubled.
"""

from __future__ import annotations

import math

from everlearn.agents import growing_horizon, phases
from everlearn.agents.growing_horizon import OffsetValues
from everlearn.agents.tabular import largest
from everlearn.agents.tree import Tree
from everlearn.protocol import Experience, ScheduleValues

ROWS = 4096
"""The number of rows of the table."""

MOST_TOLD = 8
"""The greatest lead that is told apart from greater ones."""

EFFECT = 0.02
"""By how much the mean reward of an event must differ, with rewards from 0 to 1."""

EVIDENCE = 4.0
"""By how many standard deviations the sum of the products must exceed 0, for greater leads to be told apart."""

LEAST_PRODUCT = 1e-4
"""The least mean of these products: the square of a difference of chances of 0.003."""

MEMORY = 1000.0
"""A chance is estimated from about so many visits to a row."""

PROBES = 8
"""The number of rows in which a tally may be."""

FREE = -1
"""In place of a code: a row that is not used."""

NUMBER, PAID = 0, 1
"""The last axis of ``paid``: how often an observation was made, and the sum of the rewards."""

PRODUCTS, SQUARES = 1, 2
"""The last axis of ``agreed``, after the number: the sums of the products and of their squares."""

WHOLE, EXACT, GREATER = range(3)
"""The third axis of ``chances``: after a lead of n or more, of n, and of more than n."""


def values_of(knowledge: Tree) -> OffsetValues:
    """Return the values of the rows as growing-horizon has them."""
    return OffsetValues(knowledge.rows, knowledge.constants)


def row_of(knowledge: Tree, code: int) -> int:
    """Return the row of a code: the first one that is its own or is free, of some rows; if there is none, any."""
    rows = knowledge.codes.shape[0]
    for probe in range(PROBES):
        row = (code + probe) % rows
        if knowledge.codes[row] == code or knowledge.codes[row] == FREE:
            return int(row)
    return int(code % rows)


def take_row(knowledge: Tree, aleatoric_state: int) -> int:
    """Return the row of the present tally, and make it its own if it is free."""
    code = code_of(knowledge, aleatoric_state)
    row = row_of(knowledge, code)
    if knowledge.codes[row] == FREE:
        knowledge.codes[row] = code
    return row


def code_of(knowledge: Tree, aleatoric_state: int) -> int:
    """Return a number for the present tally, by which its row is found."""
    past = knowledge.past
    actions = knowledge.told.shape[0]
    event = len(knowledge.slots)
    code = mixed(aleatoric_state + 1 + ((past[event] + 1) << 24))
    for a in range(actions):
        lead = past[event + 1 + actions + a]
        if lead > 0:
            leader = past[event + 1 + a]
            code = mixed(code ^ ((a + 1) << 36 | leader << 8 | min(lead, knowledge.told[a, leader])))
    return code


def mixed(code: int) -> int:
    """Return a number of 31 bits that depends on all bits of a number."""
    code = (code ^ (code >> 31)) & 0x7FFFFFFF
    code = ((code ^ (code >> 16)) * 0x45D9F3B) & 0x7FFFFFFF
    code = ((code ^ (code >> 15)) * 0x45D9F3B) & 0x7FFFFFFF
    return code ^ (code >> 16)


def is_event(knowledge: Tree, observation: int) -> bool:
    """Return whether the mean reward of an observation differs from that of the most frequent one."""
    paid = knowledge.paid
    usual = knowledge.usual[0]
    if observation == usual or paid[observation, NUMBER] == 0.0:
        return False
    difference = paid[observation, PAID] / paid[observation, NUMBER] - paid[usual, PAID] / paid[usual, NUMBER]
    return bool(abs(difference) > EFFECT)


def move(knowledge: Tree, action: int, observation: int) -> None:
    """Move the tally one step on."""
    past = knowledge.past
    actions = knowledge.told.shape[0]
    event = len(knowledge.slots)
    place = event + 1 + actions + action
    if is_event(knowledge, observation):
        past[event] = observation
        for i in range(event + 1, event + 1 + 2 * actions):
            past[i] = 0
    elif past[place] == 0:
        past[event + 1 + action] = observation
        past[place] = 1
    elif past[event + 1 + action] == observation:
        past[place] = min(past[place] + 1, knowledge.told[action, observation] + 1)
    else:
        past[place] -= 1


def count(knowledge: Tree, observation: int, reward: float) -> None:
    """Count an observation and its reward, from which events follow."""
    paid = knowledge.paid
    paid[observation, NUMBER] += 1.0
    paid[observation, PAID] += reward
    if paid[observation, NUMBER] > paid[knowledge.usual[0], NUMBER]:
        knowledge.usual[0] = observation


def compare(knowledge: Tree, row: int, action: int, observation: int) -> None:
    """Predict whether an action brings its leader, and find out whether greater leads must be told apart."""
    event = len(knowledge.slots)
    leader = knowledge.past[event + 1 + action]
    lead = knowledge.past[event + 1 + knowledge.told.shape[0] + action]
    told = knowledge.told[action, leader]
    if lead < told or told >= MOST_TOLD:
        return
    part = EXACT if lead == told else GREATER
    chances = knowledge.chances
    hit = 1.0 if observation == leader else 0.0
    product = (hit - chances[row, action, WHOLE, 1]) * (chances[row, action, part, 1] - chances[row, action, WHOLE, 1])
    for which in (WHOLE, part):
        n = min(chances[row, action, which, 0] + 1.0, MEMORY)
        chances[row, action, which, 0] = n
        chances[row, action, which, 1] += (hit - chances[row, action, which, 1]) / n
    agreed = knowledge.agreed
    agreed[action, leader, NUMBER] += 1.0
    agreed[action, leader, PRODUCTS] += product
    agreed[action, leader, SQUARES] += product * product
    total = agreed[action, leader, PRODUCTS]
    least = LEAST_PRODUCT * agreed[action, leader, NUMBER]
    if total > least and total > EVIDENCE * math.sqrt(agreed[action, leader, SQUARES]):
        knowledge.told[action, leader] = 2 * told
        agreed[action, leader, NUMBER] = 0.0
        agreed[action, leader, PRODUCTS] = 0.0
        agreed[action, leader, SQUARES] = 0.0
        for r in range(chances.shape[0]):
            for which in range(3):
                chances[r, action, which, 0] = 0.0
                chances[r, action, which, 1] = 0.0


def learn_in_row(values: OffsetValues, step: Experience, now: ScheduleValues) -> None:
    """Learn as growing-horizon does, but let a try neither be held nor end the hold of another action."""
    s = step.aleatoric_state
    tried = values.cells["left"].shape[1] > 0 and is_try(values, s, step.action)
    n = growing_horizon.update(values, step, now)
    if not tried:
        growing_horizon.hold(values, s, step.action, n)


def is_try(values: OffsetValues, s: int, a: int) -> bool:
    """Return whether growing-horizon would not have taken an action: another one is held, or is greedy."""
    if values.cells["left"][s, 0] >= 1.0:
        return bool(values.cells["held"][s, 0] != a)
    u = values.cells["value"]
    return bool(u[s, a] < largest(u, s))


def acts(knowledge: Tree) -> bool:
    """Return whether the agent acts by the tally."""
    return bool(knowledge.choice["tally"][0, 0] > 0.0)


def is_used(knowledge: Tree) -> bool:
    """Return whether the tally is kept: once a question was found that predicts what is observed."""
    return bool(knowledge.choice["hidden"][0, 0] > 0.0)


def begin(knowledge: Tree, t: float) -> None:
    """Begin to keep the tally."""
    if not is_used(knowledge):
        knowledge.choice["hidden"][0, 0] = 1.0
        phases.begin_phase(knowledge.choice, t, max(knowledge.shortest, knowledge.phase * t), 1.0)


def take_turns(knowledge: Tree, reward: float, t: float) -> None:
    """Credit a reward to the one that acts; at the end of a phase, choose who acts next."""
    choice = knowledge.choice
    phases.credit(choice, reward, t)
    if t >= choice["ends"][0, 0]:
        phases.end_phase(choice, int(choice["tally"][0, 0]), t)
        phases.begin_phase(choice, t, max(knowledge.shortest, knowledge.phase * t), 1.0)
        least = knowledge.least
        difference = phases.gap(choice)
        if difference * least > knowledge.price:
            least = knowledge.price / difference
        choice["tally"][0, 0] = phases.next_to_act(choice, least)


def earned_more(knowledge: Tree) -> bool:
    """Return whether the tally earned more than the tree, as far as both have acted."""
    if not is_used(knowledge) or not (knowledge.choice["steps"] > 0.0).all():
        return acts(knowledge)
    return phases.lead(knowledge.choice, 0.0) >= 0.0
