"""The reproduction as one page: figures and sentences in a single HTML file that needs nothing else."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

from everlearn._version import __version__
from everlearn.figures.style import house_style
from everlearn.paper.plates import Plate

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { line-height: 1.2; } figure { margin: 2.5rem 0; } img { max-width: 100%; height: auto; }
figcaption { margin-top: .5rem; } code { background: #f2f2f2; padding: 0 .2em; }
.small { color: #555; font-size: .9rem; }
"""


def report(plates: Sequence[Plate], command: str, runs: int, steps: int) -> str:
    """Return the page."""
    figures = "\n".join(_figure(number, plate) for number, plate in enumerate(plates, start=1))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Simple Agent, Complex Environment: the reproduction</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Simple Agent, Complex Environment: the reproduction</h1>
<p>Shi Dong, Benjamin Van Roy and Zhengyuan Zhou, <i>Simple Agent, Complex Environment: Efficient Reinforcement Learning
with Agent States</i>, Journal of Machine Learning Research 23(255), 2022. Made by everlearn {escape(__version__)} with
<code>{escape(command)}</code>: {runs:,} runs of {steps:,} steps, and what is exact is exact. Curves are means over
runs, and bands are 95% bootstrap intervals for the mean at each time.</p>
{figures}
<p class="small">The table behind each figure is a Parquet file of the same name in <code>tables/</code>; every run is
in <code>experiments/</code>. Which claims of the paper hold is what <code>everlearn claims</code> computes.</p>
</body>
</html>
"""


def _figure(number: int, plate: Plate) -> str:
    picture = base64.b64encode(_png(plate)).decode()
    alternative = escape(f"{plate.title}. {plate.sentence}", quote=True)
    return f"""<figure id="{escape(plate.name)}">
<h2>{number}. {escape(plate.title)} <span class="small"><code>{escape(plate.label)}</code></span></h2>
<img alt="{alternative}" src="data:image/png;base64,{picture}">
<figcaption>{escape(plate.sentence)}</figcaption>
</figure>"""


def _png(plate: Plate) -> bytes:
    buffer = io.BytesIO()
    with house_style():
        plate.figure.savefig(buffer, format="png")
    return buffer.getvalue()
