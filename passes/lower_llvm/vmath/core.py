"""What the functions of this package are written with: the registry, polynomials, powers of two, clamps, error-free sums."""
import math

from ..builder import Val, vec

FUNCTIONS: dict = {}
MAGIC = {"float": 1.5 * 2.0 ** 23, "double": 1.5 * 2.0 ** 52}      # adding it leaves an integer in the low bits of the mantissa
INT = {"float": "i32", "double": "i64"}
MANTISSA = {"float": 23, "double": 52}
BIAS = {"float": 127, "double": 1023}
TOP_BIT = {"float": -1 << 31, "double": -1 << 63}
INF, NAN = math.inf, math.nan


def function(name, elem=None):
    """Register `g(f, *vals)` as `name` for one element type, or for both."""
    def put(g):
        at = _by_type.setdefault(name, {})
        for e in (elem,) if elem else ("float", "double"):
            at[e] = g
        if name not in FUNCTIONS:
            FUNCTIONS[name] = _Function(name, at)
        return g
    return put


_by_type: dict = {}


class _Function:
    """One function for all its element types; `supports("float")` says whether there is one."""
    __slots__ = ("name", "by_type")

    def __init__(self, name, by_type):
        self.name, self.by_type = name, by_type

    def supports(self, elem):
        return elem in self.by_type

    def __call__(self, f, *vals):
        elem = next(v.elem for v in vals if isinstance(v, Val))
        lanes = max(v.lanes for v in vals if isinstance(v, Val))
        return self.by_type[elem](f, *(f.as_val(v, vec(elem, lanes)) for v in vals))


def through_double(name):
    """Register the f32 version of `name` as its f64 version, rounded once."""
    def narrow(f, *vals):
        return f.conv("fptrunc", _by_type[name]["double"](f, *(f.conv("fpext", v, "double") for v in vals)), "float")
    function(name, "float")(narrow)


def poly(f, x, cs):
    """cs[0] + cs[1] x + ... by Horner's rule in fma."""
    r = f.const(x.ty, cs[-1])
    for c in cs[-2::-1]:
        r = f.fma(r, x, c)
    return r


def bits(f, x):
    return f.conv("bitcast", x, INT[x.elem])


def floating(f, u):
    """The float whose bits are u."""
    return f.conv("bitcast", u, {"i32": "float", "i64": "double"}[u.elem])


def clamp(f, x, lo, hi):
    """NaN passes through."""
    x = f.sel(f.cmp("olt", x, lo), lo, x)
    return f.sel(f.cmp("ogt", x, hi), hi, x)


def nearest(f, x, scale, plus=0):
    """(n, u): n = the integer nearest to x * scale; u is an integer with n + plus in its low bits (mod 2^22; f64 2^51), where
    n is within these."""
    magic = MAGIC[x.elem] + plus
    t = f.fma(x, scale, magic)
    return t - magic, bits(f, t)


def power(f, u, elem):
    """2^n, u holding n + BIAS in its low bits; the bits above do not matter."""
    return floating(f, u << MANTISSA[elem])


def two_sum(f, a, b):
    """(s, e): s + e = a + b exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(f, a, b):
    """The same for |a| >= |b| (or a = 0)."""
    s = a + b
    return s, b - (s - a)


def two_prod(f, a, b):
    """(p, e): p + e = a * b exactly."""
    p = a * b
    return p, f.fma(a, b, -p)


def gather(f, table, index, elem):
    """table[index] lane by lane; `table` is the address of an array of `elem`, the index an integer Val."""
    if not index.lanes:
        return f.load(elem, f.at(table, f.conv("sext", index, "i64"), elem))
    ty = vec(elem, index.lanes)
    at = f.v(vec("ptr", index.lanes), f"getelementptr {elem}, ptr {table.ref}, {index.ty} {index.ref}")
    name = f"llvm.masked.gather.v{index.lanes}{'f64' if elem == 'double' else 'f32' if elem == 'float' else elem}.v{index.lanes}p0"
    mask = vec("i1", index.lanes)
    f.mod.declare(name, ty, [at.ty, mask, ty])
    align = 4 if elem in ("float", "i32") else 8
    return f.v(ty, f"call {ty} @{name}({at.ty} align {align} {at.ref}, {mask} splat (i1 true), {ty} poison)")
