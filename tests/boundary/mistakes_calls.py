"""Mistakes in calls of the public functions: arguments in another order, misspelt, missing or of another kind."""

from __future__ import annotations

from tests.boundary.mistake import Mistake
from tests.boundary.mistakes_agents import COMPLETE, PARTS, row
from tests.boundary.mistakes_live import AGENT, STEP_OWN, declared

SIZE = "give a whole number n of at least 1, to draw from 0 to n - 1"
WANTED = "give a design, as in el.Design(build, act, learn), or a function without required arguments that returns one"
FIRST = "only the first 2 arguments are given without a name"
ORDER = "as in el.run(task, agent) or everlearn run TASK --agent AGENT"


def call(title: str, line: str, answer: str, group: str = "agents") -> Mistake:
    """Return a mistake in one line of a script beside ``mine.py``, in which nothing is wrong."""
    text = f"import everlearn as el\nimport mine\n\n{line}\n"
    return Mistake(group, title, {"use.py": text, "mine.py": COMPLETE}, "python use.py", answer, shown=line + "\n")


CALLS = [
    call(
        "an agent without its name",
        'el.live("agent", "riverswim", mine.agent, seed=3)',
        f"arguments of el.live: ['agent', 'riverswim', Design('agent')]; {FIRST}, as in "
        "el.live(directory, task, agent=...)",
        "live",
    ),
    call(
        "a schedule without its name",
        'el.Agent("riverswim", "growing-horizon", "smooth")',
        f"arguments of el.Agent: ['riverswim', 'growing-horizon', 'smooth']; {FIRST}, as in "
        "el.Agent(task, agent, schedule=...)",
        "schedules",
    ),
    call(
        "a horizon that is no number",
        'el.Theory("riverswim").distortion("ten")',
        "horizon: 'ten'; give a number",
        "tasks",
    ),
    call(
        "a misspelt argument",
        'el.run("riverswim", mine.agent, step=50)',
        "argument of el.run: 'step'; known: agent, engine, finished, max_pairs, parameters, progress, runs, schedule, "
        "seed, steps, task, threads (did you mean steps?)",
    ),
    call(
        "a design without learn",
        "el.Design(mine.build, mine.act)",
        "arguments of el.Design: ['build', 'act']; give learn, too, as in el.Design(build, act, learn)",
    ),
    call(
        "an argument that is there twice",
        'el.run("riverswim", task="service-station")',
        "argument of el.run: 'task'; is there twice; call it as in el.run(task, agent, steps=...)",
    ),
    call(
        "an agent and a task in the wrong order",
        'el.Agent(mine.agent, "riverswim")',
        f"task: Design('agent'); is an agent; the task comes first, {ORDER}",
    ),
    call(
        "two tasks",
        'el.Agent("riverswim", "service-station")',
        f"agent: 'service-station'; is a task; the agent comes second, {ORDER}",
    ),
    call(
        "the module of an agent",
        'el.run("riverswim", mine)',
        f"agent: 'mine'; is neither a design nor a function that makes one; {WANTED}; in this module there is "
        "mine.agent",
    ),
    call(
        "a schedule for a function that takes none",
        'el.run("riverswim", lambda: mine.agent, schedule="smooth")',
        "schedule: 'smooth'; the agent '<lambda>' takes no schedule; leave it out",
        "schedules",
    ),
    Mistake(
        "command line",
        "an agent as a second argument",
        {"mine.py": COMPLETE},
        "everlearn run riverswim mine:agent --steps 10",
        "got unexpected extra argument(s) (mine:agent); an agent is an option, as in everlearn run TASK --agent AGENT",
        shown="",
    ),
    declared(
        "a reward in the place of the executed action",
        'agent.observe("busy", 0.5)',
        "executed: 0.5; known: wait, sell; a reward is passed by name, as in reward=0.5",
    ),
]

DESIGNS = [
    row(
        "learn and act in the wrong order",
        "act reads e.action (mine.py, line 22), of an experience, which only learn is given; the order is "
        "el.Design(build, act, learn)",
        agent="agent = el.Design(build, learn, act)\n",
    ),
    row(
        "a design whose build is None",
        "build is None; give a function of (task)",
        agent="agent = el.Design(None, act, learn)\n",
    ),
    row(
        "build without an argument",
        "build takes (); give a function of (task)",
        build="def build():\n    return Known(np.zeros((6, 2)), np.zeros(2))\n",
    ),
    call(
        "a text in place of True or False",
        'el.Design(mine.build, mine.act, mine.learn, infinite="no")',
        "infinite of the design: 'no'; give True or False",
    ),
    call(
        "a number as the name of a design",
        "el.Design(mine.build, mine.act, mine.learn, name=3)",
        "name of the design: 3; give a text",
    ),
]


