"""Random functions, called eagerly and traced: every call must come to the same, to the bit.

    python -m tests.fuzz_jit --seconds 60 --seed 1

A program is plain data: what the arguments and the captured things are, the lines of a function (made of the steps of tests/fuzz.py and of
the `TEXTS` below, each tried while the function is made, so that most functions run), and what is done between its calls: other data,
shapes, dtypes and captured values, gradients taken through the results, writes to them. It becomes Python source that runs twice, eagerly
and traced, and all that can be seen after each call is compared. A wrong program is made as short as possible and printed.
"""
import argparse
import collections
import copy
import dataclasses
import faulthandler
import json
import os
import random
import re
import sys
import time
import warnings
from concurrent import futures

import numpy as np

from tests import fuzz

TEXTS = {
    "random": [6, "F.dropout({x}, 0.5, True)", "whet.rand_like({x})", "{x} + whet.randn({x}.shape)", "whet.rand(3)", "{x}.clone().normal_()",
               "{x} * (whet.rand({x}.shape) > 0.5)", "whet.randint(0, 5, {x}.shape)", "whet.bernoulli(whet.sigmoid({x}))",
               "{x}.index_select(0, whet.randperm({x}.shape[0]))", "whet.empty_like({x}).uniform_()", "F.dropout(F.dropout({x}), 0.25)"],
    "index": [8, "{x}[({y} > 0)]", "{x}[{x} > 0]", "whet.where({x} > {y}, {x}, {n})", "{x}.gather(-1, {x}.argsort(-1))",
              "{x}[({y}.reshape(-1).long() * 0)]", "{x}.index_select(-1, whet.arange({x}.shape[-1]))", "{x}.masked_select({x} > {n})",
              "{x}.nonzero()", "{x}[..., -1]", "{x}[None, ..., 0:2]", "{x}[[0, -1]]", "whet.zeros_like({x}).scatter(0, {x}.long() * 0, {x})",
              "whet.zeros_like({x}).index_add(0, whet.arange({x}.shape[0]), {x})", "F.one_hot({x}.argmax(-1), {x}.shape[-1])", "{x}.tril()",
              "{x}.roll(1, 0)", "{x}.split(1, 0)", "whet.zeros_like({x}).index_put((whet.zeros({x}.shape[0]).long(),), {x}, accumulate=True)",
              "{x}.index_fill(0, whet.tensor([0]), {n})", "{x}.scatter_add(-1, {x}.argsort(-1), {y})", "{x}.take_along_dim({x}.argsort(0), 0)",
              "{x}.topk(1, 0)", "{x}.sort(-1)[0]", "{x}.kthvalue(1, -1)[0]", "whet.searchsorted({x}.flatten().sort()[0], {y})", "{x}.flip(0)",
              "{x}.diagonal()",
              "{x}.median(-1)[0]", "{x}.chunk(2, -1)", "whet.stack({x}.unbind(0)[::-1])", "whet.scatter_reduce({x}, 0, {x}.long() * 0, {y}, 'amax')",
              "{x}.amax((0, -1))", "{x}.cummax(0)[0]", "{x}.aminmax()[1]", "{x}.unsqueeze(1).expand({x}.shape[0], 2, *{x}.shape[1:])",
              "{x}.unfold(0, 1, 1)", "{x}[::2]", "{x}.mT", "{x}[:, {i}]", "{x}.unique()"],
    "write": [10, "{x}[{i}:].mul_({y})", "{x}[{i}] = {n}", "{x}[{x} > 0] = {n}", "{x}[..., 0].add_({y})", "{x}.t().add_({n})", "{x}[0:1] = {y}",
              "{x}.view(-1)[0:2].zero_()", "{x} += {y}", "{x} *= {n}", "{x} -= {x}", "{x}.detach().mul_({n})", "{x}.copy_({y})", "{x}.normal_()",
              "{x}.data.add_(1)", "{x}.expand_as({x}).add_(1)", "{x}.masked_fill_({x} > 0, {n})", "{x}.index_add_(0, whet.arange(1), {x}[:1])",
              "{v} = {x}.clone()\n{v} += {y}", "{v} = {x} * 2\n{v}[{i}:] = {n}", "{v} = {x} + 0\n{v}[..., :1].mul_({y})\n{v}.relu_()",
              "for {v} in {x}.unbind():\n    {v}.add_({n})", "{x}.clamp_({n})", "{x}.fill_({n})", "{x}.addcmul_({x}, {y})", "{x}.lerp_({y}, 0.5)",
              "whet.add({x}, {y}, out={z})", "{x}.transpose(0, -1).copy_({y})", "{x}.unsqueeze(0).sub_({y})", "{x}.bernoulli_(0.5)",
              "{x}.index_put_((whet.tensor([0]),), {n})", "{x}.scatter_(0, {x}.long() * 0, {y})", "{x}.index_copy_(0, whet.tensor([0]), {y}[:1])",
              "{v} = {x}.clone()\n{v}.diagonal().add_({y}.sum())\n{v}.mT.mul_(2)", "{v} = {x} * 1\n{v}.view(-1)[::2].copy_({y}.reshape(-1)[::2])",
              "{v} = {x} * 1\na, b = {v}[:1], {v}[1:]\na.mul_({n})\nb += {y}.sum()", "{v} = ({x} + 1)[0]\n{v} *= {y}.sum()", "{x}.squeeze_()",
              "{x}.requires_grad_()",
              "{v} = {x}.detach()\n{v}[..., 0] = {n}", "{v} = whet.zeros_like({x})\n{v}.copy_({x})\n{v}.tanh_()"],
    "branch": [5, "if {x}.sum().item() > 0:\n    {v} = {y} * 2\nelse:\n    {v} = {y} - {n}",
               "if ({x} > -1e9).all():\n    {v} = {y} + {x}\nelse:\n    {v} = {y}", "if {x}.shape[0] > 2:\n    {v} = {x}[:2]\nelse:\n    {v} = {x}",
               "if {n} > 0:\n    {v} = {x} * {n}\nelse:\n    {v} = -{x}", "if {x}.dtype == whet.float32:\n    {v} = {x}.exp()\nelse:\n    {v} = {x}",
               "if bool(whet.isnan({x}).any()):\n    raise ValueError('not a number')", "assert len({x}) < 60, 'long'",
               "if {x}.is_contiguous():\n    {v} = {x}.view(-1)\nelse:\n    {v} = {x}.reshape(-1) * 2", "{v} = {x}.max().item()",
               "if {x}.requires_grad and whet.is_grad_enabled():\n    {v} = {x} * 3\nelse:\n    {v} = {x}.detach()",
               "{v} = int(({x} > -1e9).sum())", "{v} = repeated({x}, {n})", "{v} = {x}\nfor i in range(int({n}) % 5):\n    {v} = {v} + i",
               "{v} = {x}\nfor i in range({x}.shape[0] % 4):\n    {v} = {v} * {y}[i]", "{v} = [{x}, {y}][int({x}.sum() > 0)]",
               "{v} = {x} if {n} else {y}",
               "try:\n    {v} = {x} @ {y}\nexcept RuntimeError:\n    {v} = {x}", "{v} = {x}.tolist() if {x}.numel() < 3 else 1",
               "{v} = {x}.numel()", "{v} = {x} * {y}.flatten()[0].item()", "{v} = float({x}.ndim)"],
    "python": [7, "helper({x}, {y})", "{v} = {x}\nfor _ in range(3):\n    {v} = {v} * 0.5 + {y}", "sum([{x}, {y}, {x}])",
               "{v} = [t * 2 for t in ({x}, {y})]", "Pair({x}, {y}).total()", "(lambda t: t * {n})({x})",
               "{v} = {x}\nif {x}.grad is not None:\n    {v} = {x}.grad", "whet.stack([{x}, {x}]).mean(0)",
               "{v} = {x}\nwhile {v}.ndim < 3:\n    {v} = {v}[None]", "whet.tensor([1.0, 2.0, 3.0])", "whet.arange({x}.shape[0])",
               "whet.full({x}.shape, {n})", "whet.ones_like({x})", "whet.zeros({x}.shape) + {n}", "{x}.new_full((2,), {n})", "whet.tensor({n})",
               "{v} = whet.eye(3)\n{v}[1] = {n}", "{x}.type_as({y})",
               "{v} = counter({n})\n{v}({x})\n{v} = {v}({y})", "{v} = {{'a': {x}, 'b': [{y}, {n}]}}['b'][0] * 2", "Several(x0={x}, x1={y}).x1 + {x}",
               "max([{x}, {y}], key=lambda t: t.numel())", "{x}.half() + {y}", "{x}.bfloat16() * {n}", "{x}.double() - {y}", "({x}, {y})",
               "whet.where({x}.isnan(), {n}, {x})", "whet.nan_to_num({x})", "{x}.to(whet.float16).sum(0)", "float({n}) * {x}",
               "whet.atleast_2d({x}).sum()",
               "[t for t in {x}] [0]", "{v} = [*{x}]\n{v} = {v}[-1] + {v}[0]", "{x}.sum() if {x}.ndim > 1 else {x}.exp()",
               "{x}.mean((0, -1), keepdim=True)"],
    "state": [0.3, "box.k0 += 1", "box.last = {x}", "seen.append({n})", "table['last'] = {x}", "box.w0 = {x}"],
    "net": [1.5, "net({x})", "net({x}).sum().backward()", "step.zero_grad()\nnet({x}).square().mean().backward()\nstep.step()", "step.step()",
            "step.zero_grad()", "net.eval()({x})", "net.scale * {x}.sum()", "net.train()", "net.seen + 1"],
    "nn": [6, "F.softmax({x}, -1)", "F.layer_norm({x}, {x}.shape[-1:])", "F.gelu({x})", "F.linear({x}, {y})", "F.mse_loss({x}, {y})",
           "F.cross_entropy({x}, {x}.argmax(-1))", "F.log_softmax({x}.float(), 0)", "F.normalize({x}, dim=-1)", "F.leaky_relu({x}, 0.1)",
           "whet.einsum('ij,kj->ik', {x}, {y})", "F.pad({x}, (1, 1))", "{x} @ {y}.mT", "({x} * {y}).sum(-1).sigmoid()", "F.smooth_l1_loss({x}, {y})",
           "{x}.softmax(0) @ {y}", "F.hardtanh({x})", "F.elu({x})", "whet.cat([{x}, {y}, {x}], -1)", "whet.std({x}) + {x}.var(-1, keepdim=True)",
           "F.conv1d({x}[None], {x}[:, None, :2], groups={x}.shape[0])", "F.conv1d({x}[:1, None], {y}[:1, None, :2], padding=1)",
           "F.conv2d({x}[None, None], {y}[None, None, :2, :2])", "F.max_pool1d({x}, 2)", "F.avg_pool1d({x}, 2, 1)", "F.group_norm({x}[None], 1)",
           "F.batch_norm({x}, None, None, training=True)", "F.instance_norm({x}[None])", "F.rms_norm({x}, {x}.shape[-1:])",
           "F.embedding({x}.argmax(-1), {y})",
           "F.nll_loss(F.log_softmax({x}, -1), {x}.argmin(-1))", "F.huber_loss({x}, {y})", "F.kl_div(F.log_softmax({x}, -1), F.softmax({y}, -1))",
           "F.scaled_dot_product_attention({x}[None], {y}[None], {y}[None])", "F.binary_cross_entropy_with_logits({x}, {y}.sigmoid())", "F.mish({x})",
           "F.glu({x}.repeat(1, 2))", "{x}.cumsum(0).logsumexp(-1)", "whet.outer({x}.flatten(), {y}.flatten())", "whet.norm({x} + 1)",
           "F.softplus({x}, 2)",
           "whet.addmm({x}, {y}, {y}.mT)", "whet.bmm({x}[None], {y}.mT[None])", "whet.baddbmm({x}, {x}[None], {y}.mT[None] @ {x})", "{x}.prod(-1)",
           "{x}.norm(dim=0)",
           "whet.linalg.inv({x} @ {x}.mT + whet.eye({x}.shape[0]))", "F.interpolate({x}[None], scale_factor=2)", "whet.cdist({x}, {y})",
           "{x}.cumprod(-1)"],
    "grad": [6, "{x}.sum().backward()", "({x} * {x}).mean().backward()", "{x}.sum().backward(retain_graph=True)", "({x} * {y}).sum().backward()",
             "{v} = whet.autograd.grad(({x} * {x}).sum(), [{y}], allow_unused=True)[0]",
             "{v} = whet.autograd.grad({x}.sum(), {y}, create_graph=True)[0]",
             "if {x}.grad is not None:\n    {x}.grad.zero_()", "{x}.grad = None",
             "if {x}.grad is not None:\n    with whet.no_grad():\n        {x} -= 0.1 * {x}.grad",
             "{v} = {x}.detach().clone().requires_grad_()\n({v} * {v}).sum().backward()\n{v} = {v}.grad", "{v} = {x}.detach().requires_grad_()",
             "with whet.no_grad():\n    {x}.mul_(0.5)", "{x}.grad = {y}.detach().clone()", "{x}.requires_grad", "{x}.backward()",
             "{v} = whet.autograd.grad({x}.square().sum(), {x}, create_graph=True)[0]\n{v} = {v} * {y}", "{v} = {x}.detach()", "{v} = {x}.data * 2",
             "with whet.no_grad():\n    {v} = {x} * 2", "with whet.enable_grad():\n    {v} = {x}.detach().requires_grad_().exp()",
             "{v} = {x}.clone().detach_()", "({x} * {x}).sum().backward(inputs=[{y}])", "{v} = {x}.grad if {x}.grad is not None else {y}",
             "if {x}.grad is None:\n    {x}.grad = whet.zeros_like({x})\n{x}.grad += {y}.detach()", "with whet.no_grad():\n    {x}[...] = {y}"],
}
HEAD = """import dataclasses
import math
import whet
from whet import nn
from whet.nn import functional as F


class Box:
    pass


@dataclasses.dataclass
class Several:
    x0: object = None
    x1: object = None
    x2: object = None
    x3: object = None
    x4: object = None
    r0: object = None
    r1: object = None
    r2: object = None
    r3: object = None
    r4: object = None
    r5: object = None
    r6: object = None


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def total(self):
        return (self.a + self.b * 0.5).tanh()


def helper(a, b):
    return (a * 0.5 + b).tanh() + k0


def counter(step):
    total = 0

    def add(x):
        nonlocal total
        total = total + x * step
        return total
    return add


def repeated(x, n, *, scale=0.5):
    for i in range(int(n) % 5):
        x = x * scale + i
    return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(1)
        self.drop, self.scale = nn.Dropout(0.5), nn.Parameter(whet.tensor([1.0, 0.5]))
        self.register_buffer("seen", whet.zeros(()))

    def forward(self, x):
        self.seen += 1
        return self.drop(x) * self.scale[0] + self.norm(x.reshape(1, 1, -1).float()).mean() * self.scale[1]


net = Net()
step = whet.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


box, table, seen, k0, k1 = Box(), {}, [], 1, 1
box.last = None
"""
HOWS = ["backward", "backward", "backward", "grad", "twice", "double", "parts", "free", "some", "penalty", "hooks", "inner", "write", "wide", "third"]
TURNS = (0, 1, 0, 1, 0, 2, 3, 0, 1, 4, 0, 5)      # which of the ways (see `workers`) the programs go
SIZES = [1, 2, 2, 3, 3, 4, 4, 5, 8, 17]
CAPTURED = {"w0": ["w0", "box.w0", "table['w0']", "w0"], "w1": ["w1", "box.w1", "table['w1']", "w1"]}


