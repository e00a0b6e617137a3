"""Answers that may be large: what is large is encoded in a thread and in parts, so that other requests have their turn.

To encode a million values takes a second, in which neither the event loop nor the committer could do anything else:
an encoder does not let other threads run before it is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from everlearn.durable.views import Tabulated
from everlearn.service.problems import Answer

PIECE = 2_000
"""How many values, or rows of another list, are encoded at once."""


async def large_answer(document: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return a document as an answer; tables in it are labelled here."""
    if max(map(_size, document.values()), default=0) > PIECE:
        body = await asyncio.to_thread(encode, document)
        return Response(body, headers=headers, media_type="application/json")
    small = {key: part.rows() if isinstance(part, Tabulated) else part for key, part in document.items()}
    return Answer(small, headers=headers)


def encode(document: Mapping[str, Any]) -> bytes:
    """Return a document as JSON, encoded in parts.

    Examples
    --------
    >>> encode({"step": 1, "rows": ["a", "b"], "value": float("inf"), "none": []})
    b'{"step":1,"rows":["a","b"],"value":null,"none":[]}'

    """
    parts = []
    for key, part in document.items():
        whole = b"".join((b"[", b",".join(_encoded_rows(part)), b"]")) if _size(part) else _json(part)
        parts.append(_json(key) + b":" + whole)
    return b"{" + b",".join(parts) + b"}"


def _size(part: object) -> int:
    """Return how many values a part has, if it is a table or another list; 0 otherwise."""
    if isinstance(part, Tabulated):
        return int(part.array.size)
    return len(part) if isinstance(part, list) else 0


def _encoded_rows(part: Tabulated | list[Any]) -> Iterator[bytes]:
    """Yield the rows of a table or another list, as many at once as one piece may have, without the brackets."""
    rows = len(part.array) if isinstance(part, Tabulated) else len(part)
    step = max(1, PIECE * rows // _size(part))
    for start in range(0, rows, step):
        piece = part.rows(start, start + step) if isinstance(part, Tabulated) else part[start : start + step]
        yield _json(piece)[1:-1]


def _json(part: object) -> bytes:
    return to_json(part, inf_nan_mode="null")
