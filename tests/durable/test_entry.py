"""The check of a row is the same, whether its payload is long or short, and needs little memory."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest

from everlearn.durable import entry
from everlearn.durable.entry import checksum

FIELDS = (3, 4, 2, 0, 12.5, 1, b"\x03", None, 0, 1, 0.25, 1)
PAYLOADS = [bytes(range(256)), b"it's", b'a "quoted" word', b'it\'s "both"', b"'" * 9, b'"' * 9, b"\\'\\\n", b"abcde"]


@pytest.mark.parametrize("piece", [1, 3, 4])
@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_long_payload_is_checked_in_pieces_as_the_text_of_the_whole(monkeypatch, payload, piece):
    expected = zlib.crc32(repr((*FIELDS, payload)).encode(), 77)
    monkeypatch.setattr(entry, "_PIECE", piece)
    assert checksum(77, (*FIELDS, payload)) == expected


@pytest.mark.parametrize("payload", [None, "text", 7, b"", bytes(1 << 16)])
def test_other_payloads_are_checked_at_once(payload):
    assert checksum(77, (*FIELDS, payload)) == zlib.crc32(repr((*FIELDS, payload)).encode(), 77)


def test_the_memory_that_it_takes_does_not_grow_with_the_payload():
    payload = bytes(8 << 20)
    tracemalloc.start()
    checksum(0, (*FIELDS, payload))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < len(payload) // 4
