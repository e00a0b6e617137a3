"""Mistakes on the command line, in specs, and in modules of a user's own."""

from __future__ import annotations

from typer.main import get_command

from everlearn.cli.main import app
from tests.boundary.mistake import Mistake

MINE = """\
from typing import NamedTuple

import numpy as np

import everlearn as el


class Known(NamedTuple):
    n: np.ndarray


def build(task):
    return Known(np.zeros(task.actions))


def act(knowledge, aleatoric_state, now, stream):
    return int(np.argmin(knowledge.n))


def learn(knowledge, experience, now, stream):
    knowledge.n[experience.action] += 1


agent = el.Design(build, act, learn)
"""

ACT = """\
def act(knowledge, aleatoric_state, now, stream):
    return int(np.argmin(knowledge.n))
"""

AGENT = "agent = el.Design(build, act, learn)\n"

FACTORIES = """\
import everlearn as el


def forgets(*, rate: float = 0.1):
    el.Design(build=None, act=None, learn=None)


def divides(*, rate: float = 0.1):
    return 1 / (rate - rate)


def positional(rate=0.1):
    return None


def demands(*, rate):
    return None


def asks(rate):
    return None
"""

RUN = "everlearn run riverswim --agent {} --steps 100"
"""Modules are imported before an engine is chosen."""
WANTED = "give a design, as in el.Design(build, act, learn), or a function without required arguments that returns one"
MOST = "9,007,199,254,740,992"