# ---- programs -----------------------------------------------------------------------------------------------------------
def program(seed, length=8):
    """What to run, as plain data."""
    r = random.Random(seed)
    base = r.choice([["a"], ["a", "b"], ["a", "b"], ["a", "a"], ["a", "b", "c"], []])
    sizes = {k: r.choice(SIZES) for k in "abc"}
    if r.random() < 0.08:
        sizes[r.choice("ab")] = r.choice([0, 64, 130])
    if base == ["a"] and r.random() < 0.1:
        sizes["a"] = 20000
    main = r.choice(fuzz.FLOATS) if r.random() < 0.25 else r.choice(fuzz.FLOATS[:2])

    def tensor(captured=False):
        shape = r.choice([base, base, base, base, base[1:], [1, *base[1:]][:len(base)], base[::-1], []])
        dtype = main if r.random() < 0.7 else r.choice(fuzz.FLOATS + ["int64", "bool", "complex64"])
        return dict(dtype=dtype, shape=shape, layout=r.choice(["plain"] * 4 + fuzz.LAYOUTS), seed=r.randrange(1000), grad=r.random() < 0.4,
                    special=r.random() < 0.1, inner=not captured and r.random() < 0.1)
    inputs = [tensor() for _ in range(r.randint(1, 3))]
    if r.random() < 0.12:
        inputs.append({"alias": r.choice(["{x0}", "{x0}[:1]", "{x0}.mT", "{x0}.detach()", "{x0}.reshape(-1)", "{w0}", "{x0}[..., ::2]"])})
    if r.random() < 0.3:
        inputs.append({"number": r.choice(fuzz.NUMBERS)})
    p = dict(seed=seed, verify=["off", "first", "always"][seed % 3], sizes=sizes, inputs=inputs, steps=[], returns=[],
             captured={k: tensor(True) for k in ("w0", "w1")}, numbers={"k0": r.choice([0.5, 2, 1, -1.5]), "k1": r.choice([3, 1.0, 0])},
             names={k: r.choice(texts) for k, texts in CAPTURED.items()} | {k: r.choice([k, f"box.{k}", f"table['{k}']"]) for k in ("k0", "k1")},
             closure=r.random() < 0.3, look=r.random() < 0.3, pack=r.choice([None] * 6 + ["list", "dict", "data",
             "keywords"]), steady=r.random() < 0.3, keep=r.random() < 0.7,
             form=r.choice(["tuple", "tuple", "list", "dict", "nested", "data"]))
    _fill(r, p, length)
    p["calls"] = [_call(r, p, i) for i in range(5)]
    return p


