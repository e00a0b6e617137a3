"""Write a page for each public object, when the documentation is built.

``api.md`` lists the objects by group.  Each gets a page with its signatures and types, and its docstring; on the page
``api`` itself, a line with a link takes its place.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import everlearn

BLOCK = re.compile(r"^```\{eval-rst\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?:   [^\n]*\n)*)", re.MULTILINE)
LONGEST = 76
"""A signature with more letters is written with one parameter per line."""


class Entry(NamedTuple):
    """An object that api.md lists."""

    kind: str
    path: str
    options: str

    @property
    def page(self) -> str:
        """The name of its page, which differs even where case does not matter."""
        return f"{self.kind}-{self.path.removesuffix('()').removeprefix('everlearn.').replace('.', '-')}"

    @property
    def found(self) -> Any:
        """The object."""
        return find(self.path.removesuffix("()"))

    @property
    def used(self) -> list[str]:
        """The names under which programs use it, such as ``el.run``, which the search is to find."""
        return [f"el.{name}" for name in everlearn.__all__ if getattr(everlearn, name) is self.found]


def entries(text: str) -> list[Entry]:
    """Return the objects of a text in order; modules, of which only the docstring is shown, are none."""
    return [Entry(*found) for found in DIRECTIVE.findall("\n".join(BLOCK.findall(text))) if found[0] != "module"]


def object_pages(source: Path) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each page."""
    for entry in entries((source / "api.md").read_text(encoding="utf-8")):
        written = "\n\n".join(signatures(entry))
        directive = f".. auto{entry.kind}:: {entry.path}\n{entry.options}"
        parts = [
            f"# `{entry.path.removesuffix('()')}`",
            *(f"```{{index}} ! {name}\n```" for name in entry.used),
            f"```python\n{written}\n```",
            f"```{{eval-rst}}\n{directive}```",
        ]
        yield f"{entry.page}.md", "\n\n".join([*parts, "[](../api.md) lists all objects."]) + "\n"


def link(text: str) -> str:
    """Return the text of api.md with a line and a link in place of each object, and a hidden table of contents."""
    shown = {entry.path: entry for entry in entries(text)}

    def replace(block: re.Match[str]) -> str:
        parts, lines = [], []
        for kind, path, options in DIRECTIVE.findall(block[1]):
            if kind == "module":
                parts.append(f"```{{eval-rst}}\n.. automodule:: {path}\n{options}```")
            else:
                lines.append(f"- [`{path.removesuffix('()')}`](each/{shown[path].page}.md): {first_line(shown[path])}")
        return "\n\n".join([*parts, "\n".join(lines)])

    contents = "\n".join(f"each/{entry.page}" for entry in shown.values())
    return f"{BLOCK.sub(replace, text)}\n\n```{{toctree}}\n:hidden:\n\n{contents}\n```\n"


def first_line(entry: Entry) -> str:
    """Return the first sentence of a docstring as Markdown."""
    text = " ".join((inspect.getdoc(entry.found) or "").partition("\n\n")[0].split())
    return re.sub(r":\w+:`~?([^`<]+)(?: <[^`]*>)?`", r"`\1`", text).replace("``", "`")


def signatures(entry: Entry) -> Iterator[str]:
    """Yield the signatures of an object and of the methods that are listed, with types as they are in the source."""
    found, name = entry.found, entry.path.removesuffix("()").rpartition(".")[2]
    yield signature(name, found)
    listed = re.search(r":members:([^\n]*)", entry.options)
    if not isinstance(found, type) or listed is None:
        return
    members = [each.strip() for each in listed[1].split(",") if each.strip()] or [
        each for each in vars(found) if not each.startswith("_")
    ]
    for member in members:
        method = inspect.getattr_static(found, member, None)
        if isinstance(method, property) and method.fget is not None:
            yield f"{name}.{member}: {inspect.signature(method.fget).return_annotation}"
        elif inspect.isfunction(method) or isinstance(method, (classmethod, staticmethod)):
            yield signature(f"{name}.{member}", getattr(found, member))


def signature(name: str, found: Any) -> str:
    """Return a signature in one line, or with one parameter per line if it is long."""
    try:
        given = inspect.signature(found)
    except (TypeError, ValueError):
        return name
    parameters = [each for each in given.parameters.values() if each.name != "self"]
    written = [_parameter(each) for each in parameters]
    kinds = [each.kind for each in parameters]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        written.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    end = "" if given.return_annotation in (inspect.Signature.empty, "None") else f" -> {given.return_annotation}"
    line = f"{name}({', '.join(written)}){end}"
    return line if len(line) <= LONGEST else "\n".join([f"{name}(", *(f"    {each}," for each in written), f"){end}"])


def _parameter(given: inspect.Parameter) -> str:
    """Return a parameter with its type and its default as they are in the source."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(given.kind, "")
    kind = "" if given.annotation is inspect.Parameter.empty else f": {given.annotation}"
    if given.default is inspect.Parameter.empty:
        return f"{stars}{given.name}{kind}"
    default = repr(given.default)
    return f"{stars}{given.name}{kind} = {'...' if default.startswith('<') else default}"


def find(path: str) -> Any:
    """Return the object with a dotted name."""
    module, _, rest = path.rpartition(".")
    try:
        return getattr(import_module(module), rest)
    except ModuleNotFoundError:
        return getattr(find(module), rest)
