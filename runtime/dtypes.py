"""Element types, and the rules by which they meet.

>>> import whet
>>> whet.promote_types(whet.int32, whet.float16)
whet.float16
>>> (whet.tensor([1, 2]) * 0.5).dtype
whet.float32
"""
import ml_dtypes
import numpy as np

from . import declared_for_tracing

# Categories, in the order in which they win. Types of the last are stored and moved, and floats
# among them converted; nothing is computed in them.
BOOL, INT, FLOAT, COMPLEX, STORED = 0, 1, 2, 3, 4


class dtype:
    """An element type. There is one object for each; compare with `is` or `==`.

    >>> import whet
    >>> whet.ones(2).dtype is whet.float32
    True
    >>> whet.float16.itemsize, whet.float16.is_floating_point
    (2, True)
    """
    __slots__ = (("name", "short", "np", "category", "itemsize", "is_signed", "code",
                  "is_floating_point", "is_complex", "letter"))

    def __init__(self, name, short, np_dtype, category, code, letter):
        self.name, self.short, self.np = name, short, np.dtype(np_dtype)
        self.category, self.code = category, code
        self.itemsize = self.np.itemsize
        self.is_signed = category != BOOL and not name.startswith(("uint", "float8_e8"))
        self.is_floating_point = (
            category == FLOAT or category == STORED and name.startswith("float"))
        self.is_complex = category == COMPLEX or category == STORED and name.startswith("complex")
        self.letter = letter

    @declared_for_tracing.goes_by_no_size
    def __repr__(self):
        return f"whet.{self.name}"

    def __reduce__(self):
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    @property
    def __numpy_dtype__(self):
        """NumPy's type, for which NumPy 2.4 asks where it is given this one.

        >>> import numpy as np
        >>> import whet
        >>> whet.float32.__numpy_dtype__ == np.float32
        True
        """
        return self.np

    def to_real(self):
        """The type of the real part."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self):
        """The complex type whose parts have this type."""
        return {float32: complex64, float64: complex128, float16: complex64,
                bfloat16: complex64}.get(self, self)

    @property
    def kind(self):
        """NumPy's letter for such numbers: b, i, u, f or c; V for bytes that are no numbers.

        >>> import whet
        >>> whet.bfloat16.kind, whet.uint8.kind
        ('f', 'u')
        """
        if self.category == INT:
            return "i" if self.is_signed else "u"
        return "b" if self.category == BOOL else (
            "c" if self.is_complex else "f" if self.is_floating_point else "V")

    @property
    def has_gradients(self):
        """Can tensors of it have gradients?"""
        return self.is_floating_point or self.is_complex


class quantised_dtype(dtype):
    """A type of integers that represent real numbers by a scale. No tensors of it can be created,
    converted or computed except by the functions for quantisation."""
    __slots__ = ("integers",)

    def __init__(self, name, integers, code, letter):
        # What is asked of a type alone; `np` is what arrays are made by.
        self.name = self.short = name
        self.integers, self.code, self.letter = integers, code, letter
        self.category, self.itemsize = STORED, integers.itemsize
        self.is_floating_point = self.is_complex = False

    @property
    def np(self):                              # type: ignore[override]
        raise RuntimeError(f"Creation of tensors of {self} needs a scale: use "
                           "whet.quantize_per_tensor, or whet.quantize_per_channel")

    @property
    def is_signed(self):                       # type: ignore[override]
        raise RuntimeError("isSignedType not supported for quantized types")


def _by_name(name):
    return NAMED.get(name) or next(d for d in QUANTISED.values() if d.name == name)


# `letter` is the word PyTorch's messages use for the type
bool_ = dtype("bool", "bool", np.bool_, BOOL, 0, "Bool")
uint8 = dtype("uint8", "u8", np.uint8, INT, 1, "Byte")
int8 = dtype("int8", "i8", np.int8, INT, 2, "Char")
int16 = dtype("int16", "i16", np.int16, INT, 3, "Short")
int32 = dtype("int32", "i32", np.int32, INT, 4, "Int")
int64 = dtype("int64", "i64", np.int64, INT, 5, "Long")
uint16 = dtype("uint16", "u16", np.uint16, INT, 6, "UInt16")
uint32 = dtype("uint32", "u32", np.uint32, INT, 7, "UInt32")
uint64 = dtype("uint64", "u64", np.uint64, INT, 8, "UInt64")
float16 = dtype("float16", "f16", np.float16, FLOAT, 9, "Half")
bfloat16 = dtype("bfloat16", "bf16", ml_dtypes.bfloat16, FLOAT, 10, "BFloat16")
float32 = dtype("float32", "f32", np.float32, FLOAT, 11, "Float")
float64 = dtype("float64", "f64", np.float64, FLOAT, 12, "Double")
complex64 = dtype("complex64", "c64", np.complex64, COMPLEX, 13, "ComplexFloat")
complex128 = dtype("complex128", "c128", np.complex128, COMPLEX, 14, "ComplexDouble")

ALL = {
    d.name: d for d in (bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16,
                        bfloat16, float32, float64, complex64, complex128)}
# floats of one byte: exponents of 4, 5 or 8 bits; `fn` has no infinity, `fnuz` no negative zero
float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu = (
    dtype(f"float8_{form}", f"f8{form}", getattr(ml_dtypes, f"float8_{form}"), STORED, code,
          f"Float8_{form}")
    for code, form in enumerate(("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"), 15))
STORED_TYPES = float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu
# bytes that stand for several numbers, or for one of fewer bits. As in PyTorch a tensor of them can
# be made without values, viewed, moved and saved; what the bytes mean is the program's own affair.
def _packed(name, letter, code, bits=8):
    """A type of such bytes. NumPy tells them apart by the name of their one field."""
    return dtype(name, name, np.dtype([(name, f"u{bits // 8}")]), STORED, code, letter)


int1, int2, int3, int4, int5, int6, int7 = (
    _packed(f"int{n}", f"Int{n}", 22 + n) for n in range(1, 8))
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (
    _packed(f"uint{n}", f"UInt{n}", 29 + n) for n in range(1, 8))
bits1x8, bits2x4, bits4x2, bits8, bits16 = (
    _packed(f"bits{form}", f"Bits{form}", code, 16 if form == "16" else 8)
    for code, form in enumerate(("1x8", "2x4", "4x2", "8", "16"), 37))
float4_e2m1fn_x2 = _packed("float4_e2m1fn_x2", "Float4_e2m1fn_x2", 42)
complex32 = _packed("complex32", "ComplexHalf", 43, 32)        # two halves
PACKED_TYPES = (
    int1, int2, int3, int4, int5, int6, int7, uint1, uint2, uint3, uint4, uint5, uint6, uint7,
    bits1x8, bits2x4, bits4x2, bits8, bits16, float4_e2m1fn_x2,
    complex32)
qint8, quint8, qint32 = (quantised_dtype(*facts) for facts in (
    ("qint8", int8, 20, "QInt8"), ("quint8", uint8, 21, "QUInt8"), ("qint32", int32, 22, "QInt32")))
QUANTISED = {d.integers: d for d in (qint8, quint8, qint32)}
# ALL have arithmetic, these are all
NAMED = ALL | {d.name: d for d in STORED_TYPES + PACKED_TYPES}
SHORT = {d.short: d for d in NAMED.values()}
FROM_NUMPY = {d.np: d for d in NAMED.values()}
# second names of the same widths
for _t in (np.intc, np.longlong, np.uintc, np.ulonglong, np.int_, np.uint):
    FROM_NUMPY.setdefault(np.dtype(_t), next(d for d in ALL.values() if d.np == np.dtype(_t)))
ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32,
    "long": int64, "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
    "bit": uint1}
_PYTHON = {bool: bool_, int: int64}


def from_numpy(np_dtype):
    """The whet type of a NumPy type."""
    d = FROM_NUMPY.get(np_dtype)
    if d is None:
        native = np.dtype(np_dtype).newbyteorder("=")
        d = FROM_NUMPY.get(native)
    if d is None:
        raise TypeError(
            f"can't convert a numpy.ndarray of type {np_dtype}. The supported types are: "
            f"{', '.join(t for t in ALL)}.")
    return d


def check_converted(*types):
    """Raise for a type whose bytes have no conversion."""
    for d in types:
        if d.category == STORED and d in PACKED_TYPES:
            raise NotImplementedError(f"\"copy_\" not implemented for '{d.letter}'")


def as_dtype(x):
    """A dtype from what users write: a whet dtype, bool/int/float/complex, or None (None stays)."""
    if x is None or type(x) is dtype:
        return x
    if x is bool: return bool_
    if x is int: return int64
    if x is float: return float64
    if x is complex: return complex128
    if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)):
        return from_numpy(np.dtype(x))
    if type(x) is quantised_dtype:
        return x.np                           # an error, which says how they are made
    raise TypeError(f"dtype must be a whet.dtype, not {x!r} ({x.__class__.__name__})")


_default = float32


def get_default_dtype():
    """The type of new floating point tensors.

    >>> import whet
    >>> whet.get_default_dtype()
    whet.float32
    """
    return _default


def set_default_dtype(d):
    """Set the type of new floating point tensors, and of results where integers meet Python
    floats.

    >>> import whet
    >>> whet.set_default_dtype(whet.float64)
    >>> whet.ones(2).dtype
    whet.float64
    >>> whet.set_default_dtype(whet.float32)
    """
    global _default
    d = as_dtype(d)
    if d is None or not d.is_floating_point or d in PACKED_TYPES:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d
    for clear in on_default_change:
        clear()


on_default_change: list = []            # caches that depend on the default type


# ---- promotion -----------------------------------------------------------------------------------
_UNSIGNED = {uint8: 8, uint16: 16, uint32: 32, uint64: 64}
_SIGNED = {int8: 8, int16: 16, int32: 32, int64: 64}
_SIGNED_OF = {8: int8, 16: int16, 32: int32, 64: int64}
_FLOATS = {float16: 16, bfloat16: 16, float32: 32, float64: 64}


def _promote(a, b):
    if a is b:
        return a
    if STORED in (a.category, b.category):
        if a in PACKED_TYPES or b in PACKED_TYPES:
            raise RuntimeError(f"Promotion from {a.letter} and {b.letter} is unsupported.")
        raise RuntimeError("Promotion for Float8 Types is not supported, attempted to promote "
                           f"{a.letter} and {b.letter}")
    if a.category > b.category:
        a, b = b, a
    if b.category == COMPLEX:
        if a.category == COMPLEX or a is float64:
            return complex128
        return b
    if b.category == FLOAT:
        if a.category != FLOAT:
            return b
        if _FLOATS[a] == _FLOATS[b]:             # float16 with bfloat16
            return float32
        return a if _FLOATS[a] > _FLOATS[b] else b
    if a.category == BOOL:
        return b
    if a in _UNSIGNED and b in _UNSIGNED:
        return a if _UNSIGNED[a] > _UNSIGNED[b] else b
    if a in _SIGNED and b in _SIGNED:
        return a if _SIGNED[a] > _SIGNED[b] else b
    u, s = (a, b) if a in _UNSIGNED else (b, a)
    if _UNSIGNED[u] < _SIGNED[s]:
        return s
    if u is uint64:
        raise RuntimeError(
            f"promotion of {u} with {s} is not supported: no integer type holds both")
    return _SIGNED_OF[2 * _UNSIGNED[u]]


_table: dict = {}


def promote_types(type1, type2):
    """The smallest type to which both can be converted without losing their category.

    >>> import whet
    >>> whet.promote_types(whet.uint8, whet.int8)
    whet.int16
    """
    r = _table.get((type1, type2))
    if r is None:
        r = _table[type1, type2] = _promote(as_dtype(type1), as_dtype(type2))
    return r


def of_number(x):
    """The type of a Python number, or of one of NumPy's, where nothing else decides."""
    t = type(x)
    if t is bool: return bool_
    if t is int: return int64
    if t is float: return _default
    if t is complex: return _default.to_complex()
    if isinstance(x, np.generic):       # of a kind, and no more than that, as Python's are
        kind = from_numpy(x.dtype).category
        return (bool_ if kind == BOOL else int64 if kind == INT else
                _default.to_complex() if kind == COMPLEX else _default)
    if isinstance(x, bool): return bool_
    if isinstance(x, int): return int64
    if isinstance(x, float): return _default
    raise TypeError(f"expected a number, got {t.__name__}")