def _fill(r, p, length):
    """Steps, tried as they are made."""
    side = Side(p)
    args = side.arguments(0, {})[0]
    space = dict(side.space, **{f"x{i}": a for i, a in enumerate(args)})
    names = [f"x{i}" for i in range(len(args))]

    def tensors():
        return [n for n in names if hasattr(space[n.split("[")[0]], "shape") or "[" in n]

    def operand():
        u = r.random()
        if u < 0.12:
            return p["names"][r.choice(["w0", "w1"])]
        held = tensors() or ["x0"]
        return r.choice(held[-3:]) if u < 0.6 else r.choice(held)

    def number():
        u = r.random()
        if u < 0.2:
            return p["names"][r.choice(["k0", "k1"])]
        if u < 0.3:
            mine = [n for n in names if "[" not in n and isinstance(space[n], int | float)]
            if mine:
                return r.choice(mine)
        return _literal(r.choice(fuzz.NUMBERS))

    import whet
    tries = 0
    while len(p["steps"]) < length and tries < 12 * length:
        tries += 1
        if r.random() < 0.6:
            what, operands, d = fuzz._step(r)
            if what in ("leaf", "backward", "mode") or what in fuzz.INPLACE and r.random() < 0.5:
                continue
            if what in fuzz.PRODUCTS:
                operands = operands[:2]
            ops = {k: number() if isinstance(o, dict) else operand() for k, o in zip("xyz", operands)}
            text = fuzz.expression(whet, what, [f"{{{k}}}" for k in ops], d)
        else:
            weights, texts = zip(*[(t[0], t[1:]) for t in TEXTS.values()])
            text = r.choice(r.choices(texts, weights)[0])
            ops = {k: operand() for k in "xyz"} | {"n": number(), "i": str(r.randrange(-1, 2))}
            ops = {k: t for k, t in ops.items() if "{" + k + "}" in text}
        step = dict(text=text, ops=ops, out=f"v{len(p['steps'])}", mode=r.choices([None, "no_grad", "enable_grad"], [30, 2, 1])[0])
        if re.search(r"^\{x\} .=", text) and not re.fullmatch(r"[xv]\d+", ops["x"]):
            continue
        out, before = step["out"], dict(space)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                exec("\n".join(lines(step)), space)
        except Exception as e:
            space.clear(), space.update(before)
            if r.random() < 0.01 and not isinstance(e, SyntaxError):
                p["steps"].append(step)
            continue
        v = space.get(out)
        if getattr(v, "shape", None) is not None and v.numel() > 40000 or isinstance(v, int) and abs(v) > 1e6:
            continue
        p["steps"].append(step)
        if isinstance(v, tuple | list) and v and all(hasattr(t, "shape") for t in v):
            names += [f"{out}[{k}]" for k in range(min(3, len(v)))]
        elif hasattr(v, "shape") or isinstance(v, int | float):
            names.append(out)
    own = [n for n in names if n[0] == "v"] or names
    p["returns"] = [r.choice(own[-3:])] + [r.choice(names) for _ in range(r.choice([0, 1, 1, 2, 3]))]
    if r.random() < 0.3:
        p["returns"].append(f"{r.choice(tensors() or ['x0'])}{r.choice(['.shape', '[:1]', '.detach()', '.dtype', '.t()'])}")
    if r.random() < 0.1:
        p["returns"].append(r.choice(list(p["names"].values())))