def choose(title: str, call: str, given: str) -> Mistake:
    """Return a mistake in the arguments of ``el.choose``."""
    text = f"def act(k, s, now, stream):\n    return {call}\n"
    return row(title, f"act called el.choose{given}", act=text)


CHOICES = [
    choose("act chooses from no numbers", "el.choose(stream, 0)", f" with 0 at step 1 (mine.py, line 18); {SIZE}"),
    choose(
        "act chooses from no numbers at a later step",
        "el.choose(stream, 2 if now.t < 700 else 0)",
        f" with 0 at step 700 (mine.py, line 18); {SIZE}",
    ),
    choose("act chooses below a fraction", "el.choose(stream, 1.5)", f" with 1.5 at step 1 (mine.py, line 18); {SIZE}"),
    choose(
        "act passes the stream second",
        "el.choose(2, stream)",
        "(2, stream) at step 1 (mine.py, line 18); the stream comes first, as in el.choose(stream, n)",
    ),
]

CATCHES = """\
def act(k, s, now, stream):
    try:
        return int(k.q[s, 1] > k.q[s, 0])
    except IndexError:
        return 0
"""

FUNCTIONS = [
    row(
        "act is a partial with a list",
        "act is a partial, which could hold hidden state; give a plain function, and store its data in what build "
        "returns",
        agent="""\
import functools


def first(k, s, now, stream, names):
    return 0


agent = el.Design(build, functools.partial(first, names=[1]), learn)
""",
    ),
    row(
        "act is an object whose type begins with a vowel",
        "act is an Either, which could hold hidden state; give a plain function, and store its data in what build "
        "returns",
        agent="""\
class Either:
    def __call__(self, k, s, now, stream):
        return 0


agent = el.Design(build, Either(), learn)
""",
    ),
    row(
        "act iterates over a set",
        "act depends on the order of a set (mine.py, line 18); it differs from process to process; use indices, and "
        "iterate over a range or a tuple",
        act="""\
def act(k, s, now, stream):
    for name in {"left", "right"}:
        return len(name) % 2
    return 0
""",
    ),
    row(
        "an overflow",
        "learn left infinity in q[0, 0] at step 1; keep to finite numbers, or declare Design(..., infinite=True)",
        learn="def learn(k, e, now, stream):\n    k.q[0, 0] = 1e200\n    k.q[0, 0] *= k.q[0, 0]\n",
    ),
    Mistake(
        "agents",
        "an agent that a large module does not have",
        {"mine.py": COMPLETE + "".join(f"v{number} = {number}\n" for number in range(100))},
        "everlearn run riverswim --agent mine:agnet --steps 10",
        "agent: 'mine:agnet'; known: agent, learn, act, Known, build, ... (did you mean agent?); these are in mine",
        shown="",
    ),
    Mistake(
        "agents",
        "act catches one kind of exception",
        {"mine.py": COMPLETE.replace(PARTS["act"], CATCHES)},
        "everlearn run riverswim --agent mine:agent --steps 100 --engine compiled",
        "the agent 'mine:agent' cannot be compiled: Cannot compile an 'except' of one kind of exception; write 'except "
        """Exception', or check before (File "mine.py", line 20)""",
        shown=CATCHES,
    ),
]

LOGS = [
    declared(
        "a log with an action that does not exist",
        "open('log.csv', 'w').write('observation,action,reward\\nbusy,buy,1\\n')\nagent.observe('busy', reward=1)\n"
        "agent.warm_start('log.csv')",
        "row 1 of the log, action: 'buy'; known: wait, sell",
    ),
    declared(
        "a log with a row that is too short",
        "open('log.csv', 'w').write('observation,action,reward\\nbusy,sell\\n')\nagent.observe('busy', reward=1)\n"
        "agent.warm_start('log.csv')",
        "row 1 of the log: 'busy,sell'; has 2 columns, and the header 3",
    ),
    Mistake(
        "live",
        "a changed design that cannot learn from the journal",
        {
            "own.py": AGENT,
            "edited.py": AGENT.replace("return 0", "return 1 // aleatoric_state"),
            "first.py": f"{STEP_OWN}agent.act()\nagent.observe(1)\nagent.close()\n",
            "mine.py": "import everlearn as el\nfrom edited import mine\n\n"
            "el.live('agent', 'riverswim', agent=mine, accept_changes=True)\n",
        },
        "python mine.py",
        "agent: not accepted, since the journal cannot be replayed with the change: agent 'mine': act raised "
        "ZeroDivisionError at step 1: integer division or modulo by zero (edited.py, line 13)",
        before=("python first.py",),
        shown="mine.py",
    ),
]

MISTAKES = [*CALLS, *DESIGNS, *CHOICES, *FUNCTIONS, *LOGS]
