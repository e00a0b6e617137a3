"""Structured logs: one JSON object per line on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from everlearn.errors import InputError
from everlearn.service.identity import CURRENT

LEVELS = ("debug", "info", "warning", "error")
LOG = logging.getLogger("everlearn.service")

CONTEXT: dict[str, object] = {}
"""What every entry of this process has: the number of its shard."""


class JsonLines(logging.Formatter):
    """Write a record as JSON: time, level, message, the request, and what was passed as ``extra={"fields": {...}}``.

    Examples
    --------
    >>> record = logging.LogRecord("everlearn", logging.INFO, "", 0, "created", None, None)
    >>> record.fields = {"agent": "north"}
    >>> json.loads(JsonLines().format(record))["agent"]
    'north'

    """

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {"time": when, "level": record.levelname.lower(), "message": record.getMessage(), **CONTEXT}
        if (request := CURRENT.get()) is not None:
            entry |= request.fields
        entry |= getattr(record, "fields", {})
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


def configure(level: str) -> None:
    """Send everything that is logged, the server's own messages too, to standard error as JSON lines."""
    if level not in LEVELS:
        raise InputError("--log-level", level, f"known: {', '.join(LEVELS)}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for noisy in ("asyncio", "uvicorn.access", "uvicorn.error"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))


def log(level: int, message: str, **fields: object) -> None:
    """Write one entry with fields."""
    if LOG.isEnabledFor(level):
        LOG.log(level, message, extra={"fields": fields})
