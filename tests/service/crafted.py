"""Requests that a person would make up who wants to break the service: extreme numbers, and crafted agent states."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from everlearn.agents.registry import AGENTS, SCHEDULES
from everlearn.registry import locate, parameters

PUMP = {"actions": ["off", "on"], "observations": ["dry", "low"], "reward": "given", "reward_range": [-1, 1]}
NUMBERS = [
    *("1e300", "-1e300", "1e308", "5e-324", "1e400", "1" + "0" * 400, "-1" + "0" * 400, "9007199254740991", "1e15"),
    *("0", "-1", "0.5", "1.5", "true", "null", "NaN", "Infinity", '"0.5"', '"x"', "[1, 2]", "[]", "{}"),
]
"""Numbers, and what stands in their place, as JSON that need not be valid."""
KINDS = ("f4", "i1", "c16", "U5", "S3", "M8[s]", "m8[D]", "?", "V8", ">f8", "u8", "O")
HEADERS = (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000,), }",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
    b"{'descr': [('a', '<f8')], 'fortran_order': 1, 'shape': 3}",
    b"{'descr': '<V99999999999', 'fortran_order': False, 'shape': (1,), }",
    *(b"{", b"[]", b"(" * 100),
)

Request = tuple[str, str, bytes]
"""Method, path and body."""


class Crafted:
    """Makes up requests about an agent, whose agent state is given."""

    def __init__(self, seed: int | str, state: bytes, name: str = "pump") -> None:
        self.draw, self.state, self.name = random.Random(seed), state, name
        with np.load(io.BytesIO(state), allow_pickle=False) as file:
            self.arrays = {name: file[name] for name in file.files}

    def request(self) -> Request:
        kinds: list[Callable[[], Request]] = [self.create, self.declare, self.observe, self.put]
        return self.draw.choice(kinds)()

    def create(self) -> Request:
        """An agent with an extreme parameter."""
        kind, known = self.draw.choice([("agent", AGENTS), ("schedule", SCHEDULES)])
        name = self.draw.choice(list(known))
        key = self.draw.choice([*parameters(locate(name, known, kind)), "none"])
        chosen = f'"parameters": {{"{kind}.{key}": {self.draw.choice(NUMBERS)}}}'
        return (
            "POST",
            "/v1/agents",
            f'{{"name": "x", "setup": {{"task": "riverswim", "{kind}": "{name}", {chosen}}}}}'.encode(),
        )

    def declare(self) -> Request:
        """An agent with an extreme number elsewhere in its setup."""
        number = self.draw.choice(NUMBERS)
        key = self.draw.choice(["seed", "snapshot_every", "retain", "raw", "start", "states", "reward", "drift"])
        value = {"drift": f'{{"batch": {number}}}', "reward": f'[["dry", "on", "low", {number}]]'}.get(key, number)
        setup = json.dumps({name: part for name, part in PUMP.items() if name != key})
        return "POST", "/v1/agents", f'{{"name": "x", "setup": {setup[:-1]}, "{key}": {value}}}}}'.encode()

    def observe(self, step: int = 1, extreme: bool = True) -> Request:
        """An observation, with an extreme number unless told."""
        sent: dict[str, Any] = {"step": str(step), "observation": '"low"', "executed": '"on"', "reward": "0"}
        if extreme:
            sent[self.draw.choice(list(sent))] = self.draw.choice(NUMBERS)
        what = self.draw.choice(["observe", "step"])
        body = ", ".join(f'"{name}": {value}' for name, value in sent.items())
        return "POST", f"/v1/agents/{self.name}/{what}", f"{{{body}}}".encode()

    def put(self) -> Request:
        """An agent state that is not one."""
        how = self.draw.choice([self._other_array, self._missing, self._bomb, self._header, self._bytes])
        return "PUT", f"/v1/agents/{self.name}/state", how()

    def _other_array(self) -> bytes:
        name = self.draw.choice(list(self.arrays))
        array = self.arrays[name]
        shape = self.draw.choice([array.shape, (), (0,), (1,) * 32, (100_000,), array.shape[::-1]])
        kind = self.draw.choice([array.dtype.str, array.dtype.str, *KINDS])
        if kind == "O":
            return saved({**self.arrays, name: np.array([{}], dtype=object)})
        value = self.draw.choice([0, 1]) if array.dtype != np.float64 or kind != "<f8" else self._number()
        return saved({**self.arrays, name: np.full(shape, value).astype(kind)})

    def _number(self) -> float:
        return self.draw.choice([-5.0, 2.0**40, 2.0**62, 1e308, -1e308, np.nan, np.inf, -np.inf, 5e-324])

    def _missing(self) -> bytes:
        left_out = self.draw.choice(list(self.arrays))
        return saved({name: array for name, array in self.arrays.items() if name != left_out})

    def _bomb(self) -> bytes:
        return bomb(tuple(self.arrays))

    def _header(self) -> bytes:
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name in self.arrays:
                archive.writestr(f"{name}.npy", npy(self.draw.choice(HEADERS), 8))
        return file.getvalue()

    def _bytes(self) -> bytes:
        data = bytearray(self.state)
        for _ in range(self.draw.choice([1, 2, 8])):
            data[self.draw.randrange(len(data))] = self.draw.randrange(256)
        return bytes(data[: self.draw.choice([None, None, self.draw.randrange(len(data))])])


WORDS = ("", "", "", "", "pump", "pump0", "x", "arrival", "%00", "..%2f..", "\u00fc".encode().hex(), "a" * 200)
JUNK = (b"", b"{", b"[]", b"null", b"\xff\xfe", b"1" * 5000, b"[" * 3000, b'{"step": 1, "step": 2}')


class Anything:
    """Makes up requests to any route of a service: extreme numbers, missing and unknown keys, wrong types and bytes.

    ``routes`` are pairs of a method and a path of the OpenAPI document, ``keys`` the names that it knows, and ``words``
    the values.  One request in a hundred is a crafted setup or agent state, which the service tries in a process of its
    own.  A quarter of the requests are good observations for ``step``, so that the agent learns meanwhile.
    """

    step = 1

    def __init__(self, crafted: Crafted, routes: list[tuple[str, str]], keys: list[str], words: list[str]) -> None:
        self.crafted, self.draw, self.routes, self.keys = crafted, crafted.draw, routes, keys
        self._values = [*NUMBERS, *words]

    def request(self) -> Request:
        luck = self.draw.random()
        if luck < 0.01:
            return self.draw.choice([self.crafted.create, self.crafted.declare, self.crafted.put])()
        if luck < 0.25:
            return self.crafted.observe(self.step)
        if luck < 0.5:
            self.step += 1
            return self.crafted.observe(self.step - 1, extreme=False)
        method, path = self.draw.choice(self.routes)
        while "{" in path:
            before, _, rest = path.partition("{")
            path = before + (self.draw.choice(WORDS) or self.crafted.name) + rest.partition("}")[2]
        for _ in range(self.draw.choice([0, 0, 1, 2])):
            number = self.draw.choice(NUMBERS).replace(" ", "")[:40].replace('"', "%22")
            path += f"{'&' if '?' in path else '?'}{self.draw.choice(self.keys)}={number}"
        return method, path, self._body()

    def _body(self) -> bytes:
        if self.draw.random() < 0.3:
            return self.draw.choice(JUNK)
        names = self.draw.sample(self.keys, self.draw.randrange(4))
        return ("{" + ", ".join(f'"{name}": {self.draw.choice(self._values)}' for name in names) + "}").encode()


@cache
def bomb(names: tuple[str, ...]) -> bytes:
    """Return a small file of large arrays."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(f"{name}.npy", npy(HEADERS[0], 1_000_000))
    return file.getvalue()


def saved(arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(header: bytes, size: int) -> bytes:
    return b"\x93NUMPY\x01\x00v\x00" + header.ljust(117) + b"\n" + bytes(size)
