"""Write a page for each registered task and agent, when the documentation is built.

A page has the docstring, the spaces, the row of the overview with its exact numbers, a drawing, and the command that
opens it in the browser.  Nothing is listed here: everything comes from the registries and the tested overviews.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.commands import command_pages
from docs.examples import example_pages
from docs.objects import object_pages

FOLDER = "each"
MOST_LISTED = 12


def write_pages(source: Path) -> None:
    """Write every page, and remove those of names that are gone; a page that is up to date keeps its date."""
    pages = {f"task-{name}.md": text for name, text in task_pages(source)}
    pages |= {f"agent-{name}.md": text for name, text in agent_pages(source)}
    pages |= {f"family-{name}.md": text for name, text in family_pages(source)}
    pages |= dict(object_pages(source)) | dict(command_pages(source)) | dict(example_pages(source))
    folder = source / FOLDER
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def task_pages(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the page of each task."""
    from everlearn.page.gallery import draw_example
    from everlearn.registry import locate
    from everlearn.tasks.registry import TASKS, make_task

    rows = overview(source / "tasks.md")
    for name in TASKS:
        task, factory = make_task(name), locate(name, TASKS, "task")
        drawing = f'```{{raw}} html\n<div class="task-drawing agent0">{draw_example(task)}</div>\n```'
        spaces = {
            "actions": _listed([str(label) for label in task.actions]),
            "observations": f"{len(task.observations):,}",
            "aleatoric states": f"{len(task.states):,}: {_listed(_first(task))}",
            "source": task.source or "this project",
        }
        numbers = {head: cell for head, cell in rows.get(name, {}).items() if head not in ("task", *spaces)}
        numbers |= {} if rows.get(name) else {key: f"{value:.6g}" for key, value in task.references.items()}
        yield (
            name,
            "\n\n".join(
                [
                    f"# `{name}`",
                    f"{task.portrait.dilemma} {task.portrait.note}".strip(),
                    drawing,
                    f"Watch an agent learn it: `{_command(name, task.portrait.preset)}`",
                    described(factory),
                    table({**spaces, **numbers}),
                    "[](../tasks.md) compares all tasks, and says what the numbers mean.",
                ]
            )
            + "\n",
        )


def agent_pages(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the page of each agent."""
    from everlearn.agents.registry import AGENTS
    from everlearn.registry import locate

    rows = overview(source / "agents.md")
    for name in AGENTS:
        row = {head: cell for head, cell in rows.get(name, {}).items() if head != "agent"}
        parts = [f"# `{name}`", described(locate(name, AGENTS, "agent")), table(row) if row else ""]
        parts += [f"Watch it learn: `everlearn play --agent {name}`", "[](../agents.md) compares all agents."]
        yield name, "\n\n".join(filter(None, parts)) + "\n"


def family_pages(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the page of each family of agents: those that explore in the same way."""
    from everlearn.agents.registry import AGENTS
    from everlearn.registry import locate

    rows, families = overview(source / "agents.md"), dict[str, list[str]]()
    for name in AGENTS:
        families.setdefault(rows[name]["explores by"].partition(",")[0], []).append(name)
    for way, names in families.items():
        lines = [
            f"| [`{name}`](agent-{name}.md) | {rows[name]['source'] or 'this project'} | {rows[name]['stores']} | "
            f"{_plain((inspect.getdoc(locate(name, AGENTS, 'agent')) or '').partition(chr(10))[0])} |"
            for name in names
        ]
        title = "Agents that do not explore" if way == "not at all" else f"Agents that explore by {way}"
        compare = f"Compare them: `everlearn play --agent {names[0]}`, and add others on the page."
        heads = "| agent | source | stores | what it does |\n|---|---|---|---|"
        yield (
            re.sub(r"\W+", "-", way.replace("ε", "epsilon")),
            f"# {title}\n\n{heads}\n" + "\n".join(lines) + f"\n\n{compare}\n\n[](../agents.md) compares all agents.\n",
        )


def overview(page: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the overview of a page, by the name in their first column."""
    text = page.read_text(encoding="utf-8").partition("## Overview")[2].partition("\n|")[2].partition("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    heads = cells[0]
    named = [(name, row) for row in cells[2:] for name in re.findall("`([^`]+)`", row[0])]
    return {name: dict(zip(heads, row, strict=False)) for name, row in named}


def described(factory: Any) -> str:
    """Return the docstring of a function as Markdown: its text, and what each parameter is, with its default."""
    text, _, rest = (inspect.getdoc(factory) or "").partition("\n\nParameters\n----------\n")
    text = text.partition("\n\nExamples\n--------")[0]
    listed = rest.partition("\n\nExamples\n--------")[0].partition("\n\nReturns\n")[0]
    defaults = {name: entry.default for name, entry in inspect.signature(factory).parameters.items()}
    rows = []
    for name, meaning in re.findall(r"^([a-z]\w*):\n((?:    [^\n]*\n?|\n)+)", listed + "\n", re.MULTILINE):
        said = _plain(" ".join(meaning.split()))
        rows.append(
            f"`{name}`\n: {said}" + ("" if "default" in said else f"; by default {_default(name, defaults[name])}")
        )
    return "\n\n".join([_plain(text), *rows])


def link_names(text: str) -> str:
    """Return a page with links to the pages of tasks and agents, in its tables and its lists of definitions."""
    from everlearn.agents.registry import AGENTS
    from everlearn.tasks.registry import TASKS

    pages = {name: f"{FOLDER}/task-{name}.md" for name in TASKS}
    pages |= {name: f"{FOLDER}/agent-{name}.md" for name in AGENTS}

    def linked(code: re.Match[str]) -> str:
        return f"[{code[0]}]({pages[code[1]]})" if code[1] in pages else code[0]

    lines, fenced = text.split("\n"), False
    for place, line in enumerate(lines):
        fenced ^= line.startswith("```")
        term = line.startswith("`") and "".join(lines[place + 1 : place + 2]).startswith(": ")
        if not fenced and (term or line.startswith("|")):
            lines[place] = re.sub(r"(?<!\[)`([\w-]+)`", linked, line)
    return "\n".join(lines)


def _default(name: str, value: Any) -> str:
    """Return the default of a parameter; a schedule has none in the signature, since the registry puts it in."""
    from everlearn.agents.registry import DEFAULT_SCHEDULE

    if name == "schedule":
        return f"`{DEFAULT_SCHEDULE}`. [](../concepts.md#schedule) explains schedules and lists them"
    return "none: it must be set" if value is inspect.Parameter.empty else repr(value)


def table(rows: dict[str, str]) -> str:
    """Return a table of two columns."""
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def _plain(text: str) -> str:
    """Return text with the roles of reStructuredText as code; a block of code is indented as it is."""
    text = re.sub(r":\w+:`~?([^`<]+)(?: <[^`]*>)?`", r"`\1`", text)
    return re.sub(r"::$", ":", text, flags=re.MULTILINE).replace("*", r"\*").replace("<", r"\<")


def _command(name: str, preset: Any) -> str:
    options = [f"--{key} {value}" if "." not in key else f"--set {key}={value}" for key, value in preset.items()]
    return " ".join(["everlearn play", name, *options])


def _first(task: Any) -> list[str]:
    most = min(MOST_LISTED + 1, len(task.states))
    return [task.portrait.name(task.states[place]) for place in range(most)]


def _listed(names: list[str]) -> str:
    shown = "; ".join(names[:MOST_LISTED]).replace("|", "\\|").replace("*", r"\*")
    return f"{shown}; …" if len(names) > MOST_LISTED else shown
