"""The command ``everlearn claims``."""

from __future__ import annotations

import pytest

from everlearn.paper.claims import registry

COUNTS = {"holds": 3, "holds with correction": 0, "false as printed, repaired": 0, "fails": 0, "not checkable": 0}


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """The claims that take no time; all of them are checked elsewhere."""
    labels = ("lemma:learning-rate (a)", "lemma:learning-rate (b)", "lemma:doubling-trick")
    monkeypatch.setattr(registry, "CLAIMS", [claim for claim in registry.CLAIMS if claim.label in labels])


def test_each_is_printed_and_they_are_counted(call):
    text = call("claims")
    assert "holds  Lemma 8 (Appendix C.2), part (a)" in text
    assert "computed: sqrt(k) times the sum lies between" in text
    assert text.splitlines()[-1] == "; ".join(f"{count} {verdict}" for verdict, count in COUNTS.items())


def test_json_has_stable_keys(call_json):
    document = call_json("claims")
    assert document["counts"] == COUNTS
    assert all(
        list(claim) == ["id", "name", "statement", "paper", "computed", "verdict", "how", "test"]
        for claim in document["claims"]
    )


def test_some_are_checked_by_name(call, call_json, refused):
    assert "1 claim of the paper is computed." in call("claims", "lemma 14")
    document = call_json("claims", "Lemma 8", "lemma:doubling-trick")
    assert len(document["claims"]) == 3
    assert [claim["id"] for claim in call_json("claims", "Lemma 8")["claims"]] == [
        "lemma:learning-rate (a)",
        "lemma:learning-rate (b)",
    ]
    message = "NAME: 'Lemma 1'; no claim has it in its name; everlearn claims --json lists all names"
    assert refused("claims", "Lemma 1") == message
