"""Operators of one's own: `whet.library.custom_op`.

An operator is a function of tensors with a name, and rules that are registered for it afterwards:
its gradients, what a batch of calls is, what its results look like. A call of one with gradients is
one `autograd.Function`, so traces, transforms and the engine take it as they take those.
"""
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from . import dispatch_keys, op_schemas, ops
from .amp import autocast, is_autocast_available, is_autocast_enabled
from .autograd import inplace, modes
from .autograd.function import Function
from .dtypes import as_dtype
from .inferred_schemas import infer_schema
from .operator_arguments import Arguments, Parameters, cast_floats, check_signature
from .ops.dispatch_observers import call_custom
from .ops.join import stack
from .tensor import Tensor

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "impl", "impl_abstract", "infer_schema",
    "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
    "register_vmap", "triton_op", "wrap_triton"]
_DEFINED: dict[str, "CustomOpDef"] = {}


def custom_op(name: str, fn: Callable[..., Any] | None = None, /, *,
              mutates_args: str | Sequence[str], device_types: Any = None,
              schema: str | None = None, tags: Any = None) -> Any:
    """Make an operator of a function of tensors. `mutates_args` names the arguments that it writes
    to; it may return no argument. It is `whet.ops.NAMESPACE.NAME`, too.

    >>> import numpy as np, whet
    >>> @whet.library.custom_op("mine::sine", mutates_args=())
    ... def sine(x: whet.Tensor) -> whet.Tensor:
    ...     return whet.from_numpy(np.sin(x.numpy()))
    >>> sine.register_autograd(
    ...     lambda ctx, g: g * ctx.saved_tensors[0].cos(),
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    >>> x = whet.zeros(2, requires_grad=True)
    >>> sine(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    def define(fn: Callable[..., Any]) -> "CustomOpDef":
        return CustomOpDef(name, fn, mutates_args, annotated=schema is None,
                           kinds=dispatch_keys.of_types(device_types))
    return define if fn is None else define(fn)


def triton_op(name: str, fn: Callable[..., Any] | None = None, /, *,
              mutates_args: str | Sequence[str], schema: str | None = None) -> Any:
    """Make an operator of a function that launches kernels of Triton's (`wrap_triton`) on tensors
    of a GPU, and else consists of our ops. On `meta` it gives results without elements; for the CPU
    `register_kernel("cpu")` gives it another function.

    >>> import whet
    >>> @whet.library.triton_op("mine::ones_of", mutates_args=())
    ... def ones_of(x: whet.Tensor) -> whet.Tensor:
    ...     out = whet.ones_like(x)              # here, wrap_triton(kernel)[grid](x, out, ...)
    ...     return out
    >>> ones_of(whet.zeros(2))
    tensor([1., 1.])
    """
    def define(fn: Callable[..., Any]) -> "CustomOpDef":
        made = CustomOpDef(name, fn, mutates_args, annotated=schema is None,
                           kinds=dispatch_keys.of_types(None))
        made.register_fake(fn)
        # a kernel knows where elements lie: it has no form for tensors of a transform
        made.register_vmap(lambda info, in_dims, *args: _one_by_one(made, info, in_dims, args))
        return made
    return define if fn is None else define(fn)


def _one_by_one(op: "CustomOpDef", info: Any, in_dims: Sequence[Any], args: Sequence[Any]) -> Any:
    """A batch of calls, each by itself; results are stacked."""
    def of(x: Any, dim: Any, i: int) -> Any:
        if isinstance(dim, list | tuple):
            return [of(y, d, i) for y, d in zip(x, dim)]
        return x if dim is None else x.select(dim, i)
    found = [op(*[of(x, dim, i) for x, dim in zip(args, in_dims)])
             for i in range(info.batch_size)]
    if not isinstance(found[0], list | tuple):
        return stack(found), 0
    return type(found[0])([stack(each) for each in zip(*found)]), (0,) * len(found[0])


def wrap_triton(triton_kernel: Callable[..., Any], /) -> Any:
    """What launches a Triton kernel on tensors of a GPU: `wrap_triton(kernel)[grid](...)`. It
    is one of `triton.jit`, `triton.autotune` or `triton.heuristics`.

    >>> import whet
    >>> whet.library.wrap_triton(len)
    Traceback (most recent call last):
    RuntimeError: wrap_triton only works on functions annotated with triton.jit or triton.autotune
    """
    from .cuda.triton_kernels import wrapped
    return wrapped(triton_kernel)


class CustomOpDef:
    """An operator that `custom_op` made. Called, it runs the function."""

    def __init__(self, name: str, fn: Callable[..., Any], mutates: str | Sequence[str],
                 annotated: bool, kinds: Sequence[str]):
        space, _, own = name.partition("::")
        if not (space.isidentifier() and own.isidentifier()):
            raise ValueError(f"custom_op: a name is `namespace::name`, not {name!r}")
        signature = inspect.signature(fn)
        check_signature(name, signature, mutates, annotated)
        self._parameters = Parameters.of(name, signature)
        self._qualname, self.__doc__ = name, fn.__doc__
        # kind of devices -> function
        self._functions = dict.fromkeys(kinds, fn)
        self.__name__ = own
        self._mutates = mutates
        self._backward: Any = None
        self._setup: Any = None
        self._batched: Any = None
        # kind of devices -> the type of tensors under autocast
        self._autocast: dict[str, Any] = {}
        # a function that is called as it is, with the gradients of what it does
        self._composite: Any = None
        self._kernel = self._made()
        _DEFINED[name] = self
        setattr(namespace(space), own, self)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    @property
    def default(self) -> "CustomOpDef":
        """The one form that it has."""
        return self

    # ---- rules ----
    def register_autograd(self, backward: Callable[..., Any], /, *,
                          setup_context: Callable[..., Any] | None = None) -> None:
        """Say what the gradients are: `backward(ctx, *grads)` gives one for each argument, with
        what `setup_context(ctx, inputs, output)` kept."""
        if self._mutates:
            raise RuntimeError(
                "Cannot register autograd formula for non-functional operator "
                f"{self._qualname}. Please create a functional operator and register an autograd "
                "formula for that.")
        self._backward, self._setup = backward, setup_context
        self._kernel = self._made()

    def register_vmap(self, func: Any = None, /) -> Any:
        """Say what a batch of calls is: `func(info, in_dims, *args)` gives (result, out_dims)."""
        def register(func: Callable[..., Any]) -> Callable[..., Any]:
            self._batched = func
            self._kernel = self._made()
            return func
        return register if func is None else register(func)

    def register_fake(self, fn: Any, /) -> Any:
        """Say what the results look like, of what the arguments look like: the function for
        tensors on `meta`. `opcheck` compares that with what comes; traces see what comes."""
        self._functions["meta"] = fn
        return fn

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Take another function for tensors of a kind of devices, or of several."""
        def register(fn: Callable[..., Any]) -> Callable[..., Any]:
            self._functions |= dict.fromkeys(dispatch_keys.of_types(device_types), fn)
            return fn
        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Under `autocast` of a kind of devices, give the function floating point tensors in the
        type `cast_inputs`, and run it without autocast. Float64 stays."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise ValueError(f"Unknown device type: {device_type}")
        if device_type in self._autocast:
            raise RuntimeError(f"{self._qualname} has an autocast rule for {device_type} already")
        self._autocast[device_type] = as_dtype(cast_inputs)

    def _give(self, fn: Callable[..., Any], kinds: Sequence[str]) -> None:
        if dispatch_keys.COMPOSITE in kinds:
            self._composite = fn
        self._functions |= {k: fn for k in kinds if k != dispatch_keys.COMPOSITE}

    # ---- calls ----
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for kind, dtype in self._autocast.items():
            if is_autocast_enabled(kind):
                args, kwargs = cast_floats(args, kind, dtype), cast_floats(kwargs, kind, dtype)
                with autocast(kind, enabled=False):
                    return self._called(args, kwargs)
        return self._called(args, kwargs)

    def _called(self, args: Any, kwargs: Any) -> Any:
        call = Arguments(self._parameters, args, kwargs)
        if self._composite is not None:
            args, kwargs = call.filled(call.tensors)
            return self._composite(*args, **kwargs)
        if self._mutates:
            return self._run_writing(call)
        results = self._kernel.apply(call, *call.tensors)
        call.let_go()                        # The graph has what the rule saved.
        return call.results(results)

    def _run(self, call: Arguments, tensors: Sequence[Any]) -> Any:
        # the function is beneath gradients: it may ask for NumPy arrays
        tensors = [t.detach() if t.requires_grad else t for t in tensors]
        args, kwargs = call.filled(tensors)
        function = dispatch_keys.chosen(self._qualname, self._functions, tensors)
        result = (call_custom(self, function, args, kwargs) if modes.state.observers
                  else function(*args, **kwargs))
        for r in result if isinstance(result, tuple | list) else (result,):
            if isinstance(r, Tensor) and any(r is t for t in tensors):
                raise RuntimeError(
                    f"{self._qualname} (with implementation in {function.__module__}): The "
                    "output of this custom operator may not also be an input to this custom "
                    "operator. Please return a clone.")
        return result

    def _run_writing(self, call: Arguments) -> Any:
        written = [
            t for t, name in zip(call.tensors, call.names)
            if self._mutates == "unknown" or name in self._mutates]
        for t in written:
            if t.requires_grad and modes.is_grad_enabled():
                inplace.check_writable(t, self._qualname)
        versions = [t._version for t in written]
        with modes.no_grad():
            result = self._run(call, call.tensors)
        for t, before in zip(written, versions):
            if t._version == before:             # through NumPy, which counts no versions
                t._bump(self._qualname)
        return result

    def _made(self) -> Any:
        """The Function that a call is, by the rules that there are."""
        op = self

        def forward(call: Any, *tensors: Any) -> Any:
            result = op._run(call, tensors)
            call.result_type = type(result)
            return tuple(result) if isinstance(result, list) else result

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.call, *tensors = inputs
            if op._setup is not None:
                args, kwargs = ctx.call.filled(tensors)
                keyword = {"keyword_only_inputs": kwargs} if kwargs else {}
                op._setup(ctx, inputs=tuple(args), output=ctx.call.results(output), **keyword)

        def backward(ctx: Any, *grads: Any) -> Any:
            if op._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._qualname} but no autograd formula was "
                    "registered. Please use register_autograd to add one.")
            passed = (list(grads),) if ctx.call.result_type is list else grads
            return (None, *ctx.call.gradients(op._qualname, op._backward(ctx, *passed)))

        def vmap(info: Any, in_dims: Any, call: Any, *tensors: Any) -> Any:
            args, _ = call.filled(tensors)
            dims, _ = call.filled(in_dims[1:], fill=None)
            return op._batched(info, tuple(dims), *args)
        methods: dict[str, Any] = {"forward": forward, "setup_context": setup_context,
                                   "backward": backward}
        if self._batched is not None:
            methods["vmap"] = vmap
        return type(self.__name__, (Function,), {k: staticmethod(f) for k, f in methods.items()})


