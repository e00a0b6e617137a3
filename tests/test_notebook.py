"""The notebook of the examples: its cells run in order, and say what is shown below them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_notebook_leads_from_a_csv_file_to_a_live_agent(tmp_path, monkeypatch, capsys):
    notebook = json.loads((EXAMPLES / "own_data.ipynb").read_text(encoding="utf-8"))
    shutil.copy(EXAMPLES / "room.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        shown = "".join(text for output in cell["outputs"] for text in output["text"])
        assert comparable(capsys.readouterr().out) == comparable(shown), number
    assert len(cells) == 5
    assert names["later"] > 1.3 * names["before"]


def comparable(text: str) -> str:
    """Hide what was learned, which may differ between platforms."""
    return re.sub(r"\d\.\d\d|-> \w+", "#", text)
