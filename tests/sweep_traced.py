"""Everything public, called in a traced function several times: each call must come to eager's.

    python -m tests.sweep_traced                   all of it, some forms of each callable
    python -m tests.sweep_traced whet.nn. Tensor.add     those whose names begin so
    python -m tests.sweep_traced --part 2/8
    python -m tests.sweep_traced --sizes           in calls of many sizes

A form is a callable with arguments: those of its op's samples, and drawn ones that eager takes
(tests/fuzz_arguments.py knows what parameters of a name may be given). It is called in turn with
the same data and other data, other numbers, other dtypes and strides, without recording gradients
and with gradients taken, with `out=`, eagerly and traced. What comes of it is compared by
`observed`: values, dtypes, strides, errors, what shares memory, what was done to the arguments, and
the random numbers that come next.
"""
import argparse
import dataclasses
import faulthandler
import inspect
import itertools
import os
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import fuzz_arguments
from tests.fuzz_harness import generous
from tests.observed import first_difference, observed, outcome

DRAWN, TRIES, SAMPLES = 3, 30, 4   # forms of a callable that are drawn, at most after so many tries
# its memory is what it was; or its result is about the process
UNTOLD = frozenset("""empty empty_like empty_strided empty_permuted new_empty new_empty_strided new
data_ptr const_data_ptr resize_ resize_as_ get_num_threads __hash__ __array__ gradcheck
gradgradcheck
storage untyped_storage apply_ map_ __reversed__ from_dlpack to_dlpack lstm rnn_tanh rnn_relu gru
profile set_detect_anomaly memory_format share_memory_""".split())


@dataclasses.dataclass
class Form:
    """A way to call something. `make` gives its arguments afresh; `call` is what is traced, and
    `state` what else it changes."""
    name: str
    make: Callable
    begin: Callable                  # () -> (what is called with the arguments, state)
    outs: bool = False


def both(x, change):
    """The same structure with its leaves changed."""
    if type(x) in (list, tuple):
        return type(x)(both(y, change) for y in x)
    if type(x) is dict:
        return {k: both(y, change) for k, y in x.items()}
    return change(x)


# ---- how calls differ ----------------------------------------------------------------------------
def same(x):
    """As it is."""
    return x


def other_data(x):
    """Floats are a little larger, indices come in another order."""
    import whet
    if not isinstance(x, whet.Tensor) or isinstance(x, whet.nn.Parameter) or not x.numel():
        return x
    with whet.no_grad():
        if x.is_floating_point() or x.is_complex():
            return (x * 1.125).to(x.dtype)
        return x.flip(0) if x.dim() else x


def other_numbers(x):
    """Another int, another float."""
    return x + 1 if type(x) is int else x * 0.75 if type(x) is float else x


def other_dtype(x):
    """The other usual dtype of its kind."""
    import whet
    if not isinstance(x, whet.Tensor):
        return x
    wide = {whet.float32: whet.float64, whet.float64: whet.float32, whet.int64: whet.int32}
    return x.detach().to(wide.get(x.dtype, x.dtype))


def other_strides(x):
    """The same numbers, lying otherwise."""
    import whet
    if not isinstance(x, whet.Tensor) or not x.dim():
        return x
    x = x.detach()
    return x.mT.contiguous().mT if x.dim() > 1 else x.repeat_interleave(2)[::2]


def with_gradient(x):
    """Floats are leaves that require one."""
    import whet
    wants = isinstance(x, whet.Tensor) and x.is_floating_point() and not x.requires_grad
    return x.detach().clone().requires_grad_() if wants else x


TURNS = [(same, "plain")] * 3 + [(other_data, "plain")] * 2 + [(other_numbers, "plain")] * 3 + [
    (other_dtype, "plain")] * 2 + [(other_strides, "plain")] * 2 + [(same, "no_grad")] * 2 + [
    (with_gradient, "backward")] * 3 + [(same, "out")] * 3 + [(other_data, "plain")]


