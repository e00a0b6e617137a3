"""Split the page of the command line by group, when the documentation is built.

``command-line.md`` describes every command.  Each group of commands gets a page; on the page ``command-line`` itself, a
sentence and a link take the place of each description, so that links to a command lead somewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

GROUPS = {
    "lists": ("Lists of what there is", "tasks agents schedules"),
    "run": ("Running and computing", "run theory diagnose rates reproduce claims"),
    "experiments": ("Experiments and searches", "experiment tune leaderboard"),
    "durable": (
        "Durable agents",
        "accept backup check shadow evaluate replay journal policy warm mode promotion",
    ),
    "service": ("The service", "serve move"),
    "play": ("The page in the browser", "play"),
}
"""For each group its title and its commands."""

HEADING = re.compile(r"^## everlearn (\S+)\n", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """Return the description of each command."""
    _, *rest = HEADING.split(text)
    return dict(zip(rest[::2], (part.strip("\n") for part in rest[1::2]), strict=True))


def command_pages(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of the page of each group."""
    found = sections((source / "command-line.md").read_text(encoding="utf-8"))
    for group, (title, names) in GROUPS.items():
        parts = [f"# {title}: `everlearn {'`, `'.join(names.split())}`"]
        parts += [f"## everlearn {name}\n\n{_moved(found[name])}" for name in names.split()]
        yield f"commands-{group}.md", "\n\n".join([*parts, "[](../command-line.md) lists all commands."]) + "\n"


def link_commands(text: str) -> str:
    """Return the text of command-line.md with a sentence and a link in place of each description."""
    found, pages = sections(text), {name: group for group, (_, names) in GROUPS.items() for name in names.split()}
    parts = [text[: HEADING.search(text).start()].rstrip()]  # type: ignore[union-attr]
    for title, names in GROUPS.values():
        parts.append(f"**{title}**")
        for name in names.split():
            first = found[name].partition("\n\n")[0]
            first = "" if first.startswith(("```", "    ", "<!--")) else f"{first}\n\n"
            parts.append(f"## everlearn {name}\n\n{first}[Options and examples](each/commands-{pages[name]}.md)")
    contents = "\n".join(f"each/commands-{group}" for group in GROUPS)
    return "\n\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{contents}\n```"]) + "\n"


def _moved(text: str) -> str:
    """Return a text as it stands in the folder below: its relative links lead one folder up."""
    return re.sub(r"\]\((?!https?:|#)([^)\s]+)\)", r"](../\1)", text)
