"""Attention of halves as Triton source, on tensor cores: softmax(q @ k.T * scale + mask) @ v and
its gradients, without the matrix of scores in memory.

A program goes through the keys for some queries (`lower_forward`, `lower_queries`), or through the
queries for some keys (`lower_keys`). The greatest score so far and the sum of the exponentials are
kept beside the weighted sum of values, and all are scaled down where a greater score comes. What
is kept for the backward is the logarithm of each query's sum, in base 2, and the sum of gradient
times result.

Scores and sums are of f32; weights are rounded to halves before they are multiplied. The
exponential is the machine's, whose error is far below a half's. The order of sums is that of the
tiles: it depends on sizes alone.

A row to which the mask shows nothing is 0 where the mask is of bools, and NaN else, as the softmax
of such a row is.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import e, log2
from typing import TYPE_CHECKING

from . import scalar
from .builder import TYPE, Code, Module
from .rows import up
from .source import source

if TYPE_CHECKING:
    from .source import Source

NONE = 'float("-inf")'
LOG2E = log2(e)


@dataclass(frozen=True)
class Form:
    """What is computed: elements of type `dtype` (f16, bf16), `features` of each query and key,
    `values` of each value; no query sees a key behind it (`causal`); `mask`: the type of a mask
    that is added to scores ("bool": that hides them), None where there is none."""
    dtype: str
    features: int
    values: int
    causal: bool = False
    mask: str | None = None
    wide: bool = False

    @property
    def most(self) -> int:
        """Features of the longest rows."""
        return max(self.features, self.values)


@dataclass(frozen=True)
class Tile:
    """Queries and keys at a time."""
    queries: int
    keys: int
    warps: int
    stages: int


SMALL = Tile(64, 32, 8, 2)          # whose numbers have room in registers whatever the form is


def forward_tile(form: Form) -> Tile:
    """The tile of `lower_forward`."""
    if form.most > 128 or form.mask is not None and form.most > 64:
        return SMALL
    if form.mask is not None:
        return Tile(64, 64, 8, 2)
    return Tile(64, 64, 4, 3) if form.most > 64 or form.causal else Tile(128, 64, 8, 3)


def backward_tile(form: Form) -> Tile:
    """The tile of `lower_queries` and `lower_keys`."""
    if form.most > 128 or form.mask is not None:
        return SMALL
    return Tile(64, 64, 4, 2 if form.most > 64 else 3)


def lower_forward(form: Form, tile: Tile) -> Source:
    """(result, logarithms of sums) of queries."""
    return _Forward(form, tile).source()


def lower_queries(form: Form, tile: Tile) -> Source:
    """(gradient of queries, sums of gradient times result)."""
    return _Queries(form, tile).source()


def lower_keys(form: Form, tile: Tile) -> Source:
    """(gradients of keys, of values)."""
    return _Keys(form, tile).source()


class _Attention:
    """What the kernels have in common: operands are in two batch dimensions, `outer` and `inner`,
    and have a stride (in elements) for their rows and for each of these; features lie side by
    side."""
    operands: tuple[str, ...]       # that are read: halves, each with three strides
    results: tuple[str, ...]        # that are written: likewise

    def __init__(self, form: Form, tile: Tile) -> None:
        if form.dtype not in scalar.HALF:
            raise scalar.Unsupported(form.dtype)
        self.form, self.tile, self.f = form, tile, Code(Module())
        self.half = TYPE[scalar.MEMORY[form.dtype]]

    def made(self, name: str, more: tuple[str, ...], rows: str, size: int) -> Source:
        """The Source; `more` are arrays of f32 with a number for each query."""
        form, number = self.form, "i64" if self.form.wide else "i32"
        halves = [*self.operands, *self.results]
        masks = [] if form.mask is None else ["mask"]
        parameters = [(n, scalar.POINTER[form.dtype]) for n in halves]
        parameters += [(n, scalar.POINTER[form.mask or ""]) for n in masks]
        parameters += [(n, "*fp32") for n in more]
        parameters += [("scale", "fp32"), *((n, number) for n in ("m", "n", "inner"))]
        parameters += [(f"{n}_{d}", number) for n in halves for d in "roi"]
        parameters += [(f"mask_{d}", number) for _ in masks for d in "mnoi"]
        return source(f"attention_{name}", self.f.mod, parameters, self.f.lines,
                      f"cdiv({rows}, {size}) * batches", warps=self.tile.warps,
                      stages=self.tile.stages)

    # ---- where things are
    def begin(self, rows: str, size: int, backwards: bool) -> None:
        """The batch and the first row of a program. `backwards`: the last rows come first, which
        have most to do."""
        f = self.f
        f.line(f"program = tl.program_id(0){'.to(tl.int64)' if self.form.wide else ''}")
        f.line(f"blocks = tl.cdiv({rows}, {size})")
        f.line("batch = program // blocks")
        at = "blocks - 1 - program % blocks" if backwards else "program % blocks"
        f.line(f"first = ({at}) * {size}")
        masks = [] if self.form.mask is None else ["mask"]
        for name in (*self.operands, *self.results, *masks):
            f.line(f"{name}_at = {name} + batch // inner * {name}_o + batch % inner * {name}_i")

    def width(self, name: str) -> tuple[int, int]:
        """Features of a row of an operand, and how many are computed with."""
        size = self.form.values if name in ("v", "g", "y", "gv") else self.form.features
        return size, max(16, up(size))              # tensor cores take no less

    def place(self, name: str, row: str, across: bool = False) -> str:
        """Where rows of an operand lie; `across`: one beside the other."""
        i, x = ("[None, :]", "[:, None]") if across else ("[:, None]", "[None, :]")
        return f"{name}_at + {row}{i} * {name}_r + tl.arange(0, {self.width(name)[1]}){x}"

    def there(self, name: str, row: str, rows: str | None, across: bool = False) -> list[str]:
        """The masks of rows, of which there are `rows` (None: all are there)."""
        i, x = ("[None, :]", "[:, None]") if across else ("[:, None]", "[None, :]")
        size, padded = self.width(name)
        return (([f"({row}{i} < {rows})"] if rows is not None else [])
                + ([f"(tl.arange(0, {padded}){x} < {size})"] if padded > size else []))

    def load(self, to: str, at: str, name: str, row: str, rows: str | None,
             across: bool = False) -> None:
        """Rows of an operand at their places, 0 where there is none."""
        masks = self.there(name, row, rows, across)
        self.f.line(f"{to} = tl.load({at}, {' & '.join(masks)}, other=0.0)" if masks
                    else f"{to} = tl.load({at})")

    def rows_of(self, to: str, name: str, row: str, rows: str) -> None:
        """Rows of an operand that are read once."""
        self.load(to, self.place(name, row), name, row, rows)

    def store(self, name: str, row: str, rows: str, value: str) -> None:
        """Rows of a result."""
        masks = " & ".join(self.there(name, row, rows))
        self.f.line(f"tl.store({self.place(name, row)}, ({value}).to({self.half}), {masks})")

    def walk(self, begin: str, end: str, size: int, row: str, walked: dict[str, tuple[str, bool]],
             step: Callable[[bool], None], asked: bool) -> None:
        """A loop over rows of operands, `size` at a time: {name: (operand, across?)}. `asked`: some
        of the last ones may not be there, or not be seen."""
        f = self.f
        f.line(f"for start in tl.range({begin}, {end}, {size}):")
        f.depth += 1
        f.line(f"{row} = start + tl.arange(0, {size})")
        rows = {"i": "m", "j": "n"}[row]
        for to, (name, across) in walked.items():
            self.load(to, self.place(name, row, across), name, row, rows if asked else None, across)
        step(asked)
        f.depth -= 1

    # ---- what is computed
    def scores(self, i: str, j: str, product: str, asked: bool) -> None:
        """`s`: the scores of queries i and keys j, -inf where a query does not see the key."""
        f, mask = self.f, self.form.mask
        f.line(f"s = {product}")
        if not asked:
            return
        seen = [f"({j} < n)"] + ([f"({j} <= {i})"] if self.form.causal else [])
        if mask is not None:
            load = f"tl.load(mask_at + {i} * mask_m + {j} * mask_n, ({i} < m) & ({j} < n), other=0)"
            if mask == "bool":
                seen.append(f"({load} != 0)")
            else:
                f.line(f"more = {load}.to(tl.float32) * {LOG2E!r}")
                f.line("s = tl.fma(s, tl.broadcast_to(scale, s.shape), more)")
        f.line(f"s = tl.where({' & '.join(seen)}, s, {NONE})")

    @property
    def is_scaled(self) -> bool:
        """Are scores in base 2 already? They are where a mask was added to them."""
        return self.form.mask not in (None, "bool")

    def weights(self, shift: str) -> None:
        """`p`: two to the power of scores less a number of each query."""
        exponent = f"s - {shift}" if self.is_scaled else (
            f"tl.fma(s, tl.broadcast_to(scale, s.shape), tl.broadcast_to(-{shift}, s.shape))")
        self.f.line(f"p = tl.exp2({exponent})")


class _Forward(_Attention):
    operands: tuple[str, ...] = ("q", "k", "v")
    results: tuple[str, ...] = ("y",)
    # what is walked, by the names of what is read: (operand, are its rows beside each other?)
    walked = {"keys": ("k", True), "values": ("v", False)}

    def source(self) -> Source:
        f, t = self.f, self.tile
        self.begin("m", t.queries, self.form.causal)
        f.line(f"i = first + tl.arange(0, {t.queries})")
        self.rows_of("rows", "q", "i", "m")
        f.line(f"best = tl.full([{t.queries}], {NONE}, tl.float32)")
        f.line(f"total = tl.zeros([{t.queries}], tl.float32)")
        f.line(f"sums = tl.zeros([{t.queries}, {self.width('v')[1]}], tl.float32)")
        self.through_keys()
        f.line("empty = total == 0.0")
        if self.form.mask == "bool":
            f.line("total = tl.where(empty, 1.0, total)")
        f.line("sums = tl.div_rn(sums, tl.broadcast_to(total[:, None], sums.shape))")
        self.store("y", "i", "m", "sums")
        f.line(f"tl.store(logs + batch * m + i, tl.where(empty, {NONE}, best + tl.log2(total)), "
               "i < m)")
        return self.made("forward", ("logs",), "m", t.queries)

    def through_keys(self) -> None:
        """The loops over keys: first those that all queries see, without asking."""
        f, t, form = self.f, self.tile, self.form
        f.line(f"end = {f'tl.minimum(n, first + {t.queries})' if form.causal else 'n'}")
        begin = "0"
        if form.mask is None:
            f.line(f"whole = {'tl.minimum(n, first)' if form.causal else 'n'} "
                   f"// {t.keys} * {t.keys}")
            self.walk("0", "whole", t.keys, "j", self.walked, self.step, asked=False)
            begin = "whole"
        self.walk(begin, "end", t.keys, "j", self.walked, self.step, asked=True)

    def step(self, asked: bool) -> None:
        f = self.f
        self.scores("i[:, None]", "j[None, :]", "tl.dot(rows, keys)", asked)
        f.line(f"new = tl.maximum(best, tl.max(s, 1){'' if self.is_scaled else ' * scale'})")
        f.line(f"shift = tl.where(new == {NONE}, 0.0, new)" if self.form.mask is not None
               else "shift = new")
        self.weights("shift[:, None]")
        f.line("keep = tl.exp2(best - shift)")
        f.line("total = total * keep + tl.sum(p, 1)")
        f.line(f"sums = tl.dot(p.to({self.half}), values, sums * keep[:, None])")
        f.line("best = new")


class _Queries(_Forward):
    """The gradient of queries: for some of them, through the keys."""
    operands = ("q", "k", "v", "y", "g")
    results = ("gq",)
    walked = {"keys": ("k", True), "values": ("v", True)}

    def source(self) -> Source:
        f, t = self.f, self.tile
        self.begin("m", t.queries, self.form.causal)
        f.line(f"i = first + tl.arange(0, {t.queries})")
        for name in ("q", "g", "y"):
            self.rows_of(f"{name}_rows", name, "i", "m")
        f.line("both = tl.sum(g_rows.to(tl.float32) * y_rows.to(tl.float32), 1)")
        f.line("tl.store(products + batch * m + i, both, i < m)")
        _known_logs(f, "logs + batch * m + i", "i < m")
        f.line(f"sums = tl.zeros([{t.queries}, {self.width('q')[1]}], tl.float32)")
        self.through_keys()
        self.store("gq", "i", "m", f"sums * (scale * {1 / LOG2E!r})")
        return self.made("gradient_of_queries", ("logs", "products"), "m", t.queries)

    def step(self, asked: bool) -> None:
        f = self.f
        self.scores("i[:, None]", "j[None, :]", "tl.dot(q_rows, keys)", asked)
        self.weights("shift[:, None]")
        f.line("slope = p * (tl.dot(g_rows, values) - both[:, None])")
        f.line(f"sums = tl.dot(slope.to({self.half}), tl.trans(keys), sums)")


class _Keys(_Attention):
    """The gradients of keys and values: for some of them, through the queries."""
    operands = ("q", "k", "v", "g")
    results = ("gk", "gv")
    walked = {"rows": ("q", True), "slopes": ("g", False)}

    def source(self) -> Source:
        f, t = self.f, self.tile
        self.begin("n", t.keys, backwards=False)
        f.line(f"j = first + tl.arange(0, {t.keys})")
        self.rows_of("keys", "k", "j", "n")
        self.rows_of("values", "v", "j", "n")
        for name in ("k", "v"):
            f.line(f"of_{name} = tl.zeros([{t.keys}, {self.width(name)[1]}], tl.float32)")
        self.through_queries()
        self.store("gk", "j", "n", f"of_k * (scale * {1 / LOG2E!r})")
        self.store("gv", "j", "n", "of_v")
        return self.made("gradient_of_keys", ("logs", "products"), "n", t.keys)

    def through_queries(self) -> None:
        """The loops over queries: those that see all keys of the program are not asked."""
        f, t, form = self.f, self.tile, self.form
        begin = "0"
        if form.causal:
            f.line(f"begin = first // {t.queries} * {t.queries}")
            begin = "begin"
        f.line(f"whole = m // {t.queries} * {t.queries}")
        if form.mask is not None:
            f.line("seen = m")
        elif form.causal:
            f.line(f"seen = tl.minimum(m, tl.cdiv(first + {t.keys}, {t.queries}) * {t.queries})")
        else:
            f.line("seen = 0")
        if form.mask is not None or form.causal:
            self.walk(begin, "seen", t.queries, "i", self.walked, self.step, asked=True)
            begin = "seen"
        if form.mask is None:
            self.walk(begin, "whole", t.queries, "i", self.walked, self.step, asked=False)
            self.walk(f"tl.maximum({begin}, whole)", "m", t.queries, "i", self.walked, self.step,
                      asked=True)

    def step(self, asked: bool) -> None:
        f = self.f
        there = ["i < m"] if asked else []
        _known_logs(f, "logs + batch * m + i", *there)
        self.scores("i[None, :]", "j[:, None]", "tl.dot(keys, rows)", asked)
        self.weights("shift[None, :]")
        f.line(f"of_v = tl.dot(p.to({self.half}), slopes, of_v)")
        f.line(f"both = tl.load({', '.join(['products + batch * m + i', *there])})")
        f.line("slope = p * (tl.dot(values, tl.trans(slopes)) - both[None, :])")
        f.line(f"of_k = tl.dot(slope.to({self.half}), tl.trans(rows), of_k)")


def _known_logs(f: Code, at: str, *there: str) -> None:
    """`shift`: the logarithms of sums; what saw nothing has no weights."""
    masks = [*there, 'other=float("inf")'] if there else []
    f.line(f"shift = tl.load({', '.join([at, *masks])})")
    f.line(f"shift = tl.where(shift == {NONE}, float(\"inf\"), shift)")
