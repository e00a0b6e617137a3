"""Write ``docs/mistakes.md`` and a page per group from the table of mistakes: ``python -m tests.boundary.page``."""

from __future__ import annotations

import ast
import json
import textwrap
import tomllib
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from tests.boundary.mistake import Mistake, all_mistakes
from tests.boundary.mistakes_agents import COMPLETE
from tests.boundary.mistakes_tasks import shop

DOCS = Path(__file__).parents[2] / "docs"

OPENING = """\
# Mistakes and their messages

No mistake of yours should crash everlearn, give a wrong result silently, or make a run irreproducible. These pages list
{number} mistakes with their error messages. A message is one line: it says what is wrong, where, and what to do
instead. Most messages have the form `argument: value; what is wrong; what to do`. A command prints the message and
exits with code 2. In Python, the message is the text of an exception from `everlearn.errors`. If your own function
raised an exception, the traceback through your own files follows. Both engines give the same message.

The tests in `tests/boundary` make each of these mistakes and compare the messages. These pages are generated from them.

{groups}

```{{toctree}}
:hidden:

{names}
```
"""

INTRODUCTIONS = {
    "agents": f"""\
An example without `import everlearn as el` is a part of the file `mine.py`. Line numbers in messages are those of the
whole file, and a message may name other parts of it. This is the whole file without a mistake:

```python
{COMPLETE.rstrip()}
```

In the examples called "A wrong action in ...", `act` returns -1, and `agent` is a function that returns the design.
""",
    "schedules": "A schedule is a function of time only. Its values are checked at every step.\n",
    "tasks": f"""\
An example without `import everlearn as el` is a part of the file `shop.py`. Line numbers in messages are those of the
whole file. This is the whole file without a mistake:

```python
{shop()["shop.py"].rstrip()}
```
""",
    "rewards": "Most of these are mistakes in `shop.py`, too; [the page on tasks](tasks.md) shows the whole file.\n",
    "states": "Most of these are mistakes in `shop.py`, too; [the page on tasks](tasks.md) shows the whole file.\n",
    "specs": "",
    "command line": "",
    "live": """\
If there are two calls, `first.py` creates the agent and `mine.py` opens it again; the example shows what has changed in
between. `own.py` defines the design `mine`, which is wrong in the way that the title says.
""",
}

HEADINGS = {"states": "Aleatoric states", "specs": "Experiments and searches", "live": "Durable agents"}
FUNCTIONS = ("act", "build", "el.live", "learn")
"""Words with which a title may begin, and which have no capital."""

HERE = "/home/you"
LANGUAGES: dict[str, tuple[str, Callable[[str], object]]] = {
    ".py": ("python", ast.parse),
    ".toml": ("toml", tomllib.loads),
    ".json": ("json", json.loads),
}
"""What a file is highlighted as, and what reads it."""


def pages(mistakes: list[Mistake]) -> dict[str, str]:
    """Return the text of each page by its path in the documentation: an overview, and a page per group."""
    groups = {group: list(rows) for group, rows in groupby(mistakes, key=lambda row: row.group)}
    paths = {group: f"mistakes/{group.replace(' ', '-')}" for group in groups}
    lines = [f"- [{heading(group)}]({paths[group]}.md): {len(rows)} mistakes" for group, rows in groups.items()]
    names = "\n".join(paths.values())
    overview = OPENING.format(number=len(mistakes), groups="\n".join(lines), names=names)
    return {"mistakes.md": overview} | {f"{paths[group]}.md": page(group, rows) for group, rows in groups.items()}


def page(group: str, mistakes: list[Mistake]) -> str:
    """Return the text of the page of a group."""
    parts = [f"# Mistakes: {heading(group).lower()}\n", *([INTRODUCTIONS[group]] if INTRODUCTIONS[group] else [])]
    return "\n".join([*parts, *map(section, mistakes)])


def heading(group: str) -> str:
    """Return what a group is called."""
    return HEADINGS.get(group, group.capitalize())


def section(mistake: Mistake) -> str:
    """Return what the page says of one mistake."""
    first, _, rest = mistake.title.partition(" ")
    blocks = [f"## {first if first in FUNCTIONS else first.capitalize()} {rest}\n"]
    blocks.extend(fenced(language(name, code), code) for name, code in shown(mistake) if code.strip())
    calls = [
        call.replace(" --engine {engine}", "").replace(" {engine}", "").replace("{here}", HERE)
        for call in (*mistake.before, mistake.call)
    ]
    warnings = [f"everlearn: warning: {line}" for line in mistake.warnings]
    answer = mistake.answer.replace("{here}", HERE)
    answer = ("everlearn: " if mistake.call.startswith("everlearn") else "") + answer
    blocks.append(fenced("text", "\n".join([*(f"$ {call}" for call in calls), *warnings, answer])))
    return "\n".join(blocks)


def shown(mistake: Mistake) -> list[tuple[str, str]]:
    """Return what is shown of the files, with their names, which are given if there are several, and for JSON."""
    if mistake.shown in mistake.files:
        return [(mistake.shown, mistake.files[mistake.shown])]
    if mistake.shown is not None:
        return [(name, mistake.shown) for name, text in mistake.files.items() if mistake.shown in text][:1]
    named = len(mistake.files) > 1 or any(name.endswith(".json") for name in mistake.files)
    return [(name, f"# {name}\n{text}" if named else text) for name, text in mistake.files.items()]


def language(name: str, text: str) -> str:
    """Return what to highlight a file as: not what its name says, where that cannot be read."""
    suffix = Path(name).suffix
    if suffix not in LANGUAGES:
        return "text"
    language, read = LANGUAGES[suffix]
    try:
        read(text)
    except (SyntaxError, ValueError):
        return "text"
    return language


def fenced(language: str, code: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{textwrap.dedent(code).strip(chr(10))}\n```\n"


if __name__ == "__main__":
    for name, text in pages(all_mistakes()).items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(text)
