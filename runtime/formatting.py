"""What `print(tensor)` shows."""
import contextlib
import html
import math
from dataclasses import asdict, dataclass

import numpy as np

from . import devices, dtypes
from .autograd.modes import beyond


@dataclass
class Options:
    """How tensors are shown: digits after the point, the number of elements from which the middle
    is left out, how many are shown at each end then, the width of a line, and scientific notation
    (None: where it helps)."""
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


OPTIONS = Options()
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None):
    """Set how tensors are shown; `profile` ("default", "short", "full") sets several at once.

    >>> import whet
    >>> whet.set_printoptions(precision=2)
    >>> whet.tensor([1.12345])
    tensor([1.12])
    >>> whet.set_printoptions(profile="default")
    """
    beyond("it sets how tensors are shown")
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions: profile must be one of {', '.join(_PROFILES)}, got {profile!r}")
        OPTIONS.precision, OPTIONS.threshold, OPTIONS.edgeitems, OPTIONS.linewidth = _PROFILES[
            profile]
    for name, value in ((("precision", precision), ("threshold", threshold),
                         ("edgeitems", edgeitems), ("linewidth", linewidth))):
        if value is not None:
            setattr(OPTIONS, name, value)
    OPTIONS.sci_mode = sci_mode


def get_printoptions():
    """The present options, as keywords for `set_printoptions`."""
    beyond("it asks how tensors are shown")
    return asdict(OPTIONS)


