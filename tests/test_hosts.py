"""Requests that a page of another site sends are recognised by their headers."""

from __future__ import annotations

import pytest

from everlearn.hosts import foreign_header, is_loopback


@pytest.mark.parametrize(
    ("host", "origin", "foreign"),
    [
        ("localhost:8090", None, None),
        ("LOCALHOST:8090", None, None),
        ("127.0.0.2", None, None),
        ("[::1]:8090", "http://[::1]:8090", None),
        ("127.0.0.1:8090", "https://127.0.0.1:8090", None),
        ("127.0.0.1:8090", "http://127.0.0.1:8091", "origin"),
        ("127.0.0.1:8090", "http://station.example", "origin"),
        ("127.0.0.1:8090", "null", "origin"),
        ("station.example", None, "host"),
        ("station.example", "http://station.example", "host"),
        ("[", None, "host"),
        ("", None, "host"),
    ],
)
def test_a_request_must_name_this_server_and_come_from_its_own_pages(host, origin, foreign):
    headers = {b"host": host.encode(), **({} if origin is None else {b"origin": origin.encode()})}
    assert foreign_header(headers, is_loopback) == foreign


def test_a_page_without_an_origin_is_foreign_even_where_every_name_is_taken():
    assert foreign_header({b"origin": b"null"}, lambda name: True) == "origin"
    assert foreign_header({}, lambda name: True) is None
