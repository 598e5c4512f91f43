"""The list of optimizers: parameters and state after some steps, with schedules, and errors."""
import warnings

import torch
import whet
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

from .calls import Call, error_outcome, outcome
from .findings import MISSING, Finding, Missing
from .operators import cotangent
from .translate import function, value

PART = "optimizers"
STEPS = 6


def names():
    """All optimizers by name."""
    return {o.name: o for o in optim_db}


def findings(name):
    """What all runs of an optimizer gave."""
    info = names()[name]
    try:
        function(info.optim_cls)
    except Missing as e:
        yield Finding(PART, name, "steps", MISSING, str(e))
        return
    for s in info.optim_inputs_func("cpu"):
        for form in ({}, *({impl: True} for impl in info.supported_impls if impl != "fused")):
            kwargs = {**s.kwargs, **form}
            yield outcome(PART, name, " ".join(["steps", *form]),
                          Call(Steps(info.optim_cls, (), info.only_supports_sparse_grads), (),
                               kwargs))
    for schedules in info.scheduler_inputs:
        yield outcome(PART, name, "schedules",
                      Call(Steps(info.optim_cls, schedules, info.only_supports_sparse_grads), (),
                           {"lr": 0.01}))
    for e in (info.optim_error_inputs_func("cpu", torch.float32)
              if info.optim_error_inputs_func else ()):
        made = e.optimizer_error_input
        run = Steps(info.optim_cls, (), False, params=made.params)
        fn = run if e.error_on is OptimizerErrorEnum.STEP_ERROR else Construction(
            info.optim_cls, made.params)
        yield error_outcome(PART, name, "errors", Call(fn, (), made.kwargs), e.error_type)


class Construction:
    """Makes an optimizer, where warnings are errors."""

    def __init__(self, cls, params, library=torch):
        self.cls, self.params, self.library = cls, params, library

    def __call__(self, **kwargs):
        params = self.params
        if params is None:
            params = [self.library.nn.Parameter(self.library.ones(1, 1))]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return self.cls(params, **kwargs)

    def translated(self):
        return Construction(function(self.cls), shared(self.params), whet)


def shared(params):
    """Parameters as whet's, the same one wherever it was the same."""
    made = {}

    def one(v):
        if isinstance(v, torch.Tensor):
            return made.setdefault(id(v), value(v))
        if isinstance(v, dict):
            return {k: one(x) for k, x in v.items()}
        return type(v)([one(x) for x in v]) if isinstance(v, list | tuple) else v
    return one(params)


class Steps:
    """Some steps down a slope that is the same on both sides."""

    def __init__(self, cls, schedules, sparse, params=None, library=torch):
        self.cls, self.schedules, self.sparse = cls, schedules, sparse
        self.params, self.library = params, library

    def __call__(self, **kwargs):
        lib = self.library
        params = self.params
        if params is None:
            params = [lib.nn.Parameter(cotangent(lib.zeros(shape, dtype=lib.float64), lib))
                      for shape in ((3, 4), (4, 2))]
        optimizer = self.cls(params, **kwargs)
        schedules = [s(optimizer) for s in self.schedules]
        rates = []

        def closure():
            optimizer.zero_grad()
            loss = sum(((p * p).sin() * (i + 1)).sum() for i, p in enumerate(params))
            loss.backward()
            if self.sparse and lib is torch:    # whet's gradients are dense
                for p in params:
                    p.grad = p.grad.to_sparse()
            return loss
        for _ in range(STEPS):
            loss = optimizer.step(closure)
            for s in schedules:
                s.step(loss) if "Plateau" in type(s).__name__ else s.step()
            rates.append(float(optimizer.param_groups[0]["lr"]))
        state = optimizer.state_dict()
        return ([p.detach() for p in params], rates,
                {k: plain(v) for k, v in state["state"].items()},
                [sorted(g) for g in state["param_groups"]])

    def translated(self):
        return Steps(function(self.cls), value(list(self.schedules)), self.sparse,
                     shared(self.params), whet)


def plain(state):
    """The state of one parameter, by name."""
    return {k: state[k] for k in sorted(state, key=str)}
