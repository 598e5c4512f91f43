"""Random tensors. Element i of a draw of n comes from counter i mod q of the draw, word i // q, q =
ceil(n / words): a function of seed, position and n. The generator (Philox 4x32-10) and the
distributions on top of it are scalar expressions like any other op.
"""
import functools
import math
import operator

import numpy as np

from .. import devices, dtypes, size_arguments, strided_memory
from .. import random as generators
from ..autograd import modes
from ..cpu import memory, taped_launches
from ..cpu.pointwise import Pointwise
from ..cpu.sort import order
from ..ir import scalar as s
from ..ir.outline import Outline
from ..layouts import contiguous_format, preserve_format
from ..tensor import wrap
from .argument_errors import checked_input
from .batching import native
from .creation import as_format, check_options, order_in_memory, placed
from .number_questions import are_probabilities, has_negative
from .out_arguments import give_out, type_to_make
from .out_types import OutType
from .pointwise_family import PointwiseOp
from .registry import Op, apply, apply_without_operands, ask, is_tensor
from .sample_inputs import Sample, reals
from .surface import FUNCTIONS, function
from .zero_gradients import attached

KEPT = 1 << 18                   # so many counters are made once
FEW = 1 << 12                    # of draws of so many numbers, machine code makes all
MOST_SIZES = 256                 # of such draws that are known


def _u64(x):
    return s.cast(x, "u64")


def _low(x):
    return x & _u64(s.const(0xFFFFFFFF))


def _high(x):
    return s.shr(x, _u64(s.const(32)))


def philox(counter, seed):
    """Four 32-bit words (held in u64) of the block `counter` (u64) under the key `seed` (u64)."""
    c = [_low(counter), _high(counter), _u64(s.const(0)), _u64(s.const(0))]
    k0, k1 = _low(seed), _high(seed)
    for _ in range(10):
        p0, p1 = c[0] * _u64(s.const(0xD2511F53)), c[2] * _u64(s.const(0xCD9E8D57))
        c = [_high(p1) ^ c[1] ^ k0, _low(p1), _high(p0) ^ c[3] ^ k1, _low(p0)]
        k0, k1 = _low(k0 + _u64(s.const(0x9E3779B9))), _low(k1 + _u64(s.const(0xBB67AE85)))
    return c


def _unit32(w):
    """24 bits -> [0, 1)"""
    return s.cast(s.shr(w, _u64(s.const(8))), "f32") * 2.0 ** -24


def _unit64(a, b):
    """53 bits -> [0, 1)"""
    w = s.shr(a, _u64(s.const(5))) * _u64(s.const(1 << 26)) + s.shr(b, _u64(s.const(6)))
    return s.cast(w, "f64") * 2.0 ** -53


def _normals(u, v, t):
    """Two normal numbers from two uniform ones (Box and Muller); 1 - u is never zero."""
    r = s.sqrt(s.cast(s.const(-2.0), t) * s.log(1 - u))
    a = v * (2 * math.pi)
    return [r * s.cos(a), r * s.sin(a)]


def _words(kind, at=None):
    """The outputs of one counter for a kind of draw; `at`: the position in the stream, if it is no
    u64."""
    w = philox(s.arg(0) + (s.arg(1) if at is None else _u64(at)), s.arg(2))
    if kind == "u32":
        return [s.cast(x, "u32") for x in w]
    if kind == "u64":
        return [w[0] * _u64(s.const(1 << 32)) + w[1], w[2] * _u64(s.const(1 << 32)) + w[3]]
    if kind == "uniform32":
        return [_unit32(x) for x in w]
    if kind == "uniform64":
        return [_unit64(w[0], w[1]), _unit64(w[2], w[3])]
    if kind == "normal32":
        return (_normals(_unit32(w[0]), _unit32(w[1]), "f32")
                + _normals(_unit32(w[2]), _unit32(w[3]), "f32"))
    return _normals(_unit64(w[0], w[1]), _unit64(w[2], w[3]), "f64")


@functools.lru_cache(2)
def _counters(n):
    return np.arange(n, dtype=np.uint64)


