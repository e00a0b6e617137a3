"""The command that serves the page; the page itself is tested in ``tests/page``."""

from __future__ import annotations

import importlib.util
import socket

import pytest


def test_help_names_the_options(call):
    printed = call("play", "--help")
    assert all(option in printed for option in ("--port", "--host", "--no-open"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--port", "many"), "--port: 'many'; give a whole number"),
        (("--port", "70000"), "port: 70000; give a number from 0 to 65535"),
        (("--host", "no.such.host.invalid"), "host and port: 'no.such.host.invalid:8090'; cannot be used"),
    ],
)
def test_an_address_that_cannot_be_is_refused(refused, arguments, message):
    assert message in refused("play", "--no-open", *arguments)


@pytest.mark.parametrize("other", [["riverswim"], ["--host", "0.0.0.0"], ["--port", "8090"], ["--no-open"]])
def test_the_file_has_the_station_alone(refused, tmp_path, other):
    path = tmp_path / "station.html"
    assert "writes the station alone" in refused("play", *other, "--export", str(path))
    assert not path.exists()


def test_a_port_that_is_taken_is_refused(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        refusal = refused("play", "--no-open", "--port", str(taken.getsockname()[1]))
        assert "Address already in use; give another, or --port 0 for any free one" in refusal


def test_without_the_library_it_says_how_to_install_it(refused, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert refused("play") == "play: 'nicegui'; is not installed; install it with: pip install 'everlearn[play]'"
