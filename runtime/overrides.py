"""What PyTorch calls overrides: functions that ask their operands, and modes, what they are.

The protocol itself is in `function_protocol.py`.
"""
import functools
import inspect
import types

import whet

from . import declared_for_tracing, function_protocol
from .function_protocol import TorchFunctionMode as TorchFunctionMode

declared_for_tracing.only_computes(globals())


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode in which all functions are what they are without it.

    >>> import whet
    >>> with whet.overrides.BaseTorchFunctionMode():
    ...     whet.ones(2) + 1
    tensor([2., 2.])
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **kwargs or {})


@declared_for_tracing.goes_by_no_size
def has_torch_function(relevant_args):
    """Is one of these to be asked what a function of them is, here and now?

    >>> import whet
    >>> whet.overrides.has_torch_function([whet.ones(2)])
    False
    """
    return bool(whet.autograd.modes.state.function_modes
                or function_protocol.operands(relevant_args, {}, function_protocol.is_asked))


@declared_for_tracing.goes_by_no_size
def has_torch_function_unary(arg):
    """`has_torch_function` of one argument.

    >>> import whet
    >>> whet.overrides.has_torch_function_unary(whet.ones(2))
    False
    """
    return has_torch_function((arg,))


@declared_for_tracing.goes_by_no_size
def has_torch_function_variadic(*args):
    """`has_torch_function` of the arguments.

    >>> import whet
    >>> whet.overrides.has_torch_function_variadic(whet.ones(2), 3)
    False
    """
    return has_torch_function(args)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What modes and the relevant arguments say that `public_api(*args, **kwargs)` is.

    >>> import whet
    >>> class Named(whet.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> x = whet.ones(2).as_subclass(Named)
    >>> whet.overrides.handle_torch_function(whet.add, (x,), x, 1)
    'add'
    """
    return function_protocol.hand_over(public_api, args, kwargs, relevant_args)


def wrap_torch_function(dispatcher):
    """A decorator of functions of tensors: those of its arguments that `dispatcher` gives, of the
    same arguments, are asked what it is.

    >>> import whet
    >>> class Named(whet.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__
    >>> @whet.overrides.wrap_torch_function(lambda a: (a,))
    ... def twice(a):
    ...     return a + a
    >>> twice(whet.ones(2).as_subclass(Named))
    'twice'
    """
    def decorate(func):
        @functools.wraps(func)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return func(*args, **kwargs)
        return call
    return decorate


def is_tensor_like(inp):
    """Is it a tensor, or an object that says what functions of tensors are of it?

    >>> import whet
    >>> whet.overrides.is_tensor_like(whet.ones(2)), whet.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return hasattr(type(inp), "__torch_function__")


def get_default_nowrap_functions():
    """Functions whose results `Tensor.__torch_function__` leaves as they are.

    >>> import whet
    >>> whet.Tensor.grad.__get__ in whet.overrides.get_default_nowrap_functions()
    True
    """
    return set(function_protocol.not_converted())


# functions that call no override
IGNORED = """as_tensor can_cast compile enable_grad from_dlpack from_file from_numpy full
get_default_dtype get_num_threads inference_mode is_grad_enabled is_inference_mode_enabled
is_storage is_tensor load manual_seed no_grad promote_types result_type save seed set_default_device
set_default_dtype set_grad_enabled set_num_threads set_printoptions typename""".split()


def get_ignored_functions():
    """Public functions that do not ask their operands what they are.

    >>> import whet
    >>> whet.from_numpy in whet.overrides.get_ignored_functions()
    True
    """
    tensor = whet.Tensor
    return {*(fn for name in IGNORED if callable(fn := getattr(whet, name, None))),
            *(getattr(tensor, name) for name in function_protocol.OF_THE_CLASS)}


def _namespaces():
    return (whet, whet.nn.functional, whet.linalg, whet.fft, whet.special, whet.Tensor)


@functools.lru_cache(None)
def _named_functions():
    """(namespace, name, function) of all public functions that ask their operands."""
    found, ignored = [], get_ignored_functions()
    kinds = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType,
             types.WrapperDescriptorType)
    for space in _namespaces():
        for name, fn in vars(space).items():
            if isinstance(fn, property):
                found.append((space, name, fn.__get__))
            elif (isinstance(fn, kinds) and (name[0] != "_" or name.endswith("__"))
                  and fn not in ignored):
                found.append((space, name, fn))
    return found


def get_overridable_functions():
    """The public functions that ask their operands, by the module or the class that has them.

    >>> import whet
    >>> whet.add in whet.overrides.get_overridable_functions()[whet]
    True
    """
    found: dict = {}
    for space, _, fn in _named_functions():
        found.setdefault(space, []).append(fn)
    return found


def get_testing_overrides():
    """A dict from each such function to one of the same signature that gives -1.

    >>> import whet
    >>> whet.overrides.get_testing_overrides()[whet.add](whet.ones(2), 1)
    -1
    """
    def stand_in(fn):
        def call(*args, **kwargs):
            return -1
        try:
            vars(call)["__signature__"] = inspect.signature(fn)
        except ValueError:                   # it has none that can be read
            pass
        return call
    return {fn: stand_in(fn) for _, _, fn in _named_functions()}


def resolve_name(f):
    """The name of a public function in full, such as `whet.Tensor.add`; None for others.

    >>> import whet
    >>> whet.overrides.resolve_name(whet.nn.functional.linear)
    'whet.nn.functional.linear'
    """
    if isinstance(f, str):
        return f
    for space, name, fn in _named_functions():
        if fn == f:
            own = "whet.Tensor" if space is whet.Tensor else space.__name__
            return f"{own}.{name}" + (".__get__" if isinstance(
                vars(space)[name], property) else "")
    return None


def is_tensor_method_or_property(func):
    """Is it a method of tensors, or the function that gets an attribute of theirs?

    >>> import whet
    >>> whet.overrides.is_tensor_method_or_property(whet.Tensor.add)
    True
    """
    return any(fn == func for space, _, fn in _named_functions() if space is whet.Tensor)