# ---- by name -------------------------------------------------------------------------------------
def _find(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, str):
        raise ValueError(f"expected a custom operator or its name, got {type(op).__name__}")
    if op not in _DEFINED:
        raise RuntimeError(f"There is no custom operator {op}")
    return _DEFINED[op]


def register_autograd(op: Any, backward: Callable[..., Any], /, *,
                      setup_context: Callable[..., Any] | None = None, lib: Any = None) -> None:
    """`CustomOpDef.register_autograd` of an operator or of its name.

    >>> import whet
    >>> @whet.library.custom_op("docs::double", mutates_args=())
    ... def double(x: whet.Tensor) -> whet.Tensor:
    ...     return x * 2
    >>> whet.library.register_autograd("docs::double", lambda ctx, g: g * 2)
    >>> x = whet.ones(2, requires_grad=True)
    >>> double(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    _find(op).register_autograd(backward, setup_context=setup_context)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """`CustomOpDef.register_autocast` of an operator or of its name.

    >>> import whet
    >>> @whet.library.custom_op("docs::kind", mutates_args=())
    ... def kind(x: whet.Tensor) -> whet.Tensor:
    ...     return x.clone()
    >>> whet.library.register_autocast("docs::kind", "cpu", whet.bfloat16)
    >>> with whet.autocast("cpu"):
    ...     kind(whet.ones(2)).dtype
    whet.bfloat16
    """
    _find(op).register_autocast(device_type, cast_inputs)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """`CustomOpDef.register_vmap` of an operator or of its name.

    >>> import whet
    >>> @whet.library.custom_op("docs::triple", mutates_args=())
    ... def triple(x: whet.Tensor) -> whet.Tensor:
    ...     return x * 3
    >>> @whet.library.register_vmap("docs::triple")
    ... def batched(info, in_dims, x):
    ...     return triple(x), in_dims[0]
    >>> whet.vmap(triple)(whet.ones(2, 1)).tolist()
    [[3.0], [3.0]]
    """
    return _find(op).register_vmap(func)


def register_fake(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """`CustomOpDef.register_fake` of an operator or of its name.

    >>> import whet
    >>> @whet.library.custom_op("docs::rows", mutates_args=())
    ... def rows(x: whet.Tensor) -> whet.Tensor:
    ...     return x.sum(1)
    >>> @whet.library.register_fake("docs::rows")
    ... def look(x):
    ...     return x.new_empty(x.shape[0])
    >>> rows(whet.empty(3, 5, device="meta")).shape
    whet.Size([3])
    """
    found = _find(op)
    return found.register_fake if func is None else found.register_fake(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """`CustomOpDef.register_kernel` of an operator or of its name.

    >>> import whet
    >>> @whet.library.custom_op("docs::fourth", mutates_args=())
    ... def fourth(x: whet.Tensor) -> whet.Tensor:
    ...     return x * x * x * x
    >>> @whet.library.register_kernel("docs::fourth", "cpu")
    ... def on_the_cpu(x):
    ...     return x.square().square()
    >>> fourth(whet.tensor([2.0]))
    tensor([16.])
    """
    return _find(op).register_kernel(device_types, func)


impl_abstract = register_fake


# ---- by schema -----------------------------------------------------------------------------------
def define(qualname: Any, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Make an operator of a name and a schema, without a function: `impl` gives it one.

    >>> import whet
    >>> whet.library.define("mine::half", "(Tensor x) -> Tensor")
    >>> @whet.library.impl("mine::half", "cpu")
    ... def half(x):
    ...     return x / 2
    >>> whet.ops.mine.half(whet.ones(2))
    tensor([0.5000, 0.5000])
    """
    if isinstance(qualname, Library):
        qualname.define(schema)
        return
    _, signature, written = op_schemas.parsed(schema)

    def shape(*args: Any, **kwargs: Any) -> Any:
        """An operator that a schema describes."""
    shape.__signature__ = signature  # type: ignore[attr-defined]
    CustomOpDef(qualname, shape, written, annotated=False, kinds=())


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Give an operator its function for a kind of devices, or for all ("default"). Its gradients
    are those of what it does for "CompositeImplicitAutograd", and else `register_autograd` says
    them. Also `impl(lib, name, kind)`.

    >>> import whet
    >>> whet.library.define("docs::less", "(Tensor x, float by) -> Tensor")
    >>> @whet.library.impl("docs::less", "cpu")
    ... def less(x, by):
    ...     return x - by
    >>> whet.ops.docs.less(whet.ones(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    if isinstance(qualname, Library):
        name, kind = types, func or ""

        def give(fn: Callable[..., Any]) -> Callable[..., Any]:
            qualname.impl(name, fn, kind)
            return fn
        return give

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        _find(qualname)._give(fn, dispatch_keys.of_types(types))
        return fn
    return register if func is None else register(func)


class Library:
    """Operators of a namespace that are defined, or given functions, together.

    >>> import whet
    >>> lib = whet.library.Library("mine_too", "DEF")
    >>> lib.define("double(Tensor x) -> Tensor")
    'double'
    >>> lib.impl("double", lambda x: x * 2, "CompositeImplicitAutograd")
    >>> whet.ops.mine_too.double(whet.ones(1))
    tensor([2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Unsupported kind: {kind}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Make an operator of a schema that begins with its name, which is returned."""
        name, _, _ = op_schemas.parsed(schema)
        define(f"{self.ns}::{name}", schema)
        return name

    def impl(self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *,
             with_keyset: bool = False, allow_override: bool = False) -> None:
        """Give an operator its function (see `impl`)."""
        op = op_name if isinstance(op_name, CustomOpDef) else f"{self.ns}::{op_name}"
        _find(op)._give(fn, [dispatch_keys.of_key(dispatch_key or self.dispatch_key)])


# ---- checks --------------------------------------------------------------------------------------
def opcheck(op: Any, args: Sequence[Any], kwargs: Any = None) -> dict[str, str]:
    """Call an operator and compare it with what was said of it: arguments that it writes to, what
    its results look like, its gradients. Raises where they differ.

    >>> import whet
    >>> @whet.library.custom_op("mine::twice", mutates_args=())
    ... def twice(x: whet.Tensor) -> whet.Tensor:
    ...     return x * 2
    >>> whet.library.opcheck(twice, (whet.ones(2),))
    {'test_schema': 'SUCCESS'}
    """
    found, kwargs = _find(op), kwargs or {}
    call = Arguments(found._parameters, args, kwargs)
    before = [t.detach().clone() for t in call.tensors]
    result = found(*args, **kwargs)
    for t, was, name in zip(call.tensors, before, call.names):
        declared = found._mutates == "unknown" or name in found._mutates
        if not declared and not t.detach().equal(was) and not t.isnan().any():
            raise RuntimeError(f"{found._qualname}: argument {name} is not defined as mutable but "
                               "was mutated")
    passed = {"test_schema": "SUCCESS"}
    if (fake := found._functions.get("meta")) is not None:
        looks = [[(tuple(r.shape), r.dtype) for r in (x if isinstance(x, tuple | list) else (x,))]
                 for x in (fake(*args, **kwargs), result) if x is not None]
        if len(looks) == 2 and looks[0] != looks[1]:
            raise RuntimeError(f"{found._qualname}: the fake gives {looks[0]}, the operator "
                               f"{looks[1]}")
        passed["test_faketensor"] = "SUCCESS"
    if found._backward is not None and any(t.requires_grad for t in call.tensors):
        from .autograd import gradcheck
        gradcheck(lambda *xs: found(*call.filled(xs)[0], **call.filled(xs)[1]),
                  tuple(call.tensors))
        passed["test_autograd_registration"] = "SUCCESS"
    return passed


class Namespace:
    """`whet.ops.NAMESPACE`: the operators that were defined in it, as attributes."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> CustomOpDef:
        raise AttributeError(f"'{self._name}' has no operator '{name}'")


def namespace(name: str) -> Namespace:
    """The namespace of a name, an attribute of `whet.ops`."""
    found = vars(ops).get(name)
    if not isinstance(found, Namespace):
        found = Namespace(name)
        if not hasattr(ops, name):           # a function of ours goes before it
            setattr(ops, name, found)
    return found