MODULES = [
    Mistake(
        group="agents",
        title="a function in place of an agent",
        files={"mine.py": MINE},
        call=RUN.format("mine:act") + " --engine {engine}",
        answer=(
            "agent: 'mine:act'; is a function of (knowledge, aleatoric_state, now, stream), not an agent; "
            f"{WANTED}; in mine there is agent"
        ),
        shown=ACT,
    ),
    Mistake(
        group="agents",
        title="a function in place of an agent, in a script",
        files={"mine.py": MINE + "\nel.run('riverswim', act)\n"},
        call="python mine.py",
        answer=(
            "agent: 'act'; is a function of (knowledge, aleatoric_state, now, stream), not an agent; "
            f"{WANTED}; in __main__ there is agent"
        ),
        shown="el.run('riverswim', act)\n",
    ),
    Mistake(
        group="agents",
        title="an agent that its module does not have",
        files={"mine.py": MINE},
        call=RUN.format("mine:agnet"),
        answer="agent: 'mine:agnet'; known: Known, act, agent, build, learn (did you mean agent?); these are in mine",
        shown=AGENT,
    ),
    Mistake(
        group="agents",
        title="a factory without a return",
        files={"mine.py": FACTORIES},
        call=RUN.format("mine:forgets"),
        answer="agent: 'mine:forgets'; returned None, not a design; return one, as in el.Design(build, act, learn)",
        shown=FACTORIES[FACTORIES.index("def forgets") : FACTORIES.index("def divides")],
    ),
    Mistake(
        group="agents",
        title="a parameter of a factory that is not keyword-only",
        files={"mine.py": FACTORIES},
        call=RUN.format("mine:positional") + " --set agent.rate=0.2",
        answer="parameter: 'agent.rate'; known: none; make it keyword-only, as in def positional(*, rate=...)",
        shown=FACTORIES[FACTORIES.index("def positional") : FACTORIES.index("def demands")],
    ),
    Mistake(
        group="agents",
        title="a factory that raises",
        files={"mine.py": FACTORIES},
        call=RUN.format("mine:divides") + " --engine {engine}",
        answer="agent 'mine:divides' raised ZeroDivisionError: float division by zero (mine.py, line 9)",
        shown=FACTORIES[FACTORIES.index("def divides") : FACTORIES.index("def positional")],
    ),
    Mistake(
        group="agents",
        title="a factory whose parameter has no default",
        files={"mine.py": FACTORIES},
        call=RUN.format("mine:demands"),
        answer="agent.rate: None; has no default; give it a value",
        shown=FACTORIES[FACTORIES.index("def demands") : FACTORIES.index("def asks")],
    ),
    Mistake(
        group="agents",
        title="a factory whose parameter is not keyword-only",
        files={"mine.py": FACTORIES},
        call=RUN.format("mine:asks"),
        answer=(
            f"agent: 'mine:asks'; is a function of (rate), not an agent; {WANTED}; "
            "in mine there is forgets, divides, positional, demands"
        ),
        shown=FACTORIES[FACTORIES.index("def asks") :],
    ),
    Mistake(
        group="agents",
        title="a file name in place of a module name",
        files={"mine.py": MINE},
        call=RUN.format("mine.py:agent"),
        answer="agent: 'mine.py:agent'; write mine:agent, with the name of the module rather than that of its file",
        shown=AGENT,
    ),
    Mistake(
        group="agents",
        title="a module that does not exist",
        files={},
        call=RUN.format("mien:agent"),
        answer="agent: 'mien:agent'; there is no module 'mien' here or among the installed packages",
    ),
    Mistake(
        group="agents",
        title="a module with a syntax error",
        files={"mine.py": "def act(knowledge, aleatoric_state, now, stream)\n    return 0\n"},
        call=RUN.format("mine:agent"),
        answer=(
            "agent: 'mine:agent'; mine.py, line 1, 'def act(knowledge, aleatoric_state, now, stream)': expected ':'"
        ),
    ),
    Mistake(
        group="agents",
        title="a module that imports a package that is not installed",
        files={"mine.py": "import everlearn as el\nimport numpyy as np\n"},
        call=RUN.format("mine:agent"),
        answer="agent: 'mine:agent'; mine.py, line 2, 'import numpyy as np': No module named 'numpyy'",
    ),
    Mistake(
        group="agents",
        title="a module that raises while it is imported",
        files={"mine.py": "RATES = [0.1, 0.2]\n\nRATE = RATES[2]\n"},
        call=RUN.format("mine:agent"),
        answer="agent 'mine:agent': importing mine raised IndexError: list index out of range (mine.py, line 3)",
    ),
    Mistake(
        group="agents",
        title="a module that exits while it is imported",
        files={"mine.py": "import sys\n\nsys.exit('enough')\n"},
        call=RUN.format("mine:agent"),
        answer="agent 'mine:agent': importing mine raised SystemExit: enough (mine.py, line 3)",
    ),
    Mistake(
        group="agents",
        title="a module with infinite recursion",
        files={"mine.py": "def again():\n    return again()\n\n\nagent = again()\n"},
        call=RUN.format("mine:agent"),
        answer=(
            "agent 'mine:agent': importing mine raised RecursionError: maximum recursion depth exceeded "
            "(mine.py, line 2)"
        ),
    ),
    Mistake(
        group="agents",
        title="a file with the name of a library",
        files={"random.py": MINE},
        call=RUN.format("random:agent"),
        answer="agent: 'random:agent'; random.py here has the name of a module of Python's own library; rename it",
        shown=AGENT,
    ),
    Mistake(
        group="agents",
        title="a file with the name of a library that is installed",
        files={"gymnasium.py": MINE},
        call=RUN.format("gymnasium:agent"),
        answer="agent: 'gymnasium:agent'; gymnasium.py here has the name of a module that is installed; rename it",
        shown=AGENT,
    ),
    Mistake(
        group="schedules",
        title="a function in place of a schedule",
        files={"mine.py": "def horizon(t):\n    return 10.0\n"},
        call="everlearn run riverswim --schedule mine:horizon --steps 100 --engine {engine}",
        answer=(
            "schedule: 'mine:horizon'; is a function of (t), not a schedule; give a schedule, as in el.Schedule(...), "
            "or a function without required arguments that returns one"
        ),
    ),
]

