"""`whet.compile`, under the name and with the options that PyTorch programs use. It
leads to `whet.jit.trace`."""

from typing import Any

from . import declared_for_tracing as _declared_for_tracing
from . import export_runs as _export_runs

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin",
           "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "reset", "set_stance"]


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None,
            options=None, name=None, disable=False, recompile_limit=None, isolate_recompiles=False,
            shapes_spec=None):
    """`whet.jit.trace` of a function or module. `fullgraph=True` is its `strict=True`; the rest but
    `disable` changes nothing: there is one compiler, and shapes are recorded as they come.

    >>> import whet
    >>> @whet.compile
    ... def f(x):
    ...     return x.sin() + 1
    >>> f(whet.zeros(2))
    tensor([1., 1.])
    """
    from . import jit
    if model is None:
        return lambda fn: compile(fn, fullgraph=fullgraph, dynamic=dynamic, backend=backend,
                                  mode=mode, options=options, disable=disable)
    return model if disable else jit.trace(model, strict=bool(fullgraph))


class CompiledForward:
    """The `forward` of a module that `Module.compile` was called of.

    >>> import whet
    >>> model = whet.nn.Linear(2, 1)
    >>> model.compile()
    >>> model(whet.ones(1, 2)).shape
    whet.Size([1, 1])
    """

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.compiled = None

    def __call__(self, *args, **kwargs):
        if self.compiled is None:            # in a copy: once the module is whole
            forward = type(self.module).forward.__get__(self.module)
            self.compiled = compile(forward, *self.args, **self.kwargs)
        return self.compiled(*args, **kwargs)

    def __reduce__(self):
        return CompiledForward, (self.module, self.args, self.kwargs)


@_declared_for_tracing.goes_by_no_size
def is_compiling():
    """False, as in eager mode: what a traced function does must not depend on its being traced.

    >>> import whet
    >>> whet.jit.trace(lambda x: x * (3 if whet.compiler.is_compiling() else 2))(whet.ones(2))
    tensor([2., 2.])
    """
    return False


def disable(fn=None, recursive=True, *, reason=None):
    """A function that is not recorded: here any may be, so it is the function itself.

    >>> import whet
    >>> @whet.compiler.disable
    ... def f(x):
    ...     return x + 1
    >>> f(whet.ones(2))
    tensor([2., 2.])
    """
    return fn if fn is not None else lambda f: f


is_dynamo_compiling = is_compiling


@_declared_for_tracing.goes_by_no_size
def is_exporting():
    """Is this run one that `whet.export` makes? Programs ask, to leave out what depends on data.

    >>> import whet
    >>> whet.compiler.is_exporting()
    False
    >>> asks = whet.export(lambda x: x * 2 if whet.compiler.is_exporting() else x, whet.ones(1))
    >>> asks(whet.ones(1))
    tensor([2.])
    """
    return _export_runs.is_exporting()


def allow_in_graph(fn):
    """A mark for a compiler: the function itself.

    >>> import whet
    >>> @whet.compiler.allow_in_graph
    ... def f(x):
    ...     return x + 1
    >>> f(whet.ones(2))
    tensor([2., 2.])
    """
    return fn


assume_constant_result = allow_in_graph


def cudagraph_mark_step_begin():
    """Nothing: launches are recorded without graphs of CUDA's.

    >>> import whet
    >>> whet.compiler.cudagraph_mark_step_begin()
    """


def reset():
    """Forget what was compiled: recordings go with their functions, so there is nothing to do.

    >>> import whet
    >>> whet.compiler.reset()
    """


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of compilers: there is one, and other names lead to it.

    >>> import whet
    >>> whet.compiler.list_backends()
    ['inductor']
    """
    return ["inductor"]


class set_stance:
    """How compiled functions are called: "force_eager" calls the functions themselves, "default" is
    the end of that; "fail_on_recompile" and its like change nothing. As a statement or a context.

    >>> import whet
    >>> f = whet.compile(lambda x: x + 1)
    >>> with whet.compiler.set_stance("force_eager"):
    ...     f(whet.ones(1))
    tensor([2.])
    >>> f.explain(data=True)["calls"]["recorded"]
    0
    """
    STANCES = frozenset(("default", "force_eager", "eager_on_recompile", "fail_on_recompile",
                         "eager_then_compile", "aot_eager_then_compile"))
    _off: Any = None                 # what keeps functions eager, where a statement asked for it

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self.STANCES:
            raise RuntimeError(f"invalid stance '{stance}'")
        self.before = set_stance._off
        self._put(stance == "force_eager")

    @staticmethod
    def _put(is_off):
        from . import jit
        if is_off and set_stance._off is None:
            set_stance._off = jit.disable()
            set_stance._off.__enter__()
        elif not is_off and set_stance._off is not None:
            off, set_stance._off = set_stance._off, None
            off.__exit__()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._put(self.before is not None)


def _assert(condition, message):
    """`assert`, as programs write it where PyTorch's tracer is to see it."""
    if not condition:
        raise AssertionError(message)


# ---- checks --------------------------------------------------------------------------------------
def _check_with(error, condition, message=None):
    """Raise an error where a condition does not hold; `message` is called for its words."""
    if not condition:
        raise error("Expected cond to be True, but got False. (Could this error message be "
                    "improved?  If so, please report an enhancement request to whet.)"
                    if message is None else str(message()))


def _check(cond, message=None):
    """RuntimeError where a condition does not hold."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """IndexError where a condition does not hold."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """ValueError where a condition does not hold."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """TypeError where a condition does not hold."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """NotImplementedError where a condition does not hold."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError where a number is no size."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all_with(error, cond, message=None):
    """Raise an error where a condition does not hold for all elements."""
    _check_with(error, cond.all().item(), message)


def _check_tensor_all(cond, message=None):
    """RuntimeError where a condition does not hold for all elements."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """RuntimeError where a tensor of one element is zero."""
    if not input.item():
        raise RuntimeError(assert_msg)
