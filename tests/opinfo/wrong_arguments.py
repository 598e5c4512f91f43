"""The samples of the list of operators with something wrong in the place of one argument: where
torch raises, an error of the same type is raised; where it does not, the results are equal."""
import torch

from . import operators
from .calls import Call, error_outcome, outcome
from .findings import SILENT, SKIPPED, Finding, Missing
from .translate import function

PART = "wrong_arguments"
SAMPLES = 3
names = operators.names


# Torch's Python functions look at what they are given. What it has no kernel for may also be wrong
# for another reason.
WANTED = {AttributeError: (TypeError,), NotImplementedError: (RuntimeError,)}


def findings(name):
    """What all wrong calls of an entry gave."""
    op = names()[name]
    try:
        function(op.op)
    except Missing:
        return                               # the list of operators says so
    dtype = next((d for d in (torch.float32, torch.int64, torch.bool)
                  if d in op.supported_dtypes("cpu")), None)
    if dtype is None:
        return
    for s in operators.some(operators.inputs(op, dtype), SAMPLES):
        args = (s.input, *s.args)
        for what, wrong_args, wrong_kwargs in wrong_calls(args, s.kwargs):
            call = Call(op.op, wrong_args, wrong_kwargs)
            theirs = torchs_error(call)
            if theirs is None:
                yield outcome(PART, name, what, call, operators.check_of(op))
            else:
                wanted = WANTED.get(type(theirs), ())
                found = error_outcome(PART, name, what, call, wanted)
                if found.kind == SILENT and isinstance(theirs, NotImplementedError):
                    found = Finding(PART, name, what, SKIPPED, "torch has no kernel for the type")
                yield found


def torchs_error(call):
    """What torch raises for a call, or None."""
    try:
        call.theirs()
    except Exception as e:      # of whatever kind
        return e
    return None


def wrong_calls(args, kwargs):
    """Each argument replaced in turn, left out, or given by a name that there is not."""
    for i, x in enumerate(args):
        for what, y in wrong_values(x):
            yield what, (*args[:i], y, *args[i + 1:]), kwargs
    for k, x in kwargs.items():
        for what, y in wrong_values(x):
            yield what, args, {**kwargs, k: y}
    if len(args) > 1:
        yield "too few", args[:-1], kwargs
    yield "too many", (*args, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), kwargs
    yield "unknown name", args, {**kwargs, "no_such_argument": 1}


def wrong_values(x):
    """What else may come where `x` belongs, by what it is."""
    if isinstance(x, torch.Tensor):
        yield from (("None for a tensor", None), ("text for a tensor", "x"),
                    ("a list for a tensor", [x]))
        for dtype in (torch.bool, torch.int64, torch.complex64, torch.float64):
            if x.dtype != dtype:
                yield "another type", x.detach().to(dtype)
        yield "a dimension more", x.detach()[None]
        if x.ndim:
            yield "a dimension less", x.detach().select(0, 0) if x.shape[0] else x.detach().sum(0)
            yield "a longer tensor", torch.cat([x.detach(), x.detach()[..., :1]], -1)
            yield "an empty tensor", x.detach()[..., :0]
    elif isinstance(x, bool):
        yield from (("text for a bool", "x"), ("None for a bool", None))
    elif isinstance(x, int):
        yield from (("a large number", 99), ("a negative number", -99), ("a fraction", 1.5),
                    ("text for a number", "x"), ("None for a number", None))
    elif isinstance(x, float):
        yield from (("text for a number", "x"), ("None for a number", None))
    elif isinstance(x, str):
        yield from (("another text", "no such"), ("a number for a text", 3))
    elif isinstance(x, list | tuple) and x and all(type(n) is int for n in x):
        kind = type(x) if type(x) in (list, tuple) else tuple
        yield from (("a longer list", kind([*x, 99])), ("a shorter list", kind(x[1:])),
                    ("a negative size", kind([-5, *x[1:]])), ("fractions", kind([1.5, *x[1:]])),
                    ("texts", kind(["x", *x[1:]])))