class _Draw:
    """n numbers of one kind, from one kernel call."""
    TYPES = {
        "u32": np.uint32, "u64": np.uint64, "uniform32": np.float32, "uniform64": np.float64,
        "normal32": np.float32, "normal64": np.float64}

    def __init__(self, kind):
        self.kind, self.dtype = kind, np.dtype(self.TYPES[kind])
        self.per = 2 if kind in ("u64", "uniform64", "normal64") else 4

    @functools.cached_property
    def kernel(self):
        return Pointwise(f"philox_{self.kind}", tuple(_words(self.kind)), 3)

    def __call__(self, n, seed, at):
        flat = memory.empty((self.room(n),), self.dtype)
        if n:
            where = np.asarray(seed, np.uint64), np.asarray(at, np.uint64)
            self.into(flat, self.counters(n), *where)
        return flat if n == flat.size else strided_memory.alone(flat[:n])

    def room(self, n):
        """The elements that a draw of n writes: whole blocks."""
        return -(-n // self.per) * self.per

    def counters(self, n):
        """0, 1, ... for each block."""
        q = -(-n // self.per)
        return (_counters(1 << max(10, (q - 1).bit_length()))[:q] if q <= KEPT else np.arange(
            q, dtype=np.uint64))

    def into(self, flat, counters, seed, at):
        """Draw into an array with room for it; the position in the stream and its seed are arrays
        of no dimension."""
        self.kernel([counters, at, seed], self.parts(flat))

    def parts(self, flat):
        """What is drawn as one number of each block, as another of each, and so on."""
        q = flat.size // self.per
        return [flat[i * q:(i + 1) * q] for i in range(self.per)]


DRAWS = {k: _Draw(k) for k in _Draw.TYPES}


class RandomOp(Op):
    """Draws of one kind: the position in the stream is an attribute, so the op itself is a
    function."""
    family = "random"
    random = any_sizes = True

    def __init__(self, kind):
        self.draw = DRAWS[kind]
        self.makers: dict[tuple, tuple] = {}  # a shape -> what `maker` says of it
        super().__init__(f"random_{kind}")

    def blocks(self, shape):
        """How many places of the stream a draw takes."""
        return -(-math.prod(shape) // self.draw.per)

    def next(self, generator, shape):
        """The next numbers of a generator, on the host, unseen by observers."""
        blocks, make = self.maker(shape)
        return make(*generator.take(blocks))

    def maker(self, shape):
        """How many places of the stream a draw takes, and what makes it of the seed and the first
        of them."""
        known = self.makers.get(shape)
        if known is None:
            if len(self.makers) >= MOST_SIZES:
                self.makers.clear()
            few = FEW_DRAWS[self]
            make = few.maker(shape) if few.takes(math.prod(shape)) else functools.partial(
                self.made, shape)
            known = self.makers[shape] = self.blocks(shape), make
        return known

    def made(self, shape, seed, at):
        """The numbers from a position on."""
        return apply_without_operands(self, dict(shape=shape, seed=seed, offset=at))

    def words(self):
        """What a counter gives, as expressions."""
        return tuple(_words(self.draw.kind))

    def forward(self, *, shape, seed, offset):
        n = math.prod(shape)
        return self.draw(n, seed, offset).reshape(shape)


class FewDraws(Op):
    """Draws of so few numbers that the launch is most of the work, as an op of the seed and the
    position, which machine code hands to the kernel. Only whole blocks are drawn."""
    family = "random"
    is_repeatable = random = inner = dynamic_numbers = True
    seed = 0, wrap(np.zeros((), np.uint64))  # the last one, and a tensor of it

    def __init__(self, kind):
        self.draw = DRAWS[kind]
        super().__init__(f"few_{kind}", register=False, inner=True)

    @functools.cached_property
    def kernel(self):
        return Pointwise(f"philox_few_{self.draw.kind}", _words(self.draw.kind, s.arg(1)), 3)

    def forward(self, seed, at, *, size):
        flat = memory.empty((math.prod(size),), self.draw.dtype)
        where = np.asarray(at, np.int64)
        taped_launches.number(1, where)
        self.kernel([taped_launches.table(self.draw.counters(flat.size)), where, seed],
                    self.draw.parts(flat))
        return flat.reshape(size)

    def takes(self, n):
        """Does it draw this many?"""
        return 0 < n <= FEW and not n % self.draw.per

    def maker(self, size):
        """What makes a draw of the seed and the position; recipes know it by its attributes."""
        attrs = {"size": size}

        def make(seed, at):
            known = FewDraws.seed
            if known[0] != seed:
                known = FewDraws.seed = seed, wrap(np.asarray(seed, np.uint64))
            return apply(self, (known[1], at), attrs)
        return make


OPS = {k: RandomOp(k) for k in DRAWS}
FEW_DRAWS = {op: FewDraws(k) for k, op in OPS.items()}


def draw(kind, shape, generator=None, device=devices.CPU):
    """A tensor of raw draws: u32, u64, uniform32/64 in [0, 1), normal32/64. They are the same on
    every device."""
    g = generator or generators.default_generator
    if not isinstance(g, generators.Generator):
        raise TypeError(f"expected a whet.Generator, got {g.__class__.__name__}")
    return draw_op(g, OPS[kind], tuple(shape), device)


def draw_op(g, op, shape, device=devices.CPU):
    """The next numbers of a generator, by one of the ops for draws."""
    if device is not devices.CPU and device.type != "cpu":
        if device.type == "meta":            # nothing is drawn
            return wrap(devices.beyond.filled(None, shape, op.draw.dtype, None))
        if modes.state.observers:
            return placed(draw_op(g, op, shape), device)
        seed, at = g.take(op.blocks(shape))
        return wrap(devices.beyond.random_draws.drawn(op, shape, seed, at, device.index))
    if modes.state.observers:
        return modes.state.observers[-1].draw(g, op, shape)
    return op.next(g, shape)


def _shape(size):
    if len(size) == 1 and not isinstance(size[0], int) and not hasattr(size[0], "__index__"):
        size = tuple(size[0])
    size = tuple(size_arguments.whole(i) for i in size)
    for i in size:
        if i < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {i}: {list(size)}")
    return size


def draw_floats(kind, shape, generator, dtype, device=devices.CPU):
    dtype = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
    if dtype.category == dtypes.COMPLEX:
        part = dtypes.float64 if dtype is dtypes.complex128 else dtypes.float32
        scale = math.sqrt(0.5) if kind == "normal" else 1.0
        re, im = (draw_floats(kind, shape, generator, part, device) * scale for _ in range(2))
        return FUNCTIONS["complex"](re, im)
    if dtype.category != dtypes.FLOAT:
        raise NotImplementedError(f"\"{kind}\" not implemented for '{dtype.letter}'")
    wide = kind + ("64" if dtype is dtypes.float64 else "32")
    x = draw(wide, shape, generator, device)
    if dtype.itemsize < 4 and kind == "uniform":            # fewer bits: keep the result below one
        bits = 11 if dtype is dtypes.float16 else 8
        x = (x * 2.0 ** bits).floor() * 2.0 ** -bits
    return x.to(dtype)


def _target(device, out):
    """The device to draw on."""
    return devices.as_device(device) if out is None else out.device


def _finish(x, out, requires_grad, device):
    """The numbers where they are wanted."""
    if devices.beyond is not None:
        x = placed(x, device if out is None else out.device)
    if out is not None:
        return give_out("random", x, out, types=OutType.CASTS)
    return x.requires_grad_() if requires_grad else x


@function(method=False)
def rand(*shape, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
         requires_grad=False, pin_memory=False):
    """Uniform numbers in [0, 1).

    >>> import whet
    >>> whet.rand(2, 3).shape
    whet.Size([2, 3])
    """
    shape = _shape(shape if size is None else (size,))
    dtype = type_to_make(dtype, out)
    x = draw_floats("uniform", shape, generator, dtype, _target(device, out))
    return _finish(x, out, requires_grad, device)


@function(method=False)
def randn(*shape, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
          requires_grad=False, pin_memory=False):
    """Numbers from the normal distribution.

    >>> import whet
    >>> whet.manual_seed(0) is not None, whet.randn(2, 3).shape
    (True, whet.Size([2, 3]))
    """
    shape = _shape(shape if size is None else (size,))
    dtype = type_to_make(dtype, out)
    x = draw_floats("normal", shape, generator, dtype, _target(device, out))
    return _finish(x, out, requires_grad, device)


def _like(name, input, make, dtype, device, requires_grad, memory_format, **options):
    """What `make` draws of the input's shape, and of its type, device and order in memory unless
    others are given."""
    x = make(tuple(checked_input(name, input).shape), dtype=dtype or input.dtype,
             device=input.device if device is None else device, **options)
    memory_format = as_format(memory_format)
    if memory_format is preserve_format or memory_format is None:
        order = order_in_memory(input._array)
        if order is not None:
            x = x.permute(order).contiguous().permute(np.argsort(order).tolist())
    elif memory_format is not contiguous_format:
        x = x.contiguous(memory_format=memory_format)
    return x.requires_grad_() if requires_grad else x


@function(method=False)
def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
              memory_format=None):
    """Uniform numbers in [0, 1), shaped like the input.

    >>> import whet
    >>> whet.rand_like(whet.ones(2, 3)).shape
    whet.Size([2, 3])
    """
    return _like("rand_like", input, rand, dtype, device, requires_grad, memory_format,
                 generator=generator)


@function(method=False)
def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
               memory_format=None):
    """Numbers from the normal distribution, shaped like the input.

    >>> import whet
    >>> whet.randn_like(whet.ones(2, 3)).shape
    whet.Size([2, 3])
    """
    return _like("randn_like", input, randn, dtype, device, requires_grad, memory_format,
                 generator=generator)


@functools.lru_cache(None)
def _limits(dtype):
    """The least and the greatest number of a type; None where draws need no such bounds."""
    if dtype.category == dtypes.BOOL:
        return 0, 1
    if dtype.category != dtypes.INT:
        return None
    info = dtypes.iinfo(dtype)
    return info.min, info.max


def draw_integers(low, high, shape, generator, dtype, device=devices.CPU):
    """Whole numbers in [low, high), of bounds that may be numbers that vary."""
    low, high = bound_of_draw(low, "randint", "low"), bound_of_draw(high, "randint", "high")
    if dtype.category == dtypes.COMPLEX:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    limits, span = _limits(dtype), high - low
    varies = hasattr(span, "__whet_tensor__")        # It is smaller than any int64 is.
    if limits and not (varies and dtype is dtypes.int64) \
            and not limits[0] <= low <= high - 1 <= limits[1]:
        raise RuntimeError(f"from or to - 1 is out of bounds for {dtype}: {low}, {high - 1}")
    if varies and span <= 1 << 31:
        words = draw("u32", shape, generator, device).to(dtypes.int64)
        return ((words * span >> 32) + low).to(dtype)
    low, span = operator.index(low), operator.index(span)
    words = draw("u32" if span <= 1 << 32 else "u64", shape, generator, device)
    return apply(range_op, (words,), {"low": low, "span": span}).to(dtype)


def bound_of_draw(x, op, argument):
    """A bound of whole numbers as an int, or as the number that varies which a trace has for it."""
    varies = hasattr(x, "__whet_tensor__") and isinstance(x, int) and not isinstance(x, bool)
    return x if varies else size_arguments.as_int(x, op, argument)


# the high word of word * span, with no division, and the lowest number added
_RANGED = Pointwise("ranged", (s.cast(_high(_u64(s.arg(0)) * _u64(s.arg(1))), "i64") + s.arg(2),),
                    3)


def _ranged(words, low, span):
    """Random words as whole numbers in [low, low + span)."""
    if words.dtype.itemsize == 4:
        out = memory.empty(words.shape, np.dtype(np.int64))
        _RANGED([words, *[taped_launches.table(np.full(1, x)).reshape(()) for x in (span, low)]],
                [out])
        return out
    a = words % np.uint64(span) if span < 1 << 64 else words.copy()
    a = a.view(np.int64)
    if low:
        a += low
    return a


range_op = Op(
    "random_range", _ranged, samples=lambda make: [
        Sample(FUNCTIONS["tensor"]([0, 7, 2 ** 32 - 1], dtype=dtypes.uint32), low=-2, span=5),
        Sample(FUNCTIONS["tensor"]
               ([0, 2 ** 63, 2 ** 64 - 1], dtype=dtypes.uint64), low=3, span=1 << 40)],
    batch=native)
range_op.launches = range_op.any_sizes = True
range_op.outlined = lambda words, low, span: Outline(words.shape, np.int64)


order_op = Op("random_order", order, samples=lambda make: [
    Sample(FUNCTIONS["tensor"]([3, 1, 2, 1], dtype=dtypes.uint64))], batch=native)
range_op.forward_on_device = lambda words, **at: devices.beyond.random_draws.ranged(words, **at)
order_op.forward_on_device = lambda keys: devices.beyond.random_draws.ordered(keys)
order_op.doc = "The places of the keys in ascending order."
order_op.is_repeatable = order_op.any_sizes = order_op.keeps_sizes = True
order_op.outlined = lambda keys: Outline(keys.shape, np.int64)


@function(method=False)
def randint(low, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None,
            device=None, requires_grad=False, pin_memory=False):
    """Whole numbers in [low, high).

    >>> import whet
    >>> x = whet.randint(3, (100,))
    >>> x.min() >= 0, x.max() < 3
    (tensor(True), tensor(True))
    """
    check_options("randint", layout, device, pin_memory)
    if size is None:
        if high is None or isinstance(high, int):
            raise TypeError("randint() missing the argument 'size'")
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    dtype = dtypes.as_dtype(type_to_make(dtype, out)) or dtypes.int64
    return _finish(
        draw_integers(low, high, _shape((size,) if isinstance(size, int) else size), generator,
                      dtype, _target(device, out)),
        out,
        requires_grad,
        device)


@function(method=False)
def randint_like(input, low=None, high=None, *, generator=None, dtype=None, layout=None,
                 device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Whole numbers in [low, high), shaped like the input.

    >>> import whet
    >>> whet.randint_like(whet.ones(2, 3), 10).shape
    whet.Size([2, 3])
    """
    if high is None:
        low, high = None, bound_of_draw(low, "randint_like", "high")
    draw_between = functools.partial(randint, 0 if low is None else low, high)
    return _like("randint_like", input, draw_between, dtype, device, requires_grad, memory_format,
                 generator=generator, layout=layout, pin_memory=pin_memory)


@function(method=False)
def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None,
             requires_grad=False, pin_memory=False):
    """The numbers 0 .. n-1 in random order.

    >>> import whet
    >>> whet.randperm(5).sort().values
    tensor([0, 1, 2, 3, 4])
    """
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    n = size_arguments.as_int(n, "randperm", "n", 1, size_arguments.whole)
    r = apply(order_op, (draw("u64", (n,), generator, _target(device, out)),), {})
    dtype = dtypes.as_dtype(type_to_make(dtype, out)) or dtypes.int64
    return _finish(r.to(dtype), out, requires_grad, device)


def check_real(fn, name, v):
    """Raise TypeError for what is neither a tensor nor a real number."""
    if not is_tensor(v) and not (hasattr(v, "__float__") or hasattr(v, "__index__")):
        raise TypeError(f"{fn}(): argument '{name}' must be float, not {v.__class__.__name__}")


@function(method=False)
def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None,
           device=None, requires_grad=False, pin_memory=False):
    """Normal numbers with given means and standard deviations.

    >>> import whet
    >>> whet.normal(0., 1., (2, 3)).shape
    whet.Size([2, 3])
    """
    for what, v in (("mean", mean), ("std", std)):
        check_real("normal", what, v)
    if is_tensor(std) and std.dtype.category == dtypes.COMPLEX:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if is_tensor(std) and std.numel() and ask(has_negative, std):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if not is_tensor(std) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if size is not None:
        z = randn(*_shape((size,) if isinstance(size, int) else size),
                  generator=generator,
                  dtype=dtype,
                  device=device)
    else:
        if not is_tensor(mean) and not is_tensor(std):
            raise TypeError("normal(): without a size, mean or std must be a Tensor")
        shape = size_arguments.broadcast_shapes(*(t.shape for t in (mean, std) if is_tensor(t)))
        if is_tensor(out) and not is_tensor(std):       # the means are added to what is drawn there
            if not size_arguments.broadcasts_to(shape, out.shape):
                raise RuntimeError(f"normal: the means of shape {list(shape)} do not broadcast to "
                                   f"the shape {list(out.shape)} of out")
            shape = out.shape
        like = mean if is_tensor(mean) else std
        z = randn(*shape, generator=generator, dtype=like.dtype, device=like.device)
    detached = [t.detach() if is_tensor(t) else t for t in (mean, std)]
    drawn = attached((z * detached[1] + detached[0]).to(z.dtype), mean, std)
    return _finish(drawn, out, requires_grad, z.device)


@function(out=True, out_type=OutType.REAL)
def bernoulli(input, p=None, *, generator=None):
    """Ones with the probabilities of the input, zeros otherwise.

    >>> import whet
    >>> whet.bernoulli(whet.tensor([0., 1.]))
    tensor([0., 1.])
    """
    if p is not None:
        return FUNCTIONS["empty_like"](input).bernoulli_(p, generator=generator)
    if input.dtype.category != dtypes.FLOAT:
        raise NotImplementedError(
            f"bernoulli: expected a floating point tensor of probabilities, got {input.dtype}")
    if input.numel() and not ask(are_probabilities, input):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    u = draw("uniform64" if input.dtype is dtypes.float64 else "uniform32", input.shape, generator,
             input.device)
    return apply(below_op, (u, input), {}).to(input.dtype)


# ones where a uniform number is below a probability: a step, whose slope is zero
below_op = PointwiseOp("random_bernoulli", lambda u, p: s.cast(u < p, "f32"), result="f32",
                       samples=(reals(0, 1), reals(0, 1, grad=False)))


for _fn in (generators.manual_seed, generators.seed, generators.initial_seed,
            generators.get_rng_state, generators.set_rng_state, generators.Generator,
            generators.default_generator):
    FUNCTIONS[getattr(_fn, "__name__", "default_generator")] = _fn
