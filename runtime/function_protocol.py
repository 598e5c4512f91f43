"""How functions of tensors are overridden: PyTorch's protocol `__torch_function__`.

An override is a method `__torch_function__(func, types, args, kwargs)`, which is called in place of
the function. Three kinds of objects have one:

- a *mode* that is entered (`overrides.TorchFunctionMode`): it is called before all others;
- tensors of a user's class. If the class defines none it has `Tensor.__torch_function__`, which
  makes results tensors of that class;
- objects that are no tensors. They are called by functions that cannot take them. Ops refuse what
  they cannot take before they write anything.

Calls of ordinary tensors pay nothing for it. A function looks at its arguments only while there is
a class or a mode with an override (`speakers`). Inside of `DisableTorchFunctionSubclass` overrides
of tensors are not called; there `Tensor.__torch_function__` calls the function itself.
"""
import functools
import inspect
import types
import weakref

from . import declared_for_tracing, tensor_base
from .autograd import modes

declared_for_tracing.only_computes(globals())
state, MUTE = modes.state, modes.MUTE
# what has an override now: references to users' classes of tensors, and modes that are entered
speakers: list = []
NUMBERS = frozenset((int, float, bool, type(None), str))
MINE = object()                  # what `asked` gives where no override is called


def disabled(func, types, args=(), kwargs=None):
    """The `__torch_function__` of classes of tensors that override nothing."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs or {})


def has_own(x):
    """Does an operand's type override functions?"""
    return overrides_functions(type(x))


def overrides_functions(cls):
    """Does a class override functions of its objects?"""
    own = getattr(cls, "__torch_function__", disabled)
    return own is not disabled and cls is not tensor_base.tensor_class()


def is_tensor_class(cls):
    """Is it a class of tensors, those included that are made of tensors and stand for none?"""
    return issubclass(cls, tensor_base.Base)


def operands(args, kwargs, wanted):
    """The arguments of a call, or elements of lists among them, whose overrides are called, in
    order: one of each type, subclasses before their bases. `wanted`: is a type's override
    called?"""
    found: list = []
    for x in (*args, *kwargs.values()):
        for y in x if type(x) in (list, tuple) else (x,):
            t = type(y)
            if wanted(t) and not any(t is type(z) for z in found):
                at = next((i for i, z in enumerate(found) if issubclass(t, type(z))), len(found))
                found.insert(at, y)
    return found


def is_foreign(cls):
    """Does a class that is none of tensors override functions?"""
    return overrides_functions(cls) and not is_tensor_class(cls)


def is_asked(cls):
    """Is a class's override called at the moment?"""
    return overrides_functions(cls) and not (state.flags & MUTE and is_tensor_class(cls))


def foreign(args, kwargs):
    """The operands that are no tensors, and override functions."""
    return operands(args, kwargs, is_foreign)


def is_to_ask(args, kwargs):
    """Is an override to be called before a function looks at its arguments?"""
    if state.function_modes:
        return True
    if state.flags & MUTE:
        return False
    for x in (*args, *kwargs.values()) if kwargs else args:
        t = type(x)
        if t is list or t is tuple:
            if any([is_tensor_class(type(y)) and overrides_functions(type(y)) for y in x]):
                return True
        elif t not in NUMBERS and is_tensor_class(t) and overrides_functions(t):
            return True
    return False


def hand_over(func, args, kwargs, relevant=None):
    """Call the overrides of a public function: those of modes, then those of operands, or of the
    `relevant` ones. The result is that of the first that does not return NotImplemented."""
    found = (operands(args, kwargs, is_asked) if relevant is None
             else operands(relevant, {}, is_asked))
    types = tuple([type(x) for x in found])
    if state.function_modes:
        mode = state.function_modes[-1]
        with _Without(1):
            result = mode.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for x in found:
        result = type(x).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{getattr(func, '__module__', None) or 'whet'}.{func.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement "
                    f"__torch_function__: {[t.__qualname__ for t in types]}")


