"""`vmap`: a function of one example, for a batch of them at once."""
from functools import wraps

import numpy as np

from ..autograd import function_levels as functions
from ..autograd.levels import Level, LevelTensor, NeedsNumbers
from ..ops import batching, registry
from ..ops.convert import copy_op
from ..ops.random import draw_op
from ..tensor import Tensor, new
from .trees import like, other_leaves, tensors

DATA_DEPENDENT = (
    "vmap: Python asks for the numbers of a tensor that has others for each example ({}). Use ops "
    "(where, cond, clamp, masks) instead of item(), bool(), numpy() and their like")


class BatchTensor(LevelTensor):
    """One example of a batch, as the function that is vmapped sees it. `value` has the batch
    dimension in front, if it is `batched`."""
    __slots__ = ("batched", "_example")

    @property
    def _is_one_of_many(self):
        return self.batched

    def _representative(self):
        a = self._example
        if a is None:
            a = self._example = self.value._array[0, ...] if self.batched else self.value._array
        return a

    def __repr__(self, **_):
        return f"BatchTensor({self.value!r})" if self.batched else repr(self.value)


class BatchLevel(Level):
    """One call of `vmap` over `size` examples."""
    name = "vmap"

    def __init__(self, size, randomness="error"):
        super().__init__()
        self.size, self.randomness = size, randomness

    def tensor(self, value, *, batched=False):
        t = new(BatchTensor)
        t.level, t.value, t.batched, t._example = self, value, batched, None
        return t

    def twin(self, t):
        return self.tensor(t.value, batched=t.batched)

    def replace(self, t, r):
        t.value, t.batched, t._example = r.value, r.batched, None

    def has_batch(self, x):
        """Does it differ between the examples?"""
        return type(x) is BatchTensor and x.level is self and x.batched

    # ---- ops ----
    def compute(self, op, inputs, attrs):
        batched = tuple([type(x) is BatchTensor and x.level is self and x.batched for x in inputs])
        values = tuple(
            [x.value if isinstance(x, LevelTensor) and x.level is self else x for x in inputs]
        )
        some = True in batched
        outs = (
            self.beneath(self.run, op, values, batched, attrs)
            if some
            else self.beneath(registry.apply, op, values, attrs)
        )
        return (
            tuple([self.tensor(x, batched=some) for x in outs])
            if type(outs) is tuple
            else self.tensor(outs, batched=some)
        )

    def run(self, op, values, batched, attrs):
        """The op on the whole batch, in the layer beneath."""
        outs = op.batch(self.size, values, batched, attrs)
        return (
            batching.looped(op, self.size, values, batched, attrs)
            if outs is NotImplemented
            else outs
        )

    def write(self, op, t, args, attrs):
        if not t.batched and any([self.has_batch(x) for x in args]):
            raise RuntimeError(
                f"vmap: inplace arithmetic(self, *extra_args) is not possible: {op.name}_ writes "
                "what differs between the examples into a tensor that all of them share (of "
                f"shape {list(t.shape)}). Use the op that is not in place.")
        result = value = args[0] if op is copy_op else self.computed_for(op, t, args, attrs)
        if self.owns(result):
            value = batching.aligned(result.value, t.ndim) if result.batched else result.value
        self.beneath(t.value.copy_, value)

    # ---- what Python asks ----
    def refuse_numbers(self, t):
        if t.batched:
            raise NeedsNumbers(DATA_DEPENDENT.format(f"shape {list(t.shape)}"))

    def item(self, t):
        if self.owns(t):
            self.refuse_numbers(t)
        return super().item(t)

    def exposed(self, t):
        if self.owns(t):
            self.refuse_numbers(t)
            t = t.value
        super().exposed(t)

    def ask(self, question, tensors):
        batched = [self.has_batch(t) for t in tensors]
        values = [t.value if self.owns(t) else t for t in tensors]
        if not any(batched):
            return self.beneath(registry.ask, question, *values)
        if hasattr(question, "facts") or hasattr(question, "serves_each"):
            return self.beneath(registry.ask, question, *values)
        return self.beneath(self._ask_each, question, values, batched)

    def _ask_each(self, question, values, batched):
        """The answer for all examples, which must be the same."""
        answers = [
            registry.ask(question, *[x.select(0, i) if b else x for x, b in zip(values, batched)])
            for i in range(self.size)
        ]
        if all([bool(np.all(a == answers[0])) for a in answers]):
            return answers[0]
        raise NeedsNumbers(DATA_DEPENDENT.format(question.__name__.strip("_").replace("_", " ")))

    def beside(self, source, made):
        if not self.owns(source):
            return self.beneath(registry.beside, source, made)
        if not source.batched:
            return self.tensor(self.beneath(registry.beside, source.value, made))
        return self.tensor(self.beneath(self._repeat, source.value, made), batched=True)

    def _repeat(self, source, made):
        made = batching.repeated(registry.beside(source, made), self.size)
        return made.clone()

    def draw(self, generator, op, shape):
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap")
        if self.randomness == "same":
            return super().draw(generator, op, shape)
        return self.tensor(self.beneath(draw_op, generator, op, (self.size, *shape)), batched=True)

    def function(self, cls, args, kwargs):
        return functions.batched(self, cls, args, kwargs)

    # ---- control flow ----
    def differs(self, t):
        return self.has_batch(t) or super().differs(t)

    def any_of(self, t):
        return super().any_of(self.beneath(t.value.any) if self.has_batch(t) else t)