def _literal(n):
    return f"math.{n}" if n != n or abs(n) == float("inf") else f"({n!r})" if n < 0 or str(n)[0] == "-" else repr(n)


def _call(r, p, i):
    """What happens before a call, and after it."""
    changes = []
    while i > 1 and r.random() < 0.35:
        which = r.randrange(len(p["inputs"]))
        changes.append(r.choice([
            ["sizes", {k: r.choice(SIZES) for k in "abc"}], ["input", which, "dtype", r.choice(fuzz.FLOATS + ["int64"])],
            ["input", which, "layout", r.choice(fuzz.LAYOUTS)], ["input", which, "grad", r.random() < 0.5],
            ["number", "k0", r.choice([0.5, 2, -1.0])], ["number", "k1", r.choice([0, 2, -1.0])], ["input", which, "number", r.choice(fuzz.NUMBERS)],
            ["tensor", r.choice(["w0", "w1"])],
            ["write", r.choice(["w0", "w1"])], ["zero", r.choice(["w0", "w1"])], ["no_grad"], ["again"], ["freeze", r.choice(["w0", "w1"])],
            ["input", which, "special", True]]))
    after = {}
    if r.random() < 0.6:
        after = dict(take=[r.random() < 0.6 for _ in range(6)], how=r.choice(HOWS),
                     loss=r.choice(["sum", "square", "slice"]), late=r.random() < 0.15, spoil=r.random() < 0.08)
    if r.random() < 0.2:
        after["poke"] = r.randrange(6)
    return dict(changes=changes, once=r.random() < 0.6, after=after)