@contextlib.contextmanager
def printoptions(**options):
    """Other options inside a `with` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _Style:
    """How all numbers of one tensor are written, so that they line up."""

    def __init__(self, a):
        self.floating = a.dtype.kind == "f"
        self.whole, self.scientific, self.width = True, False, 1
        if not self.floating:
            self.width = max([1, *[len(str(x)) for x in a.reshape(-1).tolist()]])
            return
        x = a[np.isfinite(a) & (a != 0)]
        if not x.size:
            return
        low, high = float(np.abs(x).min()), float(np.abs(x).max())
        self.whole = bool((x == np.ceil(x)).all())
        self.scientific = ((high / low > 1000.0 or high > 1e8 or low < 1e-4)
                           if OPTIONS.sci_mode is None else OPTIONS.sci_mode)
        self.width = max(1, max(len(self._number(v)) for v in x.tolist()))

    def _number(self, x):
        if self.scientific:
            return f"{x:.{OPTIONS.precision}e}"
        if self.whole:
            return f"{x:.0f}" + ("." if math.isfinite(x) else "")
        return f"{x:.{OPTIONS.precision}f}"

    def __call__(self, x):
        return (self._number(x) if self.floating else str(x)).rjust(self.width)


class _ComplexStyle:
    def __init__(self, a):
        self.real, self.imag = _Style(a.real), _Style(a.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, x):
        imag = (self.imag(x.imag) + "j").lstrip()
        return self.real(x.real) + ("" if imag[0] in "+-" else "+") + imag


def _edges(a):
    """The elements that are shown when the middle of each dimension is left out."""
    n = OPTIONS.edgeitems
    for d in range(a.ndim):
        if not n:
            return a[(slice(0, 0),) * a.ndim]
        if a.shape[d] > 2 * n:
            a = np.concatenate([
                a[(slice(None),) * d + (slice(0, n),)],
                a[(slice(None),) * d + (slice(-n, None),)]], d)
    return a


def _nested(a, indent, short, style):
    """The brackets of one dimension."""
    n = OPTIONS.edgeitems
    cut = short and a.shape[0] > 2 * n
    if a.ndim == 1:
        if short and not n:
            items = ["..."]
        elif cut:
            items = [*map(style, a[:n].tolist()), " ...", *map(style, a[-n:].tolist())]
        else:
            items = [style(x) for x in a.tolist()]
        each = max(1, (OPTIONS.linewidth - indent) // (style.width + 2))
        lines = [", ".join(items[i:i + each]) for i in range(0, len(items), each)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    if cut:
        items = [*[_nested(x, indent + 1, short, style) for x in a[:n]], "...",
                 *[_nested(x, indent + 1, short, style) for x in (a[-n:] if n else ())]]
    else:
        items = [_nested(x, indent + 1, short, style) for x in a]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(items) + "]"


def numbers_str(a, indent):
    """The elements of an array as text, whose lines but the first are indented."""
    if not a.size:
        return "[]"
    short = a.size > OPTIONS.threshold
    if a.dtype.fields:
        a = a.view(f"u{a.dtype.itemsize}")                # what the bytes mean is not known
    if a.dtype.kind not in "biufc":
        a = a.astype(np.float32)                          # bfloat16
    seen = _edges(a) if short else a
    style = (_ComplexStyle(seen) if a.dtype.kind == "c" else
             _Style(seen.astype(np.float64) if a.dtype.kind == "f" else seen))
    return style(a.item()) if not a.ndim else _nested(a, indent, short, style)


def tensor_str(t):
    """A tensor as text: its elements, then what these do not show, such as the dtype."""
    kind = type(t)
    prefix = "tensor(" if "_prints_as_tensor" in vars(kind) else f"{kind.__name__}("
    if t.is_meta:
        return _with_suffixes(prefix + "...", _of_meta(t), len(prefix))
    a, indent, suffixes = devices.on_host(t._array), len(prefix), []
    if a is not t._array:
        suffixes.append(f"device='{t.device}'")
    if not a.size:
        if a.ndim != 1:
            suffixes.append(f"size={a.shape}")
        if t.dtype is not dtypes.get_default_dtype():
            suffixes.append(f"dtype={t.dtype}")
    else:
        if not OPTIONS.edgeitems:
            suffixes.append(f"size={a.shape}")
        if not _obvious(t.dtype):
            suffixes.append(f"dtype={t.dtype}")
    return _with_suffixes(prefix + numbers_str(a, indent), [*suffixes, *_history(t)], indent)


def _of_meta(t):
    """What the text of a tensor without elements says."""
    dtype = [] if t.dtype is dtypes.get_default_dtype() else [f"dtype={t.dtype}"]
    return [f"device='{t.device}'", f"size={tuple(t.shape)}", *dtype, *_history(t)]


def sparse_str(t, parts):
    """A sparse tensor as text: its parts by name, then what these do not show."""
    indent, texts = len("tensor("), []
    for name, x in parts:
        prefix = f"{name}=tensor("
        text = prefix + numbers_str(devices.on_host(x._array), indent + len(prefix))
        texts.append(text + ("" if x.numel() else f", size={tuple(x.shape)}") + ")")
    suffixes = [f"size={tuple(t.shape)}", f"nnz={t._nnz()}"]
    if not _obvious(t.dtype):
        suffixes.append(f"dtype={t.dtype}")
    suffixes += [f"layout={t.layout}", *_history(t)]
    if t.is_sparse:                                       # on a line of their own, as PyTorch's
        texts.append(suffixes.pop(0))
    return _with_suffixes("tensor(" + (",\n" + " " * indent).join(texts), suffixes, indent)


def quantised_str(t, facts):
    """The text of a tensor of a quantised type: its real numbers, then how they are held."""
    indent = len("tensor(")
    text = "tensor(" + numbers_str(devices.on_host(t._array), indent)
    return _with_suffixes(text, [f"size={tuple(t.shape)}", *facts], indent)


def _obvious(dtype):
    """Do the printed numbers show the dtype?"""
    default = dtypes.get_default_dtype()
    return dtype in (default, default.to_complex(), dtypes.int64, dtypes.bool_)


def _history(t):
    """What a text says of a tensor's history."""
    node = t.grad_fn
    if node is not None:
        return [f"grad_fn=<{type(node).__name__}>"]
    return ["requires_grad=True"] if t.requires_grad else []


def _with_suffixes(text, suffixes, indent):
    parts = [text]
    used = len(text) - text.rfind("\n") + 1
    for s in suffixes:
        if used + len(s) + 2 > OPTIONS.linewidth:
            parts.append(",\n" + " " * indent + s)
            used = indent + len(s)
        else:
            parts.append(", " + s)
            used += len(s) + 2
    return "".join(parts) + ")"


def tensor_html(t):
    """A tensor in a notebook: as it prints, and under it its shape and type."""
    facts = f"{' × '.join(map(str, t.shape)) or 'a number'}, {t.dtype}"
    return f"<pre>{html.escape(repr(t))}</pre><p>{html.escape(facts)}</p>"
