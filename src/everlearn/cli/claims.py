"""The command ``everlearn claims``."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from everlearn.cli.output import console, print_json
from everlearn.paper.claims.registry import CLAIMS, check_all, counted

COLOURS = {"holds": "green", "holds with correction": "yellow", "fails": "red", "not checkable": "cyan"}


def check_and_print(as_json: bool) -> None:
    """Check every claim, and print each as it is done; then a count by verdict."""
    if as_json:
        checked = check_all()
        print_json({"claims": checked, "counts": counted(checked)})
        return
    screen = console()
    screen.print(f"{len(CLAIMS)} claims of the paper are computed; it takes a minute or two.\n", soft_wrap=True)

    def told(claim: dict[str, Any]) -> None:
        verdict = claim["verdict"]
        screen.print(f"[{COLOURS[verdict]}]{verdict}[/]  [bold]{escape(claim['id'])}[/bold]", soft_wrap=True)
        for what in ("statement", "paper", "computed"):
            screen.print(f"  [dim]{what}:[/dim] {escape(claim[what])}", soft_wrap=True)

    counts = counted(check_all(told))
    screen.print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in counts.items()))
