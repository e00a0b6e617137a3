"""The conversations of docs/service.md, held with a service of their own."""

from __future__ import annotations

import doctest
import re
import subprocess

from everlearn.service.problems import FAILURES
from tests.test_documents import DOCS, OPTIONS, blocks, comparable

PAGE = DOCS / "service.md"


def test_every_conversation_goes_as_shown(start, tmp_path, monkeypatch, capsys):
    service = start()
    monkeypatch.chdir(tmp_path)
    here = "http://127.0.0.1:8321"
    checker = doctest.OutputChecker()
    for block in blocks(PAGE, "console"):
        for part in re.split(r"^\$ ", block.code, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            done = subprocess.run(
                command.replace(here, service.url), shell=True, capture_output=True, text=True, check=True
            )
            assert checker.check_output(comparable(shown), comparable(done.stdout) + "\n", OPTIONS), done.stdout
    namespace: dict[str, object] = {}
    for block in blocks(PAGE, "python"):
        code = block.code.replace(here, service.url).replace("deadline=1.0", "deadline=60.0")  # for a busy machine
        exec(compile(code, "service.md", "exec"), namespace)
    for name in ("pump", "alone", "well"):
        namespace[name].close()
    assert capsys.readouterr().out == "True\n1.0\nTrue\nTrue None 1\nshadow 20\n"


def test_every_path_and_status_is_in_the_page(service):
    text = PAGE.read_text()
    for path, methods in service.call("GET", "/openapi.json").json["paths"].items():
        shown = path.replace("{name}", "NAME")
        assert re.search(
            rf"`(GET )?{re.escape(shown)}[`?,]|{'|'.join(methods).upper()} {re.escape(shown)}[`?]", text
        ), path
    for status in FAILURES:
        assert str(status) in text or status == 400, status
