"""Mistakes with the client, of which the service learns nothing, and with how a durable agent forgets."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_durable import pump, reopened
from tests.boundary.mistakes_gymnasium import line

PUMP = 'client = el.Client("http://127.0.0.1:9", "pump", deadline=0.05, fallback="off")\n'


def client(title: str, text: str, answer: str) -> Mistake:
    """Return a mistake with a client."""
    return line("live", title, f"{PUMP}{text}", answer)


MISTAKES = [
    client(
        "a client observes a reward that is no number",
        'client.act()\nclient.observe("low", reward=float("nan"))',
        "reward: nan; give a finite number",
    ),
    client(
        "a client observes a reward that is a truth value",
        'client.act()\nclient.observe("low", reward=True)',
        "reward: True; give a number",
    ),
    client(
        "a client observes a set",
        'client.act()\nclient.observe({"low"})',
        "observation: {'low'}; a set cannot be sent as JSON; give numbers, texts, lists or dicts of them",
    ),
    client(
        "a client says that bytes were executed",
        'client.observe("low", executed=b"off")',
        "executed: b'off'; bytes is not supported, use an int, a str or a tuple of these",
    ),
    client(
        "the actions that a client allows are a text",
        'client.act(allowed="off")',
        "allowed: 'off'; give a list of actions",
    ),
    client(
        "a client creates an agent with a function",
        'client.create({"reward": lambda state, action, observation: 0})',
        "setup.reward: '<lambda>'; a function cannot be sent as JSON; give numbers, texts, lists or dicts of them",
    ),
    client(
        "a client creates an agent without a setup",
        "client.create(None)",
        'setup: None; give a dict with the arguments of el.live, such as {"actions": [...], "observations": [...]}',
    ),
    client(
        "the fallback of a client is not among the actions",
        'client.create({"actions": ["on", "idle"], "observations": ["low"]})',
        "fallback: 'off'; is not among the actions, ['on', 'idle']",
    ),
    client(
        "an agent is moved to no place",
        "client.move(None)",
        "to: None; give the address of a service, or the number of a shard",
    ),
    line(
        "live",
        "a client without an address",
        'el.Client(None, "pump")',
        "url: None; write http://HOST:PORT or https://HOST:PORT",
    ),
    line(
        "live",
        "a client without the name of an agent",
        'el.Client("http://127.0.0.1:9", None)',
        'agent: None; give the name of an agent of the service, such as "pump"',
    ),
    line(
        "live",
        "a deadline that is text",
        'el.Client("http://127.0.0.1:9", "pump", deadline="1")',
        "deadline: '1'; give a number of seconds up to 86,400",
    ),
    line(
        "live",
        "a token that is a number",
        'el.Client("http://127.0.0.1:9", "pump", token=5)',
        "token: '...'; must be a text",
    ),
    pump(
        "a reward that is a truth value",
        "",
        'agent.act()\nagent.observe("dry", reward=True)',
        'reward: True; the setup has reward="given": pass the reward, a number',
    ),
    pump(
        "forgetting of an agent without a schedule",
        "",
        "agent.forgetting(0.1)",
        "forgetting: 0.1; the agent is 'versatile', which takes no schedule, and follows changes by itself; leave it "
        "out, or create another agent with agent='growing-horizon'",
    ),
    pump(
        "forgetting that is more than all",
        ', agent="growing-horizon"',
        "agent.forgetting(1.5)",
        "forgetting: 1.5; give a number from 0 to 1, as in 0.1",
    ),
    reopened(
        "a parameter of a schedule for an agent that takes none",
        "",
        ', parameters={"schedule.forgetting": 0.1}, accept_changes=True',
        "parameter: 'schedule.forgetting'; the agent is 'versatile', which takes no schedule, and follows changes by "
        "itself; leave it out, or create another agent with agent='growing-horizon'",
    ),
]