# ---- the transform -------------------------------------------------------------------------------
def _dims(value, dims, found, same_kinds=False):
    """(tensor, dimension) of each tensor in a structure, `dims` being a number or None for all or a
    structure like it; of the same kinds of containers, if that is asked for."""
    if isinstance(value, Tensor):
        found.append((value, dims))
    elif isinstance(value, dict | tuple | list):
        if isinstance(dims, dict | tuple | list) and len(dims) != len(value):
            raise ValueError(
                f"vmap: in_dims is not compatible with the structure of inputs: {len(dims)} and "
                f"{len(value)} entries")
        if same_kinds and not isinstance(dims, int | None) and type(dims) is not type(value):
            raise ValueError(
                "vmap: in_dims is not compatible with the structure of inputs: "
                f"{type(dims).__name__} for a {type(value).__name__}")
        for k in value if isinstance(value, dict) else range(len(value)):
            _dims(value[k], dims[k] if isinstance(dims, dict | tuple | list) else dims, found,
                  same_kinds)
    elif isinstance(dims, int):
        found.append((value, dims))
    return found


def _mapped_dims(name, args, in_dims):
    """[(tensor, the dimension that is mapped over or None)] of the arguments, and the size of that
    dimension."""
    if not isinstance(in_dims, int | tuple):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
            "(potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}")
    if isinstance(in_dims, tuple) and len(in_dims) != len(args):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
            f"structure of inputs: {len(args)} inputs")
    found, sizes = [], set()
    for t, d in _dims(args, in_dims, [], same_kinds=True):
        if d is not None and not isinstance(t, Tensor):
            raise ValueError(
                f"vmap: Got in_dim={d} for an input but the input is of type {type(t)}. We cannot "
                "vmap over non-Tensor arguments, please use None as the respective in_dim")
        if d is not None and not -t.ndim <= d < t.ndim:
            raise ValueError(
                f"vmap: Got in_dim={d} for some input, but that input is a Tensor of "
                f"dimensionality {t.ndim} so expected in_dim to satisfy -{t.ndim} <= in_dim < "
                f"{t.ndim}.")
        if isinstance(t, Tensor):
            found.append((t, None if d is None else d % t.ndim))
            sizes.update([] if d is None else [t.shape[d]])
    if not sizes:
        raise ValueError("vmap: at least one input must have a dimension to map over")
    if len(sizes) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sorted(sizes)} for the mapped dimension")
    if sizes == {0}:
        raise RuntimeError("vmap: the mapped dimension has size 0, so the function cannot be run")
    return found, sizes.pop()


def _dims_of_results(name, result, out_dims):
    """Where each tensor of a result gets the batch dimension."""
    if isinstance(out_dims, list):
        out_dims = tuple(out_dims)
    for d in other_leaves(out_dims):
        if not isinstance(d, int | None):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints: where in the outputs the mapped dimension should be")
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims, = out_dims
    if isinstance(result, Tensor) and not isinstance(out_dims, int | None):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the "
            "structure of the outputs: a Tensor")
    dims = []
    for t, d in _dims(result, out_dims, []):
        if not isinstance(t, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(t)}. Did "
                "you mean to set out_dims= to None for that output?")
        dims.append(d)
    return dims


def _run(func, name, args, kwargs, found, size, out_dims, randomness):
    """One batch."""
    fronted = [t if not d else t.movedim(d, 0) for t, d in found]
    with BatchLevel(size, randomness) as level:
        lifted = [t if d is None else level.tensor(f, batched=True)
                  for f, (t, d) in zip(fronted, found)]
        result = func(*like(args, lifted), **kwargs)
        if not tensors(result) or not isinstance(result, Tensor | tuple | list | dict):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}"
            )
        dims = _dims_of_results(name, result, out_dims)
        outs = [(t.value, t.batched) if level.owns(t) else (t, False) for t in tensors(result)]
    return like(result, [_out(name, t, batched, d, size) for (t, batched), d in zip(outs, dims)])


def _out(name, t, batched, dim, size):
    """A result with the batch dimension where it is wanted."""
    if dim is None:
        if batched:
            raise ValueError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
            )
        return t
    t = t if batched else batching.repeated(t, size)
    return t.movedim(0, dim) if dim else t


def checked_chunk(chunk_size):
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size <= 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    return chunk_size


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func` for every slice of its arguments along `in_dims`, the results stacked along
    `out_dims`.

    The function runs once, each of its ops for all slices at once. A tensor whose `in_dims` is None
    is given as it is. `randomness` says what random numbers are: an error, "different" for each
    slice, or the "same". `chunk_size`: so many slices at a time.

    >>> import whet
    >>> whet.vmap(whet.dot)(whet.tensor([[1., 2.], [3., 4.]]), whet.ones(2, 2))
    tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}")
    checked_chunk(chunk_size)
    name = getattr(func, "__name__", func)

    @wraps(func)
    def over(*args, **kwargs):
        found, size = _mapped_dims(name, args, in_dims)
        if chunk_size is None or chunk_size >= size:
            return _run(func, name, args, kwargs, found, size, out_dims, randomness)
        parts = []
        for start in range(0, size, chunk_size):
            n = min(chunk_size, size - start)
            some = [(t if d is None else t.narrow(d, start, n), d) for t, d in found]
            parts.append(
                _run(
                    func,
                    name,
                    like(args, [t for t, _ in some]),
                    kwargs,
                    some,
                    n,
                    out_dims,
                    randomness,
                )
            )
        dims = [d for _, d in _dims(parts[0], out_dims, [])]
        return like(
            parts[0], [_joined(column, d) for column, d in zip(zip(*map(tensors, parts)), dims)]
        )
    return over


def _joined(parts, dim):
    from ..ops import cat
    return parts[0] if dim is None else cat(parts, dim)
