"""The list of modules: results, gradients of inputs and parameters, state, text, errors."""
import contextlib
import functools
from unittest import mock

import torch
import whet
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db

from .calls import Call, error_outcome, outcome
from .findings import MISSING, SKIPPED, Finding, Missing
from .operators import cotangent, leaves
from .translate import function, value

PART = "modules"
DTYPES = (torch.float32, torch.float64)


def names():
    """All modules by name."""
    return {m.name: m for m in module_db}


def findings(name):
    """What all calls of a module gave."""
    info = names()[name]
    try:
        function(info.module_cls)
    except Missing as e:
        yield Finding(PART, name, "forward", MISSING, str(e))
        return
    for dtype in DTYPES:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        for training in (True, False):
            torch.manual_seed(0)
            try:
                with remembered():
                    samples = list(info.module_inputs_func(info, "cpu", dtype, True, training))
            except Exception as e:      # a list that cannot be made for this type
                yield Finding(PART, name, "forward", SKIPPED, f"{type(e).__name__}: {e}")
                continue
            for s in samples:
                yield outcome(PART, name, f"forward {str(dtype).removeprefix('torch.')}",
                              call_of(info.module_cls, s, dtype, training))
    if info.module_error_inputs_func is not None:
        for e in info.module_error_inputs_func(info, "cpu", torch.float32, False, False):
            yield error(info.module_cls, name, e)


@contextlib.contextmanager
def remembered():
    """Modules that are made meanwhile keep the arguments that they are made with."""
    def keeping(init):
        @functools.wraps(init)
        def call(self, *args, **kwargs):
            vars(self).setdefault("made_with", (args, kwargs))
            init(self, *args, **kwargs)
        return call
    with contextlib.ExitStack() as stack:
        for cls in {m.module_cls for m in module_db}:
            stack.enter_context(mock.patch.object(cls, "__init__", keeping(cls.__init__)))
        yield


def call_of(cls, s, dtype, training):
    """A module made, called and differentiated."""
    made = s.constructor_input
    forward = s.forward_input
    return Call(ModuleRun(cls, made.args, made.kwargs, dtype, training),
                forward.args, forward.kwargs)


def error(cls, name, e):
    """Does the constructor, or the call, raise the same?"""
    made, forward = e.module_error_input.constructor_input, e.module_error_input.forward_input
    if e.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR:
        return error_outcome(PART, name, "errors", Call(cls, made.args, made.kwargs), e.error_type)
    run = ModuleRun(cls, made.args, made.kwargs, torch.float32, True)
    return error_outcome(PART, name, "errors", Call(run, forward.args, forward.kwargs),
                         e.error_type)


class ModuleRun:
    """Makes a module whose parameters are the same numbers on both sides, and calls it."""

    def __init__(self, cls, args, kwargs, dtype, training, library=torch):
        self.cls, self.args, self.kwargs, self.dtype = cls, args, kwargs, dtype
        self.training, self.library = training, library

    def __call__(self, *args, **kwargs):
        module = self.cls(*self.args, **self.kwargs).train(self.training).to(self.dtype)
        text = repr(module)
        if any(library_lazy(p) for p in module.parameters()):
            module(*args, **kwargs)
        with self.library.no_grad():
            for p in module.parameters():
                p.copy_(cotangent(p, self.library) * 0.3)
        y = module(*args, **kwargs)
        outs = [t for t in leaves(y, self.library.Tensor) if t.requires_grad]
        wanted = [t for t in leaves((args, kwargs), self.library.Tensor) if t.requires_grad]
        wanted += [p for p in module.parameters() if p.requires_grad]
        grads = self.library.autograd.grad(
            outs, wanted, [cotangent(t, self.library) for t in outs],
            allow_unused=True) if outs and wanted else ()
        return y, grads, dict(module.state_dict()), text

    def translated(self):
        return ModuleRun(function(self.cls), value(self.args), value(self.kwargs),
                         value(self.dtype), self.training, whet)


def library_lazy(parameter):
    """Has it no shape before the first call?"""
    return "Uninitialized" in type(parameter).__name__