def _combine(high, low):
    """Tensors with dimensions outrank 0-d tensors, which outrank Python numbers: the lower one
    decides only by category."""
    if high is None: return low
    if low is None: return high
    if high.category in (COMPLEX, STORED): return high
    if high.category == FLOAT:
        return high.to_complex() if low.category == COMPLEX else high
    if high.category == BOOL or low.category >= FLOAT:
        return promote_types(high, low)
    return high


def result_of(dims, zeros, numbers):
    """The common type of tensors with dimensions, 0-d tensors and Python numbers (three lists of
    dtypes)."""
    def join(ds):
        r = None
        for d in ds:
            r = d if r is None else promote_types(r, d)
        return r
    return _combine(_combine(join(dims), join(zeros)), join(numbers))


@declared_for_tracing.goes_by_no_size
def can_cast(from_, to):
    """May a value of the one type be put into the other (no complex into real, no float into int)?

    >>> import whet
    >>> whet.can_cast(whet.float32, whet.int32)
    False
    """
    a, b = (FLOAT if d.category == STORED else d.category for d in (as_dtype(from_), as_dtype(to)))
    return a <= b


# ---- limits --------------------------------------------------------------------------------------
class finfo:
    """Limits of a floating point type: bits, eps, max, min, tiny, smallest_normal, resolution.

    >>> import whet
    >>> whet.finfo(whet.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type=None):
        d = as_dtype(type) or _default
        d = d.to_real()
        if not d.is_floating_point or d in PACKED_TYPES:
            raise TypeError(
                "whet.finfo() requires a floating point input type. Use whet.iinfo to handle "
                f"'{d.name}'")
        i = ml_dtypes.finfo(d.np)
        self.bits, self.eps, self.max, self.min = i.bits, float(i.eps), float(i.max), float(i.min)
        self.tiny = self.smallest_normal = float(i.tiny)
        # Rounded: the type may not hold a power of ten exactly, or a digit.
        self.resolution = 1.0 if d.category == STORED else float(f"{float(i.resolution):.0e}")
        self.dtype = d.name

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})")


class iinfo:
    """Limits of an integer type: bits, max, min.

    >>> import whet
    >>> whet.iinfo(whet.int8).max
    127
    """

    def __init__(self, type):
        d = as_dtype(type)
        if d.category != INT:
            raise TypeError(
                f"whet.iinfo() requires an integer input type. Use whet.finfo to handle '{d.name}'")
        i = np.iinfo(d.np)
        self.bits, self.max, self.min, self.dtype = i.bits, int(i.max), int(i.min), d.name

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
