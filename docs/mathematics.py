"""Write formulas as MathML when the documentation is built, so that they are typeset without any other site."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert


@cache
def write_formula(latex: str, display: bool = False) -> str:
    """Return a formula as MathML."""
    written = convert(latex.strip(), display="block" if display else "inline")
    written = re.sub(r"<mi>([a-z]{2,})</mi>", r'<mo lspace="0.17em" rspace="0.17em">\1</mo>', written)  # log, say
    left = re.search(r"\\[A-Za-z]+", re.sub(r"<annotation.*?</annotation>", "", written))
    if left is not None:
        raise ValueError(f"the formula {latex!r} has {left[0]}, which cannot be written as MathML; write it otherwise")
    return written


def visit_inline(writer: Any, node: Any) -> None:
    """Write a formula in a line of text."""
    writer.body.append(write_formula(node.astext()))
    raise SkipNode


def visit_block(writer: Any, node: Any) -> None:
    """Write a formula that stands by itself."""
    formula = write_formula(node.astext(), display=True)
    writer.body.append(f'<div class="formula" tabindex="0">{formula}</div>\n')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Add the way to write formulas, which ``html_math_renderer`` names."""
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