LINES = [
    ("a command that does not exist", "everlearn rum", "command: 'rum'; known: {} (did you mean run?)"),
    (
        "an option that does not exist",
        "everlearn run riverswim --stepz 100",
        "--stepz: no such option; did you mean --steps?",
    ),
    (
        "a flag that has another name",
        "everlearn play riverswim --no-browser",
        "--no-browser: no such option; did you mean --no-open?",
    ),
    (
        "a spec without its command",
        "everlearn experiment two.toml",
        "command: 'two.toml'; known: compare, export, extend, merge, plot, run, status, table; "
        "did you mean everlearn experiment run two.toml?",
    ),
    ("an option without its value", "everlearn run riverswim --steps", "--steps: give a value after it"),
    ("a value for an option that takes none", "everlearn run riverswim --json=yes", "--json: takes no value"),
    (
        "a diagnosis of no steps",
        "everlearn diagnose riverswim --steps 0",
        "--steps: '0'; give a whole number of at least 1",
    ),
    ("a run without a task", "everlearn run", "TASK: is missing; see everlearn run --help"),
    (
        "an experiment without a directory",
        "everlearn experiment run spec.toml",
        "--out: is missing; see everlearn experiment run --help",
    ),
    (
        "two tasks for one run",
        "everlearn run riverswim t-maze",
        "got unexpected extra argument(s) (t-maze); an agent is an option, as in everlearn run TASK --agent AGENT",
    ),
    (
        "steps that are no number",
        "everlearn run riverswim --steps many",
        "--steps: 'many'; give a whole number, such as 10000 or 1e4",
    ),
    (
        "a fraction of a step",
        "everlearn run riverswim --steps 0.5",
        "--steps: '0.5'; give a whole number, such as 10000 or 1e4",
    ),
    ("no steps", "everlearn run riverswim --steps 0", "--steps: '0'; give a whole number of at least 1"),
    (
        "too many steps",
        "everlearn run riverswim --steps 1e30",
        f"--steps: '1e30'; give a whole number of at most {MOST}",
    ),
    ("a negative seed", "everlearn run riverswim --seed -1", "--seed: '-1'; give a whole number of at least 0"),
    ("an infinite seed", "everlearn run riverswim --seed 1e400", "--seed: '1e400'; give a whole number"),
    ("no threads", "everlearn run riverswim --threads 0", "--threads: '0'; give a whole number of at least 1"),
    (
        "more runs than fit into memory",
        "everlearn run riverswim --runs 1e12 --steps 1e6",
        "runs: 1000000000000; takes about 23 PB of memory, 23 kB per run, more than this machine has; give fewer",
    ),
    (
        "a setting without its value",
        "everlearn run riverswim --set task.window",
        "--set: 'task.window'; write KEY=VALUE, as in task.window=6",
    ),
    (
        "a move to nowhere",
        "everlearn move http://127.0.0.1:9 pump",
        "--to: None; name a service with --to, or a shard with --shard",
    ),
    (
        "an address with an invalid port",
        "everlearn mode http://localhost:99999 --agent pump",
        "url: 'http://localhost:99999'; write http://HOST:PORT or https://HOST:PORT",
    ),
    (
        "an address with an empty part",
        "everlearn mode http://a..b --agent pump",
        "url: 'http://a..b'; write http://HOST:PORT or https://HOST:PORT",
    ),
    (
        "a setting of a rule without its value",
        "everlearn promotion machine --set gain",
        "--set: 'gain'; write KEY=VALUE, as in gain=0.05",
    ),
    (
        "a token for a directory",
        "everlearn mode machine --token-file token",
        "--token-file: 'token'; a directory needs no token; leave it out",
    ),
    (
        "a service without shards",
        "everlearn serve --data agents --shards 0",
        "--shards: 0; give a whole number from 1 to 64",
    ),
    ("a port that is no number", "everlearn serve --data agents --port http", "--port: 'http'; give a whole number"),
]

SPEC = 'steps = 100\ntask = "riverswim"\nagent = "always"\n'
INTERPRETED = SPEC + 'engine = "reference"\n'
RATES = 'steps = 100\ntask = "riverswim"\n\n[[agent]]\nname = "q-learning"\n'
TASK = 'steps = 100\nagent = "always"\n\n[[task]]\nname = "garnet"\n'

SPECS = [
    ("steps that are a word", SPEC.replace("100", '"abc"'), "steps: 'abc'; give a whole number, such as 10000 or 1e4"),
    ("a spec without runs", SPEC + "runs = 0\n", "runs: 0; give a whole number of at least 1"),
    (
        "a spec with more runs than fit into memory",
        SPEC + "runs = 1e12\n",
        "runs: 1000000000000; takes about 8.7 PB of memory, 8.7 kB per run, more than this machine has; give fewer",
    ),
    (
        "a key that does not exist",
        SPEC + "sead = 1\n",
        "key: 'sead'; known: agent, engine, max_pairs, name, recording, runs, seed, steps, task (did you mean seed?)",
    ),
    (
        "a spec without an agent",
        'steps = 100\ntask = "riverswim"\n',
        'agent: None; is missing; name at least one, as in [[agent]] and name = "growing-horizon" below it',
    ),
    (
        "one agent twice",
        SPEC.replace('"always"', '["always", "always"]'),
        "agent[2].label: 'always'; is also the label of agent[1]; labels must be unique; "
        'set one: label = "..." in a spec, {"name": ..., "label": "..."} in Python',
    ),
    (
        "a parameter beside the name of its agent",
        RATES + "step_size = 0.1\n",
        "key: 'agent[1].step_size'; is a parameter of the agent; write parameters.step_size",
    ),
    (
        "a parameter of the wrong kind",
        RATES + 'parameters = { step_size = "big" }\n',
        "agent[1], agent.step_size: 'big'; give a number",
    ),
    (
        "a value twice in a grid",
        RATES + "parameters = { step_size = [0.1, 0.1] }\n",
        "agent[1].parameters.step_size: 0.1; appears twice; the values of a grid must differ",
    ),
    (
        "a family over a parameter that does not exist",
        TASK + "family = { sead = 3 }\n",
        (
            "task[1], parameter: 'task.sead'; known: task.actions, task.aleatoric, task.branching, task.distortion, "
            "task.features, task.group, task.seed, task.states (did you mean task.seed?)"
        ),
    ),
    (
        "a member of a family that cannot be made",
        TASK + "family = { seed = [-1] }\n",
        "task[1], seed: -1; give a whole number of at least 0",
    ),
    (
        "families with too many members",
        TASK + "family = { seed = 1e5, states = 1e5 }\n",
        (
            "spec: '10,000,000,000 tasks and 1 agents'; are 10,000,000,000 combinations of a task with an agent; "
            "give at most 100,000"
        ),
    ),
    (
        "a spec that is not TOML",
        "steps: 100\n",
        "spec: 'spec.toml'; is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)",
    ),
    (
        "an agent of the spec that is a function",
        RATES.replace("q-learning", "mine:act"),
        (
            "agent[1], agent: 'mine:act'; is a function of (knowledge, aleatoric_state, now, stream), not an agent; "
            f"{WANTED}; in mine there is agent"
        ),
    ),
]