def of_tensors(cls, func, types, args=(), kwargs=None):
    """`Tensor.__torch_function__`: the function itself, whose results are tensors of the class."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **kwargs or {})
    return result if func in not_converted() else converted(result, cls)


@functools.lru_cache(None)
def not_converted():
    """Functions whose results stay of the class that they are of."""
    tensor = tensor_base.tensor_class()
    return frozenset((tensor._base.__get__, tensor.grad.__get__, tensor._grad.__get__))


def converted(result, cls):
    """A result, or each of several, as a tensor of a class."""
    if is_tensor_class(type(result)):
        if isinstance(result, cls):
            return result
        is_leaf = result._node is None and result._rg & tensor_base.REQUIRES_GRAD
        return result.as_subclass(cls) if is_leaf else result._as(cls)
    if isinstance(result, tuple | list):
        made = [converted(x, cls) for x in result]
        return result._make(made) if hasattr(result, "_make") else type(result)(made)
    return result


# ---- where overrides are not called --------------------------------------------------------------
class DisableTorchFunctionSubclass:
    """Inside, overrides of tensors are not called.

    >>> import whet
    >>> class Kept(whet.Tensor):
    ...     pass
    >>> t = whet.ones(2).as_subclass(Kept)
    >>> with whet._C.DisableTorchFunctionSubclass():
    ...     inside = t + 1
    >>> type(inside).__name__, type(t + 1).__name__
    ('Tensor', 'Kept')
    """
    __slots__ = ("before",)
    before: int

    def __enter__(self):
        self.before = modes.enter(state.flags | MUTE)

    def __exit__(self, *exc):
        modes.set_flags(state.flags & ~MUTE | self.before & MUTE)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside, overrides are not called: neither those of tensors nor those of modes."""
    __slots__ = ("_modes",)

    def __enter__(self):
        super().__enter__()
        self._modes = _Without(len(state.function_modes))
        self._modes.__enter__()

    def __exit__(self, *exc):
        self._modes.__exit__()
        super().__exit__()


class _Without:
    """Inside, this number of the modes that were entered last are not called."""
    __slots__ = ("count", "before")

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.before = state.function_modes
        state.function_modes = self.before[:len(self.before) - self.count]
        modes.refresh()

    def __exit__(self, *exc):
        state.function_modes = self.before
        modes.refresh()


class TorchFunctionMode:
    """While it is entered, its `__torch_function__(func, types, args, kwargs)` is called in place
    of each public function, whatever the arguments are. Within that call the mode is not entered.

    >>> import whet
    >>> class Counting(whet.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **kwargs or {})
    >>> with Counting() as mode:
    ...     t = whet.ones(2) + 1
    >>> mode.calls
    2
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """What a call of a public function gives."""
        raise NotImplementedError

    def __enter__(self):
        speakers.append(self)
        state.function_modes += (self,)
        modes.refresh()
        return self

    def __exit__(self, *exc):
        state.function_modes = state.function_modes[:-1]
        speakers.remove(self)
        modes.refresh()

    @classmethod
    def push(cls, *args, **kwargs):
        """A mode, to be entered."""
        return cls(*args, **kwargs)


# ---- classes of users' ---------------------------------------------------------------------------
def joined(cls):
    """A class of tensors was made. If it overrides functions, its override is called from now on,
    or where its objects hold a `Speaker`, as long as there are such objects. That holds for members
    of `Tensor` as well, if they call no override by themselves."""
    if not overrides_functions(cls):
        return
    if not hasattr(cls, "_speaker"):
        speakers.append(weakref.ref(cls, speakers.remove))
    tensor = tensor_base.tensor_class()
    for name, member in vars(tensor).items():
        if _is_to_be_asked(name, member) and inspect.getattr_static(cls, name) is member:
            setattr(cls, name, _AskedAttribute(member) if hasattr(member, "__set__")
                    else _asked_method(member))


class Speaker:
    """Overrides are looked for as long as this object lives."""
    __slots__ = ("__weakref__",)

    def __init__(self):
        speakers.append(weakref.ref(self, speakers.remove))


# members that are what the class is, not what a tensor is; and `__iter__`, which others make up
OF_THE_CLASS = frozenset("__new__ __init__ __init_subclass__ __torch_function__ __hash__ __dir__ "
                         "as_subclass __iter__".split())


def _is_to_be_asked(name, member):
    """Is a member of `Tensor` a function or an attribute that calls no override by itself?"""
    if name in OF_THE_CLASS or name[0] == "_" and not name.endswith("__"):
        return False
    if isinstance(member, types.FunctionType):
        return not (hasattr(member, "guarded") or member.__code__.co_filename == "<whet>")
    return isinstance(member, property)


class _AskedAttribute:
    """An attribute for which the override of the tensors' class is called."""

    def __init__(self, member):
        self.member, self.__doc__ = member, member.__doc__

    def __get__(self, t, owner=None):
        get = self.member.__get__
        if t is None or state.flags & MUTE and not state.function_modes:
            return get(t, owner)
        return hand_over(get, (t,), {})

    def __set__(self, t, value):
        hand_over(self.member.__set__, (t, value), {})

    def __delete__(self, t):
        hand_over(self.member.__delete__, (t,), {})


def _asked_method(fn):
    """A method for which the override of the tensors' class is called."""
    @functools.wraps(fn)
    def call(self, *args, **kwargs):
        if is_to_ask((self, *args), kwargs):
            return hand_over(fn, (self, *args), kwargs)
        return fn(self, *args, **kwargs)
    return call