def lines(step):
    """A step as lines of source."""
    text = step["text"].format(**step["ops"], v=step["out"])
    block = "{v}" in step["text"] or "\n" in step["text"] or re.match(r"(if|for|with|assert|\S+ .?=|.*\] = |.*grad = |box\.)", step["text"])
    out = text.split("\n") if block else [f"{step['out']} = {text}"]
    return [f"with whet.{step['mode']}():", *["    " + line for line in out]] if step["mode"] else out


def source(p):
    """The program's module."""
    body = [line for s in p["steps"] for line in lines(s)]
    xs, rs = [f"x{i}" for i in range(len(p["inputs"]))], ", ".join(p["returns"])
    taken = {"list": [f"{', '.join(xs)}, = pack"], "dict": [f"{x} = pack['{x}']" for x in xs], "data": [f"{x} = pack.{x}" for x in xs]}
    head = "pack" if p["pack"] in taken else "*, " * (p["pack"] == "keywords") + ", ".join(xs)
    body = taken.get(p["pack"], []) + body
    back = {"tuple": f"{rs}," if rs else "()", "list": f"[{rs}]", "nested": f"[({rs},), {p['returns'][0]}]" if rs else "[]",
            "dict": "{" + ", ".join(f"'r{i}': {t}" for i, t in enumerate(p["returns"])) + "}",
            "data": f"Several({', '.join(f'r{i}={t}' for i, t in enumerate(p['returns']))})"}[p["form"]]
    f = [f"def f({head}):", *["    " + line for line in body], f"    return {back}"]
    free = [n for n in (*p["captured"], *p["numbers"]) if p["names"][n] == n] if p["closure"] else []
    if free:
        f = [f"def outer({', '.join(f'{n}=None' for n in free)}):", *["    " + line for line in f], "    return f", "", "", "f = outer()"]
    return HEAD + "\n\n" + "\n".join(f) + "\n"


