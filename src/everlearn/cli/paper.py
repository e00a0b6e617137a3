"""The commands that check the paper: ``everlearn reproduce`` and ``everlearn claims``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from everlearn.cli import options
from everlearn.cli.options import AsJson, integer
from everlearn.cli.output import print_json, say, say_paths
from everlearn.errors import InputError
from everlearn.files import expanded

if TYPE_CHECKING:
    from everlearn.paper.claims.claim import Claim

COLOURS = {
    "holds": "green",
    "holds with correction": "yellow",
    "false as printed, repaired": "magenta",
    "fails": "red",
    "not checkable": "cyan",
}


def reproduce(
    out: Annotated[str, typer.Option(help="The directory for figures, tables and report.")] = "reproduction",
    runs: Annotated[int, integer(help="The number of independent runs of each agent.", least=1)] = 200,
    steps: Annotated[int, options.steps("The number of steps of each run.")] = 1_000_000,
    full: Annotated[
        bool,
        typer.Option("--full", help="Also run the theorem's schedule for 2e9 steps, which it needs to improve."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: every figure, the tables behind them, and a report."""
    from everlearn.cli.progress import interruptible, show_progress
    from everlearn.paper.reproduce import reproduce as reproduce_paper

    with interruptible(out):
        made = reproduce_paper(expanded(out), steps=steps, runs=runs, full=full, watching=show_progress)
    if as_json:
        print_json(
            {
                "figures": [str(path) for path in made.figures],
                "tables": [str(path) for path in made.tables],
                "report": str(made.report),
                "seen": {plate.name: plate.sentence for plate in made.plates},
                "summary": made.experiments["station"].table(["final"]),
            }
        )
        return
    for plate in made.plates:
        say((plate.title, "bold"), f": {plate.sentence}\n", wrap=True)
    say_paths("figure", made.figures)
    say_paths("report", [made.report])


def claims(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="A part of the name or label of the claims to check, as in 'Theorem 3'; may be repeated.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every claim of the paper that can be computed, or those that you name, and say whether it holds."""
    from everlearn.labels import counted
    from everlearn.paper.claims import registry
    from everlearn.paper.claims.claim import VERDICTS

    checked, chosen = [], _chosen(registry.CLAIMS, names or [])
    if not as_json:
        some = "" if names else "; it takes a few minutes"
        say(f"{counted(len(chosen), 'claim')} of the paper {'is' if len(chosen) == 1 else 'are'} computed{some}.\n")
    for claim in chosen:
        document = claim.checked()
        checked.append(document)
        if not as_json:
            verdict = document["verdict"]
            say((verdict, COLOURS[verdict]), "  ", (document["name"], "bold"))
            for key in ("statement", "paper", "computed"):
                say((f"  {key}:", "dim"), f" {document[key]}")
    verdicts = [document["verdict"] for document in checked]
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    if as_json:
        print_json({"claims": checked, "counts": counts})
    else:
        say("\n" + "; ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def _chosen(known: Sequence[Claim], names: Sequence[str]) -> list[Claim]:
    """Return the claims of which a name or label has one of these texts in it, as whole words; all without a text."""
    for text in names:
        if not any(_is_named(claim, text) for claim in known):
            raise InputError("NAME", text, "no claim has it in its name; everlearn claims --json lists all names")
    return [claim for claim in known if not names or any(_is_named(claim, text) for text in names)]


def _is_named(claim: Claim, text: str) -> bool:
    """Return whether a text is part of the name or label of a claim, so that Theorem 1 is not part of Theorem 17."""
    words = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)", re.IGNORECASE)
    return any(words.search(name) for name in (claim.name, claim.label))
