"""How the documentation is built: strictly, from Markdown and from the docstrings."""

from pathlib import Path

from everlearn import __version__
from everlearn.page.export import export

project = "everlearn"
author = "The everlearn developers"
copyright = "The everlearn developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_static_path = ["static"]
html_css_files = ["everlearn.css"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"everlearn {release}"
html_show_copyright = False

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # parameters are described in words; the types are in the source, for type checkers
autodoc_preserve_defaults = True
napoleon_attr_annotations = False
napoleon_google_docstring = False


def plain_attributes(_app, what, _name, _object, _options, lines):
    """Keep napoleon from reading what stands before a colon in an attribute's docstring as its type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # an empty comment


def write_station(app, exception):
    """Write the station that runs on the first page."""
    if exception is None and app.builder.format == "html":
        export(Path(app.outdir) / "station.html")


def setup(app):
    """Come before napoleon, whose priority is 500."""
    app.connect("autodoc-process-docstring", plain_attributes, priority=400)
    app.connect("build-finished", write_station)