# ---- running them -------------------------------------------------------------------------------------------------------
class Side:
    """One of the two ways to run a program, with its own module, tensors and state."""

    def __init__(self, p):
        import whet
        self.whet, self.p, self.q = whet, p, copy.deepcopy(p)
        self.space = {"__name__": f"program_{p['seed']}"}
        exec(compile(source(p), f"/tmp/whet_fuzz/program_{p['seed']}.py", "exec"), self.space)
        self.f = self.space["f"]
        self.captured, self.last = {}, None
        for name, d in p["captured"].items():
            self.put(name, self.make(d, 0))
        for name, n in p["numbers"].items():
            self.put(name, n)

    def make(self, d, i):
        d = {k: v for k, v in d.items() if k not in ("inner", "number", "alias")}
        shape = [self.q["sizes"][k] if isinstance(k, str) else k for k in d["shape"]]
        return fuzz._make(self.whet, **{**d, "shape": shape, "seed": d["seed"] + (0 if self.p["steady"] else 1000 * i)})

    def put(self, name, x):
        """Bind a captured name."""
        self.captured[name] = x
        text = self.p["names"][name]
        cells = dict(zip(self.f.__code__.co_freevars, self.f.__closure__ or ()))
        if text != name:
            exec(f"{text} = put", {"box": self.space["box"], "table": self.space["table"], "put": x})
        elif name in cells:
            cells[name].cell_contents = x
        self.space[name] = x

    def arguments(self, i, call):
        """Arguments of call i, and the leaves of theirs through which gradients come."""
        if ["again"] in call.get("changes", []) and self.last is not None:
            return self.last
        args, leaves, named = [], [], {"w0": self.captured["w0"]}
        for k, d in enumerate(self.q["inputs"]):
            if "alias" in d:
                try:
                    t = eval(d["alias"].format(x0="x0", w0="w0"), dict(named))
                except Exception:
                    t = named["x0"]
            elif "shape" not in d:
                t = d["number"]
            else:
                t = self.make(d, i)
                leaves.append(t)
                if d["inner"]:
                    t = t * 1
            named[f"x{k}"] = t
            args.append(t)
        self.last = args, leaves
        return self.last

    def change(self, call, i):
        """What happens between calls."""
        whet = self.whet
        before = copy.deepcopy(self.q)
        for what, *rest in call["changes"]:
            if what == "sizes":
                self.q["sizes"] = rest[0]
            elif what == "input":
                k, key, value = rest
                if key in self.q["inputs"][k]:
                    self.q["inputs"][k][key] = value
            elif what == "number":
                self.put(*rest)
            elif what == "tensor":
                self.put(rest[0], self.make({**self.q["captured"][rest[0]], "seed": i}, 0))
            elif what in ("write", "zero", "freeze"):
                t = self.captured[rest[0]]
                if what == "zero":
                    t.grad = None
                elif what == "write":
                    with whet.no_grad():
                        t.copy_(t.clone() * 2)
                elif t.is_leaf and (t.is_floating_point() or t.is_complex()):
                    t.requires_grad_(not t.requires_grad)
        return before

    def run(self, traced=None):
        """What each call came to; `traced` makes the function traced."""
        whet, p = self.whet, self.p
        seen, held, waiting = [], [], []
        f = traced(self.f) if traced else self.f
        whet.manual_seed(p["seed"])
        for i, call in enumerate(p["calls"]):
            note = {}
            seen.append(note)
            try:
                before = self.change(call, i)
                args, leaves = self.arguments(i, call)
            except Exception as e:
                note["before"] = _said(e)
                continue
            if call["once"]:
                self.q = before
            leaves = [t for t in leaves if t.requires_grad] + [t for t in self.captured.values() if getattr(t, "requires_grad", False)]
            out = None
            try:
                with whet.set_grad_enabled(["no_grad"] not in call["changes"]):
                    out = self.call(f, args)
                note["result"] = _seen(out)
                if p["look"]:
                    note["history"] = [_history(t) for t in _tensors(out, [])]
            except Exception as e:
                note["result"] = _said(e)
            net = self.space["net"]
            note["effects"] = [_seen(args), _seen(leaves), _seen(list(self.captured.values())), [_bits(t.grad) for t in leaves],
                               repr(self.space["seen"]), _seen(list(net.state_dict().values())), [_bits(t.grad) for t in net.parameters()]]
            note["modes"] = whet.is_grad_enabled(), whet.random.default_generator._offset
            results = []
            _tensors(out, results)
            waiting.append((call["after"], results, args, leaves))
            if not call["after"].get("late") or i == len(p["calls"]) - 1:
                for w in waiting:
                    note.setdefault("gradients", []).append(self.after(*w))
                waiting = []
            note["effects after"] = [_seen(args), _seen(out), _seen(list(self.captured.values()))]
            if p["keep"]:
                held.append((args, out))
            del out, results, args
        seen.append({"in the end": [_seen(x) for x in held]})
        return seen

    def call(self, f, args):
        """Call the function with its arguments as it takes them."""
        named, pack = {f"x{k}": x for k, x in enumerate(args)}, self.p["pack"]
        if pack == "keywords":
            return f(**named)
        return f(*args) if pack is None else f(list(args) if pack == "list" else named if pack == "dict" else self.space["Several"](**named))

    def after(self, after, results, args, leaves):
        """Gradients through the results, and writes to them."""
        whet, note = self.whet, []
        loss, alive = after.get("loss"), [t for t in results if t.requires_grad]
        alive = [t for t, take in zip(alive, after.get("take", [])) if take]
        try:
            if after.get("spoil"):
                with whet.no_grad():
                    next(t for t in args if hasattr(t, "shape")).add_(1)
            sums = []
            for k, t in enumerate(alive):
                t = t.real if t.is_complex() else t
                t = t * t if loss == "square" else t[..., :1] if loss == "slice" and t.ndim else t
                sums.append((t.sum() * (k + 1)).double())
            if sums:
                total, how = sum(sums), after["how"]
                if how == "parts":
                    for s in sums:
                        s.backward(retain_graph=True)
                elif how == "free":          # each frees its part of the graph
                    for s in [*sums, *sums]:
                        try:
                            s.backward()
                        except RuntimeError as e:
                            note.append(_said(e))
                elif how == "some":
                    for t in leaves:
                        try:
                            note.append([_bits(g) for g in whet.autograd.grad(total, t, allow_unused=True)])
                        except RuntimeError as e:
                            note.append(_said(e))
                elif how == "penalty":
                    gs = [g for g in whet.autograd.grad(total, leaves, allow_unused=True, create_graph=True) if g is not None]
                    (total + sum((g.real if g.is_complex() else g).square().sum().double() for g in gs)).backward()
                elif how == "hooks":
                    for t in alive:
                        t.retain_grad()
                        t.register_hook(lambda g: note.append(_bits(g)))
                    total.backward()
                    note.append([_bits(t.grad) for t in alive])
                elif how == "inner":
                    note.append([_bits(g) for g in whet.autograd.grad(total, alive + leaves, allow_unused=True)])
                elif how == "write":
                    alive[0].mul_(2)
                    (total + (alive[-1].real if alive[-1].is_complex() else alive[-1]).sum()).backward()
                elif how == "wide":
                    for t in alive:
                        t.backward(whet.full(t.shape, 1.1, dtype=whet.complex128 if t.is_complex() else whet.float64), retain_graph=True)
                elif how == "third":
                    g = total
                    for _ in range(3):
                        g = [g for g in whet.autograd.grad(g, leaves, allow_unused=True, create_graph=True) if g is not None][0]
                        g = (g.real if g.is_complex() else g).sum().double()
                        note.append(_bits(g))
                elif how == "twice":
                    total.backward(retain_graph=True)
                    sums[0].backward()
                elif how == "backward":
                    total.backward()
                elif leaves:
                    gs = whet.autograd.grad(total, leaves, allow_unused=True, create_graph=how == "double")
                    note.append([_bits(g) for g in gs])
                    gs = [(g.real if g.is_complex() else g) for g in gs if g is not None and g.requires_grad]
                    if gs:
                        sum((g * g).sum().double() for g in gs).backward()
        except Exception as e:
            note.append(_said(e))
        note.append([_bits(t.grad) for t in leaves])
        if "poke" in after and results:
            try:
                with whet.no_grad():
                    results[after["poke"] % len(results)].add_(1)
            except Exception as e:
                note.append(_said(e))
        return note


