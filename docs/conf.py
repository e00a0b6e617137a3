"""How the documentation is built: strictly, from Markdown and from the docstrings."""

import os
import re
import shutil
import sys
from html import escape
from pathlib import Path

from everlearn import __version__
from everlearn.page import export as station

sys.path.insert(0, str(Path(__file__).parents[1]))
from docs.commands import link_commands
from docs.each import link_names, write_pages
from docs.examples import show_examples
from docs.objects import link

project = "everlearn"
author = "The everlearn developers"
copyright = "The everlearn developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "docs.mathematics"]
html_math_renderer = "mathml"
exclude_patterns = ["_build"]
html_static_path = ["static"]
html_css_files = ["everlearn.css", "drawing.css"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"everlearn {release}"
html_baseurl = os.environ.get("DOCS_URL", "")  # where the pages will be; previews of links need the whole address
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # parameters are described in words; types are above, as docs/objects.py writes them
autodoc_preserve_defaults = True
napoleon_attr_annotations = False
napoleon_google_docstring = False

NAMED = ("agents", "concepts", "practical", "tasks")
"""The pages whose tables and lists name tasks and agents."""

LISTS = {"api": link, "command-line": link_commands, "examples": show_examples, **dict.fromkeys(NAMED, link_names)}
"""The pages whose parts have pages of their own, and what puts the links into them."""


def plain_attributes(_app, what, _name, _object, _options, lines):
    """Keep napoleon from reading what stands before a colon in an attribute's docstring as its type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # an empty comment


def write_station(app, exception):
    """Write the station that runs on the first page."""
    if exception is None and app.builder.format == "html":
        station.export(Path(app.outdir) / "station.html")
        shutil.copyfile(Path(app.srcdir) / "static" / "preview.png", Path(app.outdir) / "preview.png")


def add_preview(_app, pagename, _template, context, doctree):
    """Say what a link to a page shows elsewhere."""
    if doctree is not None:
        image = (
            html_baseurl.rstrip("/") + "/preview.png" if html_baseurl else "../" * pagename.count("/") + "preview.png"
        )
        tags = {"title": f"everlearn: {context.get('title', '')}", "type": "website", "image": image}
        context["metatags"] += "".join(
            f'<meta property="og:{name}" content="{escape(text)}">\n' for name, text in tags.items()
        )


def write_each(app):
    """Write a page for each task and each agent, before pages are read."""
    write_pages(Path(app.srcdir))


def link_parts(_app, name, texts):
    """Put links to the pages of objects and of groups of commands into the pages that list them."""
    if name in LISTS:
        texts[0] = LISTS[name](texts[0])


def read_again(_app, _env, _added, _changed, _removed):
    """Read the pages that list objects and commands at every build: they change with the docstrings."""
    return list(LISTS)


def write_drawing_style(app, exception):
    """Write the style of drawings, which is that of the page in the browser."""
    if exception is None and app.builder.format == "html":
        style = Path(station.__file__).with_name("style.css").read_text(encoding="utf-8")
        light, dark = re.search(r":root \{(.*?)\}", style, re.S)[1], re.search(r"body--dark \{(.*?)\}", style, re.S)[1]
        rules = "\n".join(line for line in style.splitlines() if line.startswith((".drawing ", ".agent0 ")))
        text = (
            f".task-drawing {{{light}}}\n.task-drawing svg {{ max-width: 460px; }}\n{rules}\n"
            f'body[data-theme="dark"] .task-drawing {{{dark}}}\n'
            f'@media (prefers-color-scheme: dark) {{ body[data-theme="auto"] .task-drawing {{{dark}}} }}\n'
        )
        (Path(app.outdir) / "_static" / "drawing.css").write_text(text, encoding="utf-8")


def setup(app):
    """Come before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", plain_attributes, priority=400)
    app.connect("builder-inited", write_each)
    app.connect("source-read", link_parts)
    app.connect("env-get-outdated", read_again)
    app.connect("html-page-context", add_preview)
    app.connect("build-finished", write_station)
    app.connect("build-finished", write_drawing_style)
