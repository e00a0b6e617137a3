"""Write a page for each example, and a gallery of them with pictures, when the documentation is built.

The picture of an example is the drawing of its task, if it has one with a model; otherwise it is how its code begins.
"""

from __future__ import annotations

import runpy
import sys
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
LINES, WIDTH = 12, 58
"""How much of its code is the picture of an example without a task."""


def example_pages(_: Path) -> Iterator[tuple[str, str]]:
    """Yield the file name and the page of each example: its picture and its source."""
    for path in paths():
        language = "python" if path.suffix == ".py" else "toml"
        source = path.read_text(encoding="utf-8").rstrip()
        picture = draw(path)
        shown = f"```{{raw}} html\n{picture}\n```\n\n" if "<svg" in picture else ""
        more = f"```{language}\n{source}\n```"
        yield f"example-{path.name}.md", f"# `{path.name}`\n\n{shown}{more}\n\n[](../examples.md) lists all examples.\n"


def show_examples(text: str) -> str:
    """Return the page of examples with a gallery in place of its table."""
    lines = text.split("\n")
    rows = [place for place, line in enumerate(lines) if line.startswith("| `")]
    cells = [lines[place].strip("| ").split(" | ", 1) for place in rows]
    cards = "".join(_card(EXAMPLES / name.strip("`"), what) for name, what in cells)
    gallery = f'```{{raw}} html\n<div class="examples">{cards}</div>\n```'
    hidden = "```{toctree}\n:hidden:\n:glob:\neach/example-*\n```"
    return "\n".join([*lines[: rows[0] - 2], gallery, "", hidden, *lines[rows[-1] + 1 :]])


def paths() -> list[Path]:
    """Return the programs and experiments, in order."""
    return sorted([*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.toml")])


def draw(path: Path) -> str:
    """Return the picture of an example."""
    from everlearn.page.gallery import draw_example

    task = find_task(path)
    if task is not None:
        return f'<div class="task-drawing agent0">{draw_example(task)}</div>'
    code = path.read_text(encoding="utf-8").split('"""', 2)[-1]
    lines = [line[:WIDTH] for line in code.splitlines() if not line.startswith(("import ", "from "))]
    shown = "\n".join(lines).strip().splitlines()[:LINES]
    return f"<pre>{escape(chr(10).join(shown))}</pre>"


def find_task(path: Path) -> Any:
    """Return the task of an example, if it has one with a model: the first it defines, or that its experiment names."""
    import everlearn as el
    from everlearn.tasks.registry import TASKS, make_task

    if path.suffix == ".toml":
        name = tomllib.loads(path.read_text(encoding="utf-8"))["task"][0]["name"]
        return make_task(name) if name in TASKS else find_task(EXAMPLES / f"{name.partition(':')[0]}.py")
    sys.path.insert(0, str(EXAMPLES))  # examples use one another
    try:
        defined = runpy.run_path(str(path))
    except ImportError:  # it needs a package that is not installed
        return None
    finally:
        sys.path.remove(str(EXAMPLES))
    for value in defined.values():
        if getattr(value, "__annotations__", {}).get("return") in ("el.Task", el.Task):
            value = value()
        value = value.finish() if hasattr(value, "finish") else value
        if isinstance(value, el.Task) and value.model is not None:
            return value
    return None


def _card(path: Path, what: str) -> str:
    picture = draw(path)
    return (
        f'<a class="example" href="each/example-{path.name}.html">{picture}<code>{escape(path.name)}</code>'
        f"<span>{escape(what.replace('``', ''))}</span></a>"
    )
