"""The list of operators: samples of all types, variants, gradients, errors."""
import itertools
import warnings

import torch
import whet
from torch.testing._internal.common_methods_invocations import op_db

from .calls import Call, copied, error_outcome, holds_in_torch, outcome
from .compare import same
from .findings import MISSING, SKIPPED, Finding, Missing
from .translate import function

PART = "operators"
DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.complex64, torch.bfloat16,
          torch.float16, torch.uint8)
SAMPLES, VARIANT_SAMPLES = 60, 12
# what has no public name, or a meaning for torch's own compilers and devices alone
PRIVATE = ("_", "ops.", "torch.", "to_sparse", "sparse.", "jiterator", "nested")


def names():
    """All entries with a public name, each once for each of its variants."""
    return {f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name: op
            for op in op_db if is_public(op)}


def is_public(op):
    """Is it an operator that users call by its name?"""
    return (not op.name.startswith(PRIVATE) and not op.name.endswith("_backward")
            and "torch._ops" not in type(op.op).__module__)


def findings(name):
    """What all calls of an entry gave."""
    op = names()[name]
    try:
        function(op.op)
    except Missing as e:
        yield Finding(PART, name, "samples", MISSING, str(e))
        return
    for dtype in DTYPES:
        if dtype in op.supported_dtypes("cpu"):
            yield from sampled(op, name, dtype)
    yield from gradients(op, name)
    yield from errors(op, name)


