"""What the commands share in printing."""

from __future__ import annotations

import json

import pytest

from everlearn.cli.output import print_json, progress_bar


def test_json_is_one_document_and_a_newline(capsys):
    print_json({"a": [1, None], "b": "é"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"a": [1, None], "b": "é"}
    assert printed.endswith("}\n")


def test_json_holds_nothing_that_is_no_number(capsys):
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"a": float("nan")})


def test_progress_is_silent_where_nobody_looks(capsys):
    with progress_bar("walking", 100) as advance:
        advance(60)
        advance(40)
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