FOLDERS = [
    Mistake(
        group="specs",
        title="a directory for an experiment that is a file",
        files={"spec.toml": SPEC, "out": "mine"},
        call="everlearn experiment run spec.toml --out out",
        answer="out: is a file; give a directory",
    ),
    Mistake(
        group="specs",
        title="a directory for an experiment below a file",
        files={"spec.toml": SPEC, "notes": "mine"},
        call="everlearn experiment run spec.toml --out notes/out",
        answer="notes/out: notes is a file; give a directory",
    ),
    Mistake(
        group="specs",
        title="fewer steps than were recorded",
        files={"long.toml": INTERPRETED, "short.toml": INTERPRETED.replace("100", "95")},
        call="everlearn experiment run short.toml --out out",
        answer=(
            "steps: 95; the runs in out have 100 already, and were recorded at 89 and 100; give one of these, or "
            "another directory"
        ),
        before=("everlearn experiment run long.toml --out out",),
    ),
    Mistake(
        group="specs",
        title="a confidence in percent",
        files={"spec.toml": INTERPRETED},
        call="everlearn experiment table out --confidence 95",
        answer="--confidence: 95.0; give a number between 0 and 1, as in 0.95",
        before=("everlearn experiment run spec.toml --out out",),
    ),
    Mistake(
        group="specs",
        title="a search without parameters to search",
        files={"spec.toml": SPEC},
        call="everlearn tune spec.toml --out out",
        answer="search: None; is missing; say what to search, as in [search.schedule]",
    ),
    Mistake(
        group="command line",
        title="a check of a backup file",
        files={"pump.db": "a backup"},
        call="everlearn check pump.db",
        answer=(
            "DIR: 'pump.db'; is a file; to check a backup, copy it to everlearn.db in a new directory, and check that"
        ),
        shown="pump.db",
    ),
    Mistake(
        group="command line",
        title="an agent state saved below a file",
        files={"mine.py": "import everlearn as el\n\nel.Agent('riverswim').save('mine.py/agent.npz')\n"},
        call="python mine.py",
        answer="mine.py: is a file; give a directory",
    ),
]

COMMANDS = ", ".join(sorted(get_command(app).list_commands(None)))

MISTAKES = [
    *MODULES,
    *(
        Mistake(group="command line", title=title, files={}, call=call, answer=answer.replace("{}", COMMANDS))
        for title, call, answer in LINES
    ),
    *(
        Mistake(
            group="specs",
            title=title,
            files={"spec.toml": text, **({"mine.py": MINE} if "mine" in text else {})},
            call="everlearn experiment run spec.toml --out out",
            answer=answer,
            shown=text,
        )
        for title, text, answer in SPECS
    ),
    *FOLDERS,
    Mistake(
        group="command line",
        title="a setting of the service with a value of the wrong kind",
        files={"service.toml": 'data = "agents"\nport = [8321]\n'},
        call="everlearn serve --config service.toml",
        answer="service.toml: port: [8321]; give a number or a text",
    ),
    Mistake(
        group="command line",
        title="a file of settings that is not TOML",
        files={"service.toml": "data: agents\n"},
        call="everlearn serve --config service.toml",
        answer=(
            "--config: 'service.toml'; it is not TOML: "
            "Expected '=' after a key in a key/value pair (at line 1, column 5)"
        ),
    ),
]
