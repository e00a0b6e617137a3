"""What the service is measured against: one FastAPI endpoint that commits the same row in the same way, and no more.

``python -m benchmarks.bare DIR PORT`` serves it with the settings of the service: a thread that takes all that waits,
writes it in one transaction, and answers.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

from everlearn.durable.database import INSERT_ROW, connect, create_tables


class Step(BaseModel):
    """What is sent."""

    step: int
    observation: str
    executed: str | None = None


class Writer:
    """Commits rows in groups, as the service does."""

    def __init__(self, directory: Path) -> None:
        self.waiting: queue.SimpleQueue[tuple[tuple[Any, ...], asyncio.Future[None]]] = queue.SimpleQueue()
        self.connection: sqlite3.Connection = connect(directory / "bare.db")
        create_tables(self.connection)
        threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        """Take all that waits, commit it, answer."""
        while True:
            group = [self.waiting.get()]
            while not self.waiting.empty():
                group.append(self.waiting.get_nowait())
            self.connection.execute("BEGIN IMMEDIATE")
            self.connection.executemany(INSERT_ROW, [row for row, _ in group])
            self.connection.execute("COMMIT")
            loop = group[0][1].get_loop()
            loop.call_soon_threadsafe(answer, [future for _, future in group])


def answer(futures: list[asyncio.Future[None]]) -> None:
    """Tell those who wait."""
    for future in futures:
        future.set_result(None)


def make_app(directory: Path) -> FastAPI:
    """Return the application: one endpoint."""
    writer = Writer(directory)
    app = FastAPI(openapi_url=None, telemetry={"tracing": False, "metrics": False, "logs": False})

    @app.post("/v1/agents/{name}/step")
    async def step(name: str, body: Step) -> dict[str, Any]:
        row = (int(name[1:]), body.step, 0, body.step, 0, time.time(), 0, None, 0, 0, 0, 1.0, 1, None, 2**31)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        writer.waiting.put((row, future))
        await future
        following = {"step": body.step + 1, "action": "fast", "state": 0, "mode": "learn"}
        return {
            "step": body.step,
            "observation": body.observation,
            "executed": "fast",
            "reward": 1.0,
            "state": 0,
            "next": following,
        }

    return app


if __name__ == "__main__":
    uvicorn.run(
        make_app(Path(sys.argv[1])),
        port=int(sys.argv[2]),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_keep_alive=75,
    )