def _tensors(x, into):
    """Add the tensors in a result to a list."""
    if isinstance(x, list | tuple):
        for y in x:
            _tensors(y, into)
    elif isinstance(x, dict):
        _tensors(list(x.values()), into)
    elif dataclasses.is_dataclass(x):
        _tensors(list(vars(x).values()), into)
    elif hasattr(x, "_array") and not any(x is t for t in into):
        into.append(x)
    return into


def _history(t):
    """The graph that made a tensor, two nodes deep; of one that was freed somewhere, the last node (the others a trace does not know)."""
    def names(n, depth):
        return n and [n.name(), *(names(m, depth - 1) for m, _ in n.next_functions if depth)]

    def freed(n):
        return n is not None and (getattr(n, "released", False) or any(freed(m) for m, _ in n.next_functions))
    return names(t.grad_fn, 0 if freed(t.grad_fn) else 2), t.output_nr, t._base is not None


def _seen(x):
    if isinstance(x, dict):
        return [[k, _seen(v)] for k, v in x.items()]
    if isinstance(x, list | tuple):
        return [type(x).__name__, *[_seen(v) for v in x]]
    if dataclasses.is_dataclass(x):
        return _seen(vars(x))
    return fuzz.describe(x, False)[:7] + [str(x.detach()._array.reshape(-1)[:6].tolist())] if hasattr(x, "_array") else repr(x)


def _bits(g):
    """A gradient, but for how it lies in memory (eager may hand out an expanded one), and how often it was added to."""
    return None if g is None else [part for k, part in enumerate(_seen(g)) if k not in (2, 6)]


def _said(e):
    return f"{type(e).__name__}: {e}"[:300]


def compare(p):
    """Eager and traced: {"why": where they differ or None, "paths": recordings, "replays": calls of them, "refused": why}."""
    import whet
    made = []

    def traced(f):
        made.append(whet.jit.trace(f, verify=p["verify"]))
        return made[0]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want, got = Side(p).run(), Side(p).run(traced)
        why = difference(want, got)
        if why and difference(want, Side(p).run()):
            why = None                           # eager differs from itself
    facts = made[0].explain(data=True)
    if why is None and "please report" in str(made[0].why):
        why = made[0].why
    why = why or made[0].drift               # (these programs go by nothing that a trace cannot see)
    return dict(why=why, paths=len(facts["paths"]), replays=sum(q["calls"] for q in facts["paths"]), refused=facts["refused"] or made[0].why)


def difference(want, got):
    """The first place where two runs differ, in words."""
    for i, (a, b) in enumerate(zip(want, got)):
        for what in dict(a, **b):
            x, y = a.get(what), b.get(what)
            if json.dumps(x) != json.dumps(y):
                return f"call {i}, {what}:\n    eager  {_narrow(x, y)}\n    traced {_narrow(y, x)}"


def _narrow(x, y):
    """The part of x that is not as in y."""
    while isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
        parts = [k for k, (u, v) in enumerate(zip(x, y)) if u != v]
        if len(parts) != 1 or not isinstance(x[parts[0]], list):
            break
        x, y = x[parts[0]], y[parts[0]]
    return str(x)[:500]


# ---- making them shorter ------------------------------------------------------------------------------------------------
def shorten(p, wrong):
    """The program without what it takes none of to be wrong."""
    tried = set()

    def better(q):
        key = json.dumps(q)
        if key in tried:
            return False
        tried.add(key)
        return wrong(q)
    changed = True
    while changed:
        changed = False
        for q in _smaller(p):
            if better(q):
                p, changed = q, True
                break
    return p


def _smaller(p):
    """Programs that are a little smaller."""
    def other(**kw):
        return {**copy.deepcopy(p), **kw}
    for k in range(len(p["steps"]))[::-1]:
        step, rest = p["steps"][k], p["steps"][:k] + p["steps"][k + 1:]
        pattern = re.compile(rf"\b{step['out']}\b(\[\d\])?")
        uses = [s for s in rest if any(pattern.search(t) for t in s["ops"].values())]
        if not uses:
            yield other(steps=rest, returns=[t for t in p["returns"] if not pattern.search(t)])
        else:
            drop = {id(s) for s in uses}
            gone = re.compile("|".join([pattern.pattern] + [rf"\b{s['out']}\b" for s in uses]))
            yield other(steps=[s for s in rest if id(s) not in drop], returns=[t for t in p["returns"] if not gone.search(t)])
        for o in dict.fromkeys([*step["ops"].values(), "x0"]):
            if re.match(r"[xvwbt]", o):
                new = [{**s, "ops": {n: pattern.sub(o, t) for n, t in s["ops"].items()}} for s in rest]
                yield other(steps=new, returns=[pattern.sub(o, t) for t in p["returns"]])
        if step["mode"]:
            yield other(steps=[*p["steps"][:k], {**step, "mode": None}, *p["steps"][k + 1:]])
    for k in range(len(p["returns"])):
        yield other(returns=p["returns"][:k] + p["returns"][k + 1:])
    calls = p["calls"]
    for k in range(len(calls)):
        yield other(calls=calls[:k] + calls[k + 1:])
        for j in range(len(calls[k]["changes"])):
            c = {**calls[k], "changes": calls[k]["changes"][:j] + calls[k]["changes"][j + 1:]}
            yield other(calls=[*calls[:k], c, *calls[k + 1:]])
        for key in list(calls[k]["after"]):
            if key in ("poke", "take", "late", "spoil") and calls[k]["after"][key] is not False:
                c = {**calls[k], "after": {n: v for n, v in calls[k]["after"].items() if n != key}}
                yield other(calls=[*calls[:k], c, *calls[k + 1:]])
    if len(p["inputs"]) > 1:
        name = rf"\bx{len(p['inputs']) - 1}\b"
        if not any(re.search(name, t) for t in [*p["returns"], *[t for s in p["steps"] for t in s["ops"].values()]]):
            last = len(p["inputs"]) - 1
            yield other(inputs=p["inputs"][:-1], calls=[{**c, "changes": [x for x in c["changes"] if x[:2] != ["input", last]]} for c in calls])
    for group in ("inputs", "captured"):
        for k in range(len(p[group])) if group == "inputs" else list(p[group]):
            for key, plain in dict(layout="plain", special=False, inner=False, grad=False, dtype="float32").items():
                if p[group][k].get(key, plain) != plain:
                    q = other()
                    q[group][k][key] = plain
                    yield q
    for k, n in p["sizes"].items():
        if n not in (2, 3):
            yield other(sizes={**p["sizes"], k: 2})
    for key, plain in dict(closure=False, keep=False, form="tuple", steady=True, pack=None, look=False).items():
        if p[key] != plain:
            yield other(**{key: plain})
    for k, t in p["names"].items():
        if t != k:
            old = re.escape(t)
            q = json.loads(re.sub(old, k, json.dumps(dict(steps=p["steps"], returns=p["returns"]))))
            yield other(names={**p["names"], k: k}, **q)


