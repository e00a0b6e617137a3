"""The command ``everlearn claims``."""

from __future__ import annotations

from collections import Counter

from rich.markup import escape

from everlearn.cli.output import console, print_json
from everlearn.paper.claims.claim import VERDICTS
from everlearn.paper.claims.registry import CLAIMS

COLOURS = {"holds": "green", "holds with correction": "yellow", "fails": "red", "not checkable": "cyan"}


def check_and_print(as_json: bool) -> None:
    """Check every claim and print each one as it is done, then a count by verdict."""
    if as_json:
        checked = [claim.checked() for claim in CLAIMS]
        print_json({"claims": checked, "counts": _counts([document["verdict"] for document in checked])})
        return
    screen = console()
    screen.print(f"{len(CLAIMS)} claims of the paper are computed; it takes a minute or two.\n", soft_wrap=True)
    verdicts = []
    for claim in CLAIMS:
        document = claim.checked()
        verdict = document["verdict"]
        verdicts.append(verdict)
        screen.print(f"[{COLOURS[verdict]}]{verdict}[/]  [bold]{escape(document['id'])}[/bold]", soft_wrap=True)
        for key in ("statement", "paper", "computed"):
            screen.print(f"  [dim]{key}:[/dim] {escape(document[key])}", soft_wrap=True)
    screen.print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in _counts(verdicts).items()))


def _counts(verdicts: list[str]) -> dict[str, int]:
    counter = Counter(verdicts)
    return {verdict: counter[verdict] for verdict in VERDICTS}