def some(samples, most):
    """Not more than `most` of them, from all over the list."""
    samples = list(samples)
    return samples[::max(1, -(-len(samples) // most))]


def inputs(op, dtype, requires_grad=False):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the method of the same name looks through the stack for each sample
        return list(op.sample_inputs_func(op, "cpu", dtype, requires_grad))


def sampled(op, name, dtype):
    """All samples of one type, and the variants of some."""
    kind = str(dtype).removeprefix("torch.")
    check = check_of(op)
    for s in some(inputs(op, dtype), SAMPLES):
        call = Call(op.op, (s.input, *s.args), s.kwargs)
        yield outcome(PART, name, f"samples {kind}", call, check, s.output_process_fn_grad)
    if "empty" in name or dtype not in (torch.float32, torch.int64):
        return
    for s in some(inputs(op, dtype), VARIANT_SAMPLES):
        for what, call in variants(op, s):
            yield outcome(PART, name, f"{what} {kind}", call, check,
                          s.output_process_fn_grad)


def without_values(theirs, mine):
    """The check of what memory that nobody has written to holds."""
    same(theirs, mine, check_values=False)


def without_positions(theirs, mine):
    """The check of values that were found: among equal elements any position may be named."""
    same(theirs, mine, check_values=False)
    if isinstance(theirs, tuple | list) and theirs:
        nested = isinstance(theirs[0], tuple | list)
        (without_positions if nested else same)(theirs[0], mine[0])


UNORDERED = frozenset(("sort", "argsort", "topk", "kthvalue", "mode"))


def check_of(op):
    """What must be the same of the results of an operator."""
    if "empty" in op.name:
        return without_values
    return without_positions if op.name in UNORDERED else same


def variants(op, s):
    """The same call as a method, an operator, in place, by other names and with `out=`."""
    args = (s.input, *s.args)
    for what, fn in (("method", op.method_variant), ("operator", op.operator_variant),
                     *[("alias", a.op) for a in op.aliases]):
        if fn is not None and not isinstance(s.input, list | tuple):
            yield what, Call(fn, args, s.kwargs)
    for fn in (op.inplace_variant, op.inplace_operator_variant):
        if fn is not None and not s.broadcasts_input:
            yield "inplace", Call(InPlace(fn), args, s.kwargs)
    if op.supports_out and "out" not in s.kwargs:
        for form in (empty_like_result, strided_like_result, of_another_type):
            yield "out", Call(WithOut(op.op, form), args, s.kwargs)


class InPlace:
    """A function that gives what it returned, and what became of its first argument."""
    def __init__(self, fn):
        self.fn = fn

    def __call__(self, x, *args, **kwargs):
        y = self.fn(x, *args, **kwargs)
        return y, x, y is x

    def translated(self):
        return InPlace(function(self.fn))


def empty_like_result(y):
    return y.new_empty(0)


def strided_like_result(y):
    return y.new_zeros((*y.shape, 2))[..., 0]


def of_another_type(y):
    """A type that results of most types fit into."""
    library = torch if isinstance(y, torch.Tensor) else whet
    return y.new_zeros(tuple(y.shape), dtype=library.float64)


class WithOut:
    """A function that is called a second time, with `out=` of a form."""
    def __init__(self, fn, form):
        self.fn, self.form = fn, form

    def __call__(self, *args, **kwargs):
        y = self.fn(*args, **kwargs)
        several = isinstance(y, tuple | list)
        out = tuple(map(self.form, y)) if several else self.form(y)
        returned = self.fn(*args, **kwargs, out=out)
        is_out = all(a is b for a, b in zip(returned, out)) if several else returned is out
        # in the type that was computed in: another one has bounds of its own
        return ([a.to(b.dtype) for a, b in zip(out, y)] if several else out.to(y.dtype)), is_out

    def is_at_fault(self, theirs, call):
        """Is what torch itself writes there not what it returns without?"""
        plain = Call(self.fn, call.args, call.kwargs).theirs()[0]
        return not holds_in_torch(list(plain) if isinstance(plain, tuple) else plain, theirs[0])

    def translated(self):
        return WithOut(function(self.fn), self.form)


def gradients(op, name):
    """First derivatives, in float64 and complex128."""
    if not op.supports_autograd:
        return
    for dtype in (torch.float64, torch.complex128):
        if dtype not in op.supported_backward_dtypes("cpu"):
            continue
        for s in some(inputs(op, dtype, requires_grad=True), SAMPLES // 2):
            call = Call(Gradient(op.gradcheck_wrapper, op.op, s.output_process_fn_grad),
                        (s.input, *s.args), s.kwargs)
            yield outcome(PART, name, f"gradient {str(dtype).removeprefix('torch.')}", call)


class Gradient:
    """The gradients of all arguments that want one, for a seeded gradient of the results."""
    def __init__(self, wrapper, fn, process, library=torch):
        self.wrapper, self.fn, self.process, self.library = wrapper, fn, process, library

    def __call__(self, *args, **kwargs):
        y = self.process(self.wrapper(self.fn, *args, **kwargs))
        tensor = self.library.Tensor
        outs = [t for t in leaves(y, tensor) if t.requires_grad]
        wanted = [t for t in leaves((args, kwargs), tensor) if t.requires_grad]
        if not outs:
            return len(outs)
        return self.library.autograd.grad(outs, wanted, [cotangent(t, self.library) for t in outs],
                                          allow_unused=True)

    def is_at_fault(self, _theirs, call):
        """Are torch's own gradients not the slopes of what it computes?"""
        args, kwargs = copied(call.args), copied(call.kwargs)

        def outs(*_):
            found = leaves(self.process(self.wrapper(self.fn, *args, **kwargs)), torch.Tensor)
            return tuple([t for t in found if t.requires_grad])
        wanted = [t for t in leaves((args, kwargs), torch.Tensor) if t.requires_grad]
        return not torch.autograd.gradcheck(outs, wanted, raise_exception=False)

    def translated(self):
        return Gradient(function(self.wrapper), function(self.fn), function(self.process), whet)


def leaves(v, tensor):
    """The tensors in nested arguments, in order."""
    if isinstance(v, tensor):
        return [v]
    if isinstance(v, dict):
        v = list(v.values())
    return list(itertools.chain(*[leaves(x, tensor) for x in v])) if isinstance(
        v, list | tuple) else []


def cotangent(t, library):
    """Numbers that depend on nothing but the shape."""
    n = library.arange(t.numel(), dtype=library.float64).reshape(tuple(t.shape))
    g = (n * 0.7).sin() + 0.3
    return (g + 1j * (n * 0.4).cos()).to(t.dtype) if t.is_complex() else g.to(t.dtype)


def errors(op, name):
    """Inputs that must raise."""
    if op.error_inputs_func is None:
        return
    try:
        torch.manual_seed(0)
        found = list(op.error_inputs_func(op, "cpu"))
    except Exception as e:      # a list that cannot be made on this machine
        yield Finding(PART, name, "errors", SKIPPED, f"{type(e).__name__}: {e}")
        return
    for e in found:
        s = e.sample_input
        yield error_outcome(PART, name, "errors", Call(op.op, (s.input, *s.args), s.kwargs),
                            e.error_type)

