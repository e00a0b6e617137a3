"""The command ``everlearn claims``: check the claims of the paper."""

from __future__ import annotations

from everlearn.cli.options import AsJson
from everlearn.cli.output import print_json, say

COLOURS = {
    "holds": "green",
    "holds with correction": "yellow",
    "false as printed, repaired": "magenta",
    "fails": "red",
    "not checkable": "cyan",
}


def claims(as_json: AsJson = False) -> None:
    """Check every claim of the paper that can be computed, and say whether it holds."""
    from everlearn.paper.claims import registry
    from everlearn.paper.claims.claim import VERDICTS

    checked = []
    if not as_json:
        say(f"{len(registry.CLAIMS)} claims of the paper are computed; it takes a few minutes.\n")
    for claim in registry.CLAIMS:
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
