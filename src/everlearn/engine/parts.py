"""Select the part of stacked arrays that belongs to one run, inside compiled code.

Runs of a user's design are stacked along the first axis of its arrays.  Each run sees only its own part, so that an
index that would reach into another run's part is out of range.  A part owns no memory, so no references are counted.
Neither are they for the arrays of a built-in design, which it sees whole: counting took two thirds of the time of a
design whose functions have branches, because each field of a record is a new view.

Which fields of the knowledge are arrays is known from its type, and cannot be asked in the code of an agent.  So what
:func:`everlearn.agents.restarting.copy_initial` does interpreted is here, too.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_new_ref
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

from everlearn.agents.restarting import INITIAL, copy_initial


def by_field(knowledge: types.NamedTuple, function: Any) -> Any:
    """Return (token, knowledge, number) -> knowledge, with ``function(array, number)`` for every array."""
    entries = [
        f"function(knowledge[{place}], number)" if isinstance(kind, types.Array) else f"knowledge[{place}]"
        for place, kind in enumerate(knowledge.types)
    ]
    scope = {"function": function, "make": knowledge.instance_class}
    source = f"def mapped(_token, knowledge, number):\n    return make({', '.join(entries)})"
    exec(source, scope)  # noqa: S102 - our own text
    return scope["mapped"]


@intrinsic
def first_part(_context: Any, array: Any, runs: Any) -> Any:
    """Return the first of ``runs`` equal parts of an array, along its first axis."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = make_array(array)(context, builder, value=arguments[0])
        shape = cgutils.unpack_tuple(builder, whole.shape)
        if shape:
            shape[0] = builder.sdiv(shape[0], context.cast(builder, arguments[1], signature.args[1], types.intp))
        return _view(context, builder, signature, whole, whole.data, shape)

    return array(array, runs), generate


@intrinsic
def whole(_context: Any, array: Any, _runs: Any) -> Any:
    """Return an array as a view that owns no memory."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_struct = make_array(array)(context, builder, value=arguments[0])
        return _view(context, builder, signature, array_struct, array_struct.data, [])

    return array(array, _runs), generate


@intrinsic
def part_of(_context: Any, array: Any, run: Any) -> Any:
    """Return the part of a run, given the part of the first run."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        part = make_array(array)(context, builder, value=arguments[0])
        shape = cgutils.unpack_tuple(builder, part.shape)
        data = part.data
        if shape:
            strides = cgutils.unpack_tuple(builder, part.strides)
            number = context.cast(builder, arguments[1], signature.args[1], types.intp)
            data = cgutils.pointer_add(builder, data, builder.mul(number, builder.mul(shape[0], strides[0])))
        return _view(context, builder, signature, part, data, shape)

    return array(array, run), generate


def _view(context: Any, builder: Any, signature: Any, array: Any, data: Any, shape: Any) -> Any:
    kind = signature.return_type
    view = make_array(kind)(context, builder)
    data = builder.bitcast(data, view.data.type)
    populate_array(view, data, cgutils.pack_array(builder, shape) if shape else array.shape, array.strides,
                   array.itemsize, None)  # fmt: skip
    return impl_ret_new_ref(context, builder, kind, view._getvalue())


@overload(copy_initial, jit_options={"forceinline": True}, strict=False)
def _copy_initial(knowledge: Any) -> Any:
    """Return the implementation for a type of knowledge."""
    kinds = dict(zip(knowledge.fields, knowledge.types, strict=True))
    names = [name for name in kinds if isinstance(kinds.get(INITIAL + name), types.Array)]
    lines = [f"    knowledge.{name}[...] = knowledge.{INITIAL}{name}" for name in names] or ["    pass"]
    scope: dict[str, Any] = {}
    exec("\n".join(["def implementation(knowledge):", *lines]), scope)  # noqa: S102 - our own text
    return scope["implementation"]
