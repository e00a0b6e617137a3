"""What the commands share in printing."""

from __future__ import annotations

import io
import json
import sys
import warnings

import pytest
from typer.testing import CliRunner

from everlearn.cli.main import app, main
from everlearn.cli.output import print_json, print_table
from everlearn.cli.progress import show_progress


def test_json_is_one_document_and_a_newline(capsys):
    print_json({"a": [1, None], "b": "é"})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"a": [1, None], "b": "é"}
    assert printed.endswith("}\n")


def test_json_holds_nothing_that_is_no_number(capsys):
    with pytest.raises(ValueError, check=lambda error: type(error) is ValueError):  # which json raises
        print_json({"a": float("nan")})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("columns", "lines"), [(None, 1), ("80", 4)])
def test_a_table_is_wrapped_only_where_there_is_a_width(columns, lines, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    print_table(["name"], [["x" * 300]])
    assert len([line for line in capsys.readouterr().out.splitlines() if "x" in line]) == lines


def test_progress_is_silent_where_nobody_looks(capsys):
    with show_progress("walking", 100) as bar:
        bar.steps(60)
        bar.steps(40)
    assert bar.done == 100
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_json_alone_is_on_standard_output(tmp_path, monkeypatch):
    (tmp_path / "prints_too.py").write_text("print('loading')\nfrom everlearn.tasks.riverswim import riverswim\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["run", "prints_too:riverswim", "--agent", "always", "--steps", "9", "--engine", "reference", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert json.loads(done.stdout)["steps"] == 9
    assert done.stderr == "loading\n"


def test_a_terminal_that_lacks_characters(tmp_path, monkeypatch):
    (tmp_path / "has_arrow.py").write_text("print('→')\nfrom everlearn.tasks.riverswim import riverswim\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "latin-1", write_through=True))
    command = "everlearn run has_arrow:riverswim --agent always --steps 9 --engine reference"
    monkeypatch.setattr(sys, "argv", command.split())
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert sys.stdout.buffer.getvalue().startswith(b"?\n")