class OtherSize:
    """Dimensions of one length have another, in all tensors."""

    def __init__(self, length, other):
        self.length, self.other = length, other
        self.__name__ = f"{length} becomes {other}"

    def __call__(self, x):
        import whet
        if not isinstance(x, whet.Tensor) or isinstance(x, whet.nn.Parameter):
            return x
        x = x.detach()
        for dim in [d for d, n in enumerate(x.shape) if n == self.length]:
            x = x.index_select(dim, whet.arange(self.other) % self.length)
        return x


def of_sizes(form):
    """Turns for each length that dimensions have: larger ones come first, of which a program for
    all sizes is made; then those at which ops may find that what they were asked for is not
    there."""
    args, kwargs = form.make()
    lengths = {n for t in [*tensors(args), *tensors(kwargs)] for n in t.shape if n > 1}
    for n in sorted(lengths)[:2]:
        larger = [n + 2, n + 5, n + 9, n + 14]
        smaller = [*range(n, 0, -1)][:6]
        yield [(OtherSize(n, k), "plain") for k in (*larger, *smaller, 2, 3, 1, n + 30, *larger)]


def turn(form, f, change, how, results):
    """What a call comes to: its result, or its error; its arguments, with their gradients."""
    import whet
    args, kwargs = both(form.make(), change)
    if how == "out":
        kwargs = {**kwargs, "out": results}
    if how == "no_grad":
        with whet.no_grad():
            y = outcome(lambda: f(args, kwargs))
    else:
        y = outcome(lambda: f(args, kwargs))
    if how == "backward":
        made = [t for t in tensors(y) if t.requires_grad and t.grad_fn is not None]
        error = outcome(lambda: sum((t.abs() if t.is_complex() else t).double().sum()
                                    for t in made).backward() if made else None)
        return y, args, kwargs, error
    return y, args, kwargs


def tensors(x):
    """The tensors in a value."""
    import whet
    if isinstance(x, whet.Tensor):
        return [x]
    inside = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple) else ()
    return [t for y in inside for t in tensors(y)]


def calls(form, traced, turns):
    """(what comes of each call, how many were replayed)."""
    import whet
    whet.manual_seed(3), random.seed(3), np.random.seed(3)
    call, state = form.begin()

    def f(args, kwargs):
        return call(*args, **kwargs)
    f = whet.jit.trace(f) if traced else f
    seen, last = [], None
    for change, how in turns:
        if how == "out" and not (form.outs and last is not None):
            continue
        out = None
        if how == "out":
            out = whet.empty_like(last) if isinstance(last, whet.Tensor) else tuple(
                map(whet.empty_like, last))
        came = turn(form, f, change, how, out)
        if how == "plain" and change is same:
            y = came[0]
            fits = isinstance(y, whet.Tensor) or type(y) is tuple and y and all(
                isinstance(t, whet.Tensor) for t in y)
            last = (y.detach() if isinstance(y, whet.Tensor) else tuple(t.detach() for t in y)
                    ) if fits else None
        seen.append((observed(came, state), whet.get_rng_state().tolist()))
    return seen, f._calls.policy.summary().replayed if traced else 0


def compared(form, count, turns=TURNS):
    """What is wrong with a form, in words, or None."""
    want, _ = calls(form, False, turns)
    again, _ = calls(form, False, turns)
    if want != again:
        count["differ by themselves"] += 1
        return None
    got, replayed = calls(form, True, turns)
    count["forms"] += 1
    count["replayed"] += replayed > 0
    for k, (a, b) in enumerate(zip(want, got)):
        if a != b:
            where, x, y = first_difference(a, b)
            turns = [t for t in turns if t[1] != "out" or form.outs]
            change, how = turns[k]
            return (f"{form.name}: call {k} ({change.__name__}, {how}) at {where}:\n"
                    f"    eager  {str(x)[:400]}\n    traced {str(y)[:400]}")
    return None


# ---- what is called ------------------------------------------------------------------------------
class Plausible(fuzz_arguments.Drawer):
    """Draws no hostile arguments."""

    def __init__(self, whet, r):
        super().__init__(whet, r)
        self.tensors = [t for t in self.tensors if t().numel() < 200 and not t().grad_fn]

    def tensor(self):
        """Floats of one type: functions refuse two."""
        t = super().tensor()
        return t.float() if t.dtype is self.whet.float64 else t

    def any(self):
        return self.r.choice([1, 2, 0.5, 0, True, self.tensor, self.tensor, (1,), 3])

    def arguments(self, f, skip=0):
        args, kwargs = super().arguments(f, skip)
        return [a() if a == self.tensor else a for a in args], {
            k: a() if a == self.tensor else a for k, a in kwargs.items()}


