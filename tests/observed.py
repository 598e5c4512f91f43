"""What can be seen of values, as plain data that compares: what the fuzzers of traced functions ask
of both of their sides.

`observed(*values)` tells the type of all that is in the values, the bits, strides, history and
version of tensors, what of them shares memory, and which of the objects are the same one.
"""
import collections
import dataclasses
import enum
import random
import re
import types

import numpy as np

ADDRESS = re.compile(r"0x[0-9A-Fa-f]+")
PLAIN = (bool, int, str, bytes, bytearray, type(None), range, slice, complex)
HELD = int, float, list, dict        # what is told of what a class of a program holds


def observed(*values):
    """What can be seen of the values together."""
    return Observer().of(values)


def outcome(call):
    """What a call gives, or the error that it raises, as `observed` tells it."""
    try:
        return call()
    except Exception as e:
        return Raised(type(e).__name__, ADDRESS.sub("", str(e)))


@dataclasses.dataclass
class Raised:
    """An error that a call raised."""
    kind: str
    text: str


class Observer:
    """Looks at values one after the other. An object that was met before is a number, and memory
    that was met before is told by the number of the tensor that had it first."""

    def __init__(self):
        self.met, self.memories, self.kept = {}, [], []

    def of(self, x):
        """What can be seen of a value."""
        import whet
        if isinstance(x, enum.Enum):
            return type(x).__name__, x.name
        if isinstance(x, PLAIN):
            return type(x).__name__, repr(x)
        if isinstance(x, float):
            return type(x).__name__, x.hex()
        if isinstance(x, np.generic):
            return type(x).__name__, str(x.dtype), x.tobytes()
        if id(x) in self.met:
            return "met before", self.met[id(x)]
        self.met[id(x)] = len(self.met)
        self.kept.append(x)
        if isinstance(x, whet.Tensor):
            dense = x.layout is whet.strided
            return self.tensor(x) if dense else (str(x.layout), self.of(x.to_dense()))
        if isinstance(x, np.ndarray):
            return (type(x).__name__, str(x.dtype), x.shape, x.strides, same_nan(x),
                    self.memory(x))
        return self.container(x)

    def tensor(self, t):
        """A tensor, its gradient with it."""
        a = t.detach().numpy()
        flags = [s for s in ("requires_grad", "is_leaf") if getattr(t, s)]
        strides = t.stride() if t.numel() else ()    # where nothing lies they lead nowhere
        return (type(t).__name__, str(t.dtype), tuple(t.shape), strides, same_nan(a), flags,
                t._version, self.memory(a), self.of(t.grad) if t.is_leaf else None)

    def container(self, x):
        """Something with others in it, or something of which the text is all that is told."""
        import whet
        from whet.utils.hooks import RemovableHandle
        name = type(x).__name__
        if isinstance(x, dict | types.MappingProxyType):
            return name, [(self.of(k), self.of(v)) for k, v in x.items()]
        if isinstance(x, set | frozenset):
            return name, sorted(map(repr, x))
        if isinstance(x, whet.optim.Optimizer):
            return name, self.of(x.param_groups), self.of(dict(x.state))
        if isinstance(x, whet.nn.Module):
            own = {k: v for k, v in vars(x).items() if k[0] != "_"}
            tensors = [*x.named_parameters(), *x.named_buffers()]
            return name, self.of(own), self.of(tensors), [m.training for m in x.modules()]
        if isinstance(x, list | tuple | collections.deque):
            return name, [self.of(v) for v in x]
        if isinstance(x, np.random.Generator):
            return name, str(x.bit_generator.state)
        if isinstance(x, random.Random):
            return name, hash(x.getstate())
        if isinstance(x, RemovableHandle):           # numbered through all of a process
            return name
        if isinstance(x, whet.Generator):
            return name, self.of(x.get_state())
        if isinstance(x, type):
            own = vars(x).items() if x.__module__ == "program" else ()
            return name, x.__name__, [(k, self.of(v)) for k, v in own if type(v) in HELD]
        if isinstance(x, types.FunctionType | types.ModuleType):
            return name, x.__name__
        if hasattr(x, "__dict__"):
            return name, self.of(vars(x))
        return name, ADDRESS.sub("", repr(x))

    def memory(self, a):
        """The first array that was met whose memory overlaps with this one's."""
        if not a.size:
            return None
        low, high = np.lib.array_utils.byte_bounds(a)
        first = next((i for i, (b, e) in enumerate(self.memories) if b < high and low < e), None)
        self.memories.append((low, high))
        return first


def same_nan(a):
    """The bytes of an array, each NaN made the same one."""
    flat = np.array(a, copy=True, order="C").reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if flat.dtype.kind not in "biuOSU":
        flat[flat != flat] = np.nan
    return flat.tobytes()


def first_difference(a, b, path=""):
    """Where two observations part: (the way there, the one, the other)."""
    if type(a) is not type(b) or not isinstance(a, list | tuple):
        return path, a, b
    for k, (x, y) in enumerate(zip(a, b)):
        if x != y:
            return first_difference(x, y, f"{path}.{k}")
    return f"{path}.length", a, b
