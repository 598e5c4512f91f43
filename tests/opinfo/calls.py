"""A call on both sides, and what came of it."""
import contextlib
import copy
import signal
import warnings
from unittest import mock

import torch
import whet

from .compare import same, shown
from .findings import (
    EQUAL,
    MATCHED,
    MISSING,
    OTHER,
    RAISED,
    SILENT,
    SKIPPED,
    VALUE,
    Differs,
    Finding,
    Missing,
)
from .translate import back, function, value

SECONDS = 30
DRAWS = 8
# how much further from the exact result than torch's largest error an element may be
FACTOR = 4


class Late(BaseException):
    """A call takes too long."""


def late(*_):
    raise Late


@contextlib.contextmanager
def limited(seconds=SECONDS):
    """Stop what takes longer."""
    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def copied(v):
    """An argument in memory of its own, with the same strides, as a leaf."""
    if isinstance(v, torch.Tensor):
        flat = torch.empty(0, dtype=v.dtype).set_(v.detach().untyped_storage()).clone()
        made = torch.as_strided(flat, v.shape, v.stride(), v.storage_offset())
        made = made.conj() if v.is_conj() else made
        return made.requires_grad_(v.requires_grad)
    if isinstance(v, dict):
        return {k: copied(x) for k, x in v.items()}
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*map(copied, v))
    if isinstance(v, list | tuple):
        return type(v)([copied(x) for x in v])
    return copy.copy(v) if isinstance(v, set) else v


def is_untranslatable(v):
    """Is there a sparse, quantized or nested tensor, or a module, among the arguments?"""
    if isinstance(v, torch.nn.Module):      # an instance inside of others' arguments
        return True
    if isinstance(v, torch.Tensor):
        return (v.ndim > 64 or v.layout is not torch.strided or v.is_quantized or v.is_nested
                or v.is_meta)
    if isinstance(v, dict):
        return any(map(is_untranslatable, v.values()))
    return isinstance(v, list | tuple) and any(map(is_untranslatable, v))