def accepts_out(f):
    """May it be given `out=`?"""
    try:
        return "out" in inspect.signature(f).parameters
    except (TypeError, ValueError):
        return False


def of_samples(name, f):
    """Forms with the samples of the op of that name."""
    from whet.ops.registry import REGISTRY

    from tests.ops import test_ops
    op = REGISTRY.get(name.rpartition(".")[2].rstrip("_"))
    if op is None or op.samples is None or op.inner:
        return
    import whet
    for k in range(SAMPLES):
        def made(k=k):
            one = next(itertools.islice(test_ops.calls(op, 0, whet.float32, False), k, None), None)
            return None if one is None else (list(one.args), dict(one.kwargs))
        if made() is not None:
            yield Form(f"{name} sample {k}", made, lambda: (f, None), accepts_out(f))


def drawn(name, draw, seed):
    """Forms with arguments that are drawn."""
    import whet
    for k in range(TRIES):
        def made(k=k):
            return draw(Plausible(whet, random.Random(f"{seed} {name} {k}")))[1:]
        f, *_ = draw(Plausible(whet, random.Random(f"{seed} {name} {k}")))
        yield Form(f"{name} drawn {k}", lambda made=made: (list(made()[0]), dict(made()[1])),
                   lambda f=f: (f, None), accepts_out(f))


def layers(name, cls, seed):
    """Forms of a module: made once, its parameters compared with the rest."""
    import whet
    for k in range(TRIES):
        def arguments(f, skip, k=k):
            d = Plausible(whet, random.Random(f"{seed} {name} {k}"))
            d.any = lambda: d.r.choice([1, 2, 3, 0.5, None, True])
            return d.arguments(f, skip)

        def begin(arguments=arguments):
            given, named = arguments(cls, 0)
            m = cls(*given, **named)
            return m, m

        def make(arguments=arguments):
            d = Plausible(whet, random.Random(f"{seed} {name} input {k}"))
            return d.arguments(cls.forward, 1)
        yield Form(f"{name} drawn {k}", make, begin)


def transforms(name, f):
    """Forms of what takes a function, in the ways that such are called."""
    import whet

    def inner(x, *others):
        return (x.sin() * x).sum()
    ways = [lambda x: f(inner)(x), lambda x: f(inner, x), lambda x: f(inner, (x,), (x,)),
            lambda x: f(inner, x)[1](whet.ones(()))]
    for k, way in enumerate(ways):
        for shape in (4,), (2, 3):
            yield Form(f"{name} way {k}", lambda shape=shape: ([whet.ones(shape) * 0.3], {}),
                       lambda way=way: (way, None))


def optimizers(name, cls):
    """Forms of an optimizer: steps on two parameters."""
    import whet

    def begin():
        ps = [whet.nn.Parameter(whet.rand(3, 4)), whet.nn.Parameter(whet.rand(4))]
        opt = cls(ps)

        def step(x, rate):
            for group in opt.param_groups:
                group["lr"] = rate
            opt.zero_grad()

            def closure():
                opt.zero_grad()
                loss = (x @ ps[0] + ps[1]).square().mean()
                loss.backward()
                return loss
            return opt.step(closure)
        return step, [ps, opt]
    yield Form(name, lambda: ([whet.arange(6.0).reshape(2, 3), 0.1], {}), begin)