def show(p):
    """A program to be read."""
    out = [source(p)[len(HEAD):].strip()]
    out += [f"x{i}: {json.dumps(d)}" for i, d in enumerate(p["inputs"])]
    out += [f"{p['names'][n]}: {json.dumps(v)}" for n, v in [*p["captured"].items(), *p["numbers"].items()] if p["names"][n] in out[0]]
    out += [f"call {i}: {json.dumps(c)}" for i, c in enumerate(p["calls"])]
    out += [f"{p['sizes']} verify={p['verify']} keep={p['keep']} steady={p['steady']}"]
    return "\n".join(["    " + line for line in "\n".join(out).split("\n")])


# ---- many of them -------------------------------------------------------------------------------------------------------
class Worker(fuzz.Worker):
    """A process that compares programs sent to it."""

    def __call__(self, p):
        r = super().__call__(p)
        return r if isinstance(r, dict) else dict(why=str(r[0]), paths=0, replays=0, refused=None)


def serve(threads, without):
    """Read programs, one a line; answer with what came of them. `without` is the name of a pass that is left out."""
    faulthandler.enable()
    import whet
    from whet.passes.pipeline import PASSES
    PASSES[:] = [(name, one) for name, one in PASSES if name != without]
    if threads:
        whet.set_num_threads(threads)
    for line in sys.stdin:
        try:
            answer = compare(json.loads(line))
        except Exception as e:
            answer = dict(why=f"the comparison raised {_said(e)}", paths=0, replays=0, refused=None)
        print(json.dumps(answer), flush=True)


def workers():
    """Ways to run: programs go to them in turn."""
    from whet.passes.pipeline import PASSES
    return [Worker("tests.fuzz_jit", 1, WHET_NATIVE="1"), Worker("tests.fuzz_jit", 4, WHET_NATIVE="1"), Worker("tests.fuzz_jit", WHET_NATIVE="0"),
            *(Worker("tests.fuzz_jit", 1, ["--without", name], WHET_NATIVE="1") for name, _ in PASSES)]


def rounds(seed, count, ways, seconds=float("inf"), length=8, skip=()):
    """Run programs; gives (seed, why, program, worker) of each wrong one, and at last how many were run, compiled and replayed."""
    end, counts = time.time() + seconds, [0, 0, 0]
    pools, waiting = [futures.ThreadPoolExecutor(1) for _ in ways], collections.deque()

    def finished(most):
        while len(waiting) > most:
            s, p, way, answer = waiting.popleft()
            r = answer.result()
            for k, one in enumerate((True, r["paths"], r["replays"])):
                counts[k] += bool(one)
            if r["why"]:
                yield s, r["why"], p, way
    for s in range(seed, seed + count):
        if time.time() > end:
            break
        if s not in skip:
            p, k = program(s, length), TURNS[s % len(TURNS)] % len(ways)
            waiting.append((s, p, ways[k], pools[k].submit(ways[k], p)))
        yield from finished(8)
    yield from finished(0)
    for pool in pools:
        pool.shutdown()
    yield tuple(counts)


def again(p, way):
    """Run a program once more, in a process like `way`'s."""
    other = like.setdefault((way.threads, way.env.get("WHET_NATIVE"), *way.more), Worker("tests.fuzz_jit", way.threads, way.more, **way.env))
    return other(p)


like = {}


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--seconds", type=float, default=10)
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--rounds", type=int, default=10 ** 9)
    a.add_argument("--length", type=int, default=8)
    a.add_argument("--serve", type=int, metavar="THREADS")
    a.add_argument("--without", metavar="PASS")
    a.add_argument("--raw", action="store_true", help="do not make wrong programs shorter")
    a = a.parse_args()
    if a.serve is not None:
        return serve(a.serve, a.without)
    ways, wrong = workers(), 0
    for found in rounds(a.seed, a.rounds, ways, a.seconds, a.length):
        if len(found) == 3:
            done, compiled, replayed = found
            break
        wrong += 1
        seed, why, p, way = found
        if not a.raw:
            p = shorten(p, lambda q: again(q, way)["why"])
            why = again(p, way)["why"]
        print(f"seed {seed}: {why}\n{show(p)}", flush=True)
    for w in [*ways, *like.values()]:
        w.close()
    print(f"{done} programs, {compiled} compiled, {replayed} replayed, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    os.environ.setdefault("WHET_CACHE_DIR", os.path.join(os.path.dirname(__file__), "..", ".whet-cache"))
    sys.exit(main())