class Call:
    """A function of torch's with its arguments, to be made on either side."""

    def __init__(self, fn, args, kwargs=None):
        self.fn, self.args, self.kwargs = fn, args, kwargs or {}

    def __str__(self):
        inside = [shown(x) for x in self.args]
        inside += [f"{k}={shown(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(inside)})"

    def theirs(self, seed=0):
        if seed is not None:
            torch.manual_seed(seed)
        args, kwargs = copied(self.args), copied(self.kwargs)
        return self.fn(*args, **kwargs), args, kwargs

    def mine(self):
        fn = self.fn.translated() if hasattr(self.fn, "translated") else function(self.fn)
        args, kwargs = value(self.args), value(self.kwargs)
        return fn(*args, **kwargs), args, kwargs

    def in_double(self):
        """The same call in float64, or complex128."""
        return Call(self.fn, widened(self.args), widened(self.kwargs))


WIDER = {torch.float32: torch.float64, torch.float16: torch.float64,
         torch.bfloat16: torch.float64, torch.complex64: torch.complex128}


def widened(v):
    if isinstance(v, torch.Tensor):
        return v.detach().to(WIDER.get(v.dtype, v.dtype)).requires_grad_(v.requires_grad)
    if isinstance(v, dict):
        return {k: widened(x) for k, x in v.items()}
    if isinstance(v, list | tuple):
        return type(v)([widened(x) for x in v])
    return WIDER.get(v, v) if isinstance(v, torch.dtype) else v


def narrowed(v, like):
    """A result in float64 as the types of another."""
    if isinstance(v, torch.Tensor):
        return v.to(like.dtype)
    if isinstance(v, list | tuple):
        return tuple([narrowed(x, y) for x, y in zip(v, like)])
    return v


def outcome(part, name, what, call, check=same, alike=None):
    """Make a call on both sides, and say in which way the results differ. `alike` makes of a result
    what must be equal, where the result itself is one of several that are right."""
    said = str(call)
    if is_untranslatable(call.args) or is_untranslatable(call.kwargs):
        return Finding(part, name, what, SKIPPED, "an argument without a counterpart")
    try:
        with limited():
            theirs = call.theirs()[0]
    except (Exception, Late) as e:
        return Finding(part, name, what, SKIPPED, f"torch raises {type(e).__name__}")
    try:
        with limited():
            mine = call.mine()[0]
    except Missing as e:
        return Finding(part, name, what, MISSING, str(e))
    except (Exception, Late) as e:
        if isinstance(e, AttributeError) and (e.name or "").startswith("_"):
            return Finding(part, name, what, SKIPPED, f"the sample reads a private {e.name}")
        return Finding(part, name, what, RAISED, f"{type(e).__name__}: {str(e)[:200]} in {said}")
    try:
        check(theirs, mine)
    except Differs as e:
        if is_at_fault(call, theirs):
            return Finding(part, name, what, SKIPPED, "torch's own two results differ")
        if e.kind == VALUE:
            try:
                reason = excused(call, theirs, mine, check, alike)
            except Late:        # a machine with much else to do
                reason = "to ask torch again takes too long"
            if reason:
                return Finding(part, name, what, EQUAL if reason == EQUAL else SKIPPED, reason)
        return Finding(part, name, what, e.kind, f"{e} in {said}")
    return Finding(part, name, what, EQUAL)


def is_at_fault(call, theirs):
    """Does torch contradict itself, as far as can be seen in the time of a call?"""
    try:
        with limited():
            return hasattr(call.fn, "is_at_fault") and call.fn.is_at_fault(theirs, call)
    except Late:
        return False


def excused(call, theirs, mine, check, alike):
    """Why other values are right too: torch's are random, or further from those in float64, or one
    of several."""
    def holds(a, b):
        try:
            check(a, b)
        except (Differs, Missing):
            return False
        return True
    with limited():
        # some samples set a seed themselves
        with mock.patch("torch.manual_seed"):
            # another draw of few numbers may be the same, and some samples put the state back
            for seed in range(DRAWS):
                torch.default_generator.manual_seed(seed)
                if not holds_in_torch(theirs, call.theirs(seed=None)[0]):
                    return "random"
        try:
            exact = call.in_double().theirs()[0]
            if holds(narrowed(exact, theirs), mine) or is_as_near(exact, theirs, mine):
                return EQUAL
        except Exception:       # an entry of the list that has no form in float64
            pass
        if alike is not None:
            try:
                if holds(alike(theirs), value(alike)(mine)):
                    return EQUAL
            except Exception:   # the form is for tensors that want gradients
                pass
    return None


def is_as_near(exact, theirs, mine):
    """Is whet's result no further from the one in float64 than FACTOR times torch's largest
    error?"""
    if isinstance(exact, list | tuple):
        return all(map(is_as_near, exact, theirs, mine))
    if exact is None or not isinstance(exact, torch.Tensor):
        return True
    mine = back(mine).to(exact.dtype)
    error = (theirs.to(exact.dtype) - exact).abs().nan_to_num().max()
    return torch.equal(mine.isnan(), exact.isnan()) and bool(
        ((mine - exact).abs().nan_to_num() <= FACTOR * error).all())


def holds_in_torch(a, b):
    try:
        torch.testing.assert_close(a, b, equal_nan=True)
    except (AssertionError, TypeError):
        return False
    return True


def error_outcome(part, name, what, call, wanted):
    """Does a call that torch refuses raise an error of the same type?"""
    if is_untranslatable(call.args) or is_untranslatable(call.kwargs):
        return Finding(part, name, what, SKIPPED, "an argument without a counterpart")
    said = str(call)
    try:
        with limited():
            call.theirs()
        return Finding(part, name, what, SKIPPED, "torch does not raise")
    except (Exception, Late) as e:
        theirs = e
    text = f"{type(theirs).__name__}: {str(theirs).splitlines()[0][:160] if str(theirs) else ''}"
    try:
        with limited():
            mine = call.mine()[0]
    except Missing as e:
        return Finding(part, name, what, MISSING, str(e))
    except (Exception, Late) as e:
        if isinstance(e, wanted) or isinstance(e, type(theirs)):
            return Finding(part, name, what, MATCHED)
        return Finding(part, name, what, OTHER,
                       f"{type(e).__name__}: {str(e)[:160]}, but torch has {text} in {said}")
    if takes_more(call, theirs):
        return Finding(part, name, what, SKIPPED, "a number for a tensor, as the array API has it")
    return Finding(part, name, what, SILENT, f"gives {shown(mine)}, but torch has {text} in {said}")


def takes_more(call, error):
    """Would torch take the call with tensors in the place of its numbers? whet takes both."""
    if not isinstance(error, TypeError):
        return False
    args = [torch.as_tensor(x) if isinstance(x, int | float) else x for x in call.args]
    try:
        Call(call.fn, args, call.kwargs).theirs()
    except Exception:       # it was not about the number
        return False
    return True


def reset():
    """Leave no mode behind that an entry may have set."""
    whet.set_grad_enabled(True)
    whet.set_default_dtype(whet.float32)
    torch.set_default_dtype(torch.float32)