def schedulers(name, cls):
    """Forms of a scheduler that takes these arguments."""
    import whet
    known = dict(step_size=2, milestones=[2, 4], gamma=0.5, T_max=5, T_0=3,
                 lr_lambda=lambda e: 0.9**e,
                 max_lr=0.5, total_steps=100, base_lr=0.01, schedulers=None)
    names = inspect.signature(cls).parameters
    given = {k: v for k, v in known.items() if k in names}
    if "schedulers" in given:
        return

    def begin():
        p = whet.nn.Parameter(whet.rand(4))
        opt = whet.optim.SGD([p], lr=0.1, momentum=0.9)
        s = cls(opt, **given)

        def step(x):
            opt.zero_grad()
            loss = (p * x).square().sum()
            loss.backward()
            opt.step()
            s.step(*[loss.item()] * ("ReduceLROnPlateau" in name))
            return loss
        return step, [p, opt, {k: v for k, v in s.state_dict().items() if k != "lr_lambdas"}]
    yield Form(name, lambda: ([whet.ones(4)], {}), begin)


def distributions(name, cls):
    """Forms of a distribution: made in the call, sampled, and asked for densities."""
    import whet

    def call(*parameters):
        d = cls(*parameters)
        sample = d.rsample((2,)) if d.has_rsample else d.sample((2,))
        found = [outcome(lambda a=a: getattr(d, a)) for a in ("mean", "variance")]
        return sample, d.log_prob(sample.detach()), outcome(d.entropy), *found
    for count in (1, 2, 3):
        for low, high in ((0.2, 0.8), (1.0, 3.0)):
            def make(count=count, low=low, high=high):
                one = whet.linspace(low, high, 3)
                return [one + 0.5 * k for k in range(count)], {}
            yield Form(f"{name} of {count} from {low}", make, lambda: (call, None))


def forms(only, seed):
    """The forms of everything public, by the name of what is called; of each those that eager
    takes."""
    import whet
    for name, draw in fuzz_arguments.targets(whet).items():
        last = name.rpartition(".")[2]
        if last in UNTOLD or only and not name.startswith(tuple(only)):
            continue
        owner: Any = whet
        for part in name.split(".")[0 if name.startswith("Tensor") else 1:-1]:
            owner = getattr(owner, part)
        f = getattr(owner, last)
        if name.startswith("whet.nn.") and inspect.isclass(f):
            made = layers(name, f, seed)
        elif name.startswith("whet.optim."):
            made = optimizers(name, f)
        elif name.startswith("whet.distributions."):
            made = distributions(name, f)
        elif name.startswith("whet.func."):
            made = transforms(name, f)
        else:
            yield name, of_samples(name, f)
            made = drawn(name, draw, seed)
        yield name, itertools.islice(filter(taken, made), DRAWN)
    for name, cls in vars(whet.optim.lr_scheduler).items():
        path = f"whet.optim.lr_scheduler.{name}"
        if (inspect.isclass(cls) and name[0] != "_" and hasattr(cls, "step")
                and (not only or path.startswith(tuple(only)))):
            yield path, filter(taken, schedulers(path, cls))


def taken(form):
    """Does eager take it?"""
    try:
        call, _ = form.begin()
        args, kwargs = form.make()
        call(*args, **kwargs)
    except Exception:
        return False
    return True


def sweep(only=(), part=(0, 1), seed=0, most=10**9, sizes=False):
    """(counts, what is wrong) of a part of all forms. `sizes`: in calls of many sizes."""
    count, wrong = {"forms": 0, "replayed": 0, "differ by themselves": 0}, []
    with generous(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (_, some) in enumerate(forms(only, seed)):
            if k % part[1] != part[0]:
                continue
            for form in itertools.islice(some, most):
                for turns in of_sizes(form) if sizes else [TURNS]:
                    why = compared(form, count, turns)
                    if why:
                        wrong.append(why)
                        print(why, flush=True)
    return count, wrong


def main():
    faulthandler.enable()
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("only", nargs="*")
    a.add_argument("--part", default="0/1")
    a.add_argument("--seed", type=int, default=0)
    a.add_argument("--sizes", action="store_true")
    a = a.parse_args()
    k, n = map(int, a.part.split("/"))
    count, wrong = sweep(a.only, (k, n), a.seed, sizes=a.sizes)
    print(f"{count}, {len(wrong)} wrong")
    return int(bool(wrong))


if __name__ == "__main__":
    cache = os.path.join(os.path.dirname(__file__), "..", ".whet-cache")
    os.environ.setdefault("WHET_CACHE_DIR", cache)
    sys.exit(main())
