"""NumPy's SFC64 generator, stepped inside compiled code.

A stream is the address of its four words, and draws the same numbers as ``Generator(SFC64(...)).random()``.  It is an
address rather than an array because a view of an array costs two atomic operations on its reference count.  Streams
have a type of their own, so that no number of a user's can be mistaken for an address.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

from everlearn.randomness import WORDS, stream_of, uniform

STRIDE = 8 * WORDS
"""The number of bytes from one stream to the next."""


@intrinsic
def step(_context: Any, _address: Any) -> Any:
    """Advance the stream at an address, and return a number in [0, 1) with 53 random bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)

        def constant(value: int) -> Any:
            return ir.Constant(word, value)

        pointer = builder.inttoptr(arguments[0], word.as_pointer())
        places = [builder.gep(pointer, [constant(index)]) for index in range(WORDS)]
        a, b, c, counter = (builder.load(place) for place in places)
        drawn = builder.add(builder.add(a, b), counter)
        rotated = builder.or_(builder.shl(c, constant(24)), builder.lshr(c, constant(40)))
        builder.store(builder.xor(b, builder.lshr(b, constant(11))), places[0])
        builder.store(builder.add(c, builder.shl(c, constant(3))), places[1])
        builder.store(builder.add(rotated, drawn), places[2])
        builder.store(builder.add(counter, constant(1)), places[3])
        bits = builder.sitofp(builder.lshr(drawn, constant(11)), ir.DoubleType())
        return builder.fmul(bits, ir.Constant(ir.DoubleType(), 2.0**-53))

    return types.float64(types.intp), generate


class StreamType(types.Type):
    """The type of a stream in compiled code."""

    def __init__(self) -> None:
        super().__init__(name="everlearn.Stream")


STREAM = StreamType()


@register_model(StreamType)
class _StreamModel(models.PrimitiveModel):
    """An address."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(64))


@intrinsic
def stream_at(_context: Any, _address: Any) -> Any:
    """Return the stream whose words are at an address."""
    return STREAM(types.intp), lambda _context, _builder, _signature, arguments: arguments[0]


@intrinsic
def address_of(_context: Any, _stream: Any) -> Any:
    """Return the address of a stream's words."""
    return types.intp(STREAM), lambda _context, _builder, _signature, arguments: arguments[0]


@overload(uniform, jit_options={"forceinline": True}, strict=False)
def _uniform(stream: Any) -> Any:
    if isinstance(stream, StreamType):
        return lambda stream: step(address_of(stream))
    return None


@overload(stream_of, jit_options={"forceinline": True}, strict=False)
def _stream_of(words: Any) -> Any:
    if isinstance(words, types.Array) and (words.dtype, words.ndim, words.layout) == (types.uint64, 1, "C"):
        return lambda words: stream_at(words.ctypes.data)
    return None
