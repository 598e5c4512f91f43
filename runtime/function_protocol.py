"""Who has a say in what a function of tensors is: PyTorch's protocol `__torch_function__`.

Three kinds are asked, `__torch_function__(func, types, args, kwargs)`:

- a *mode* that is entered (`overrides.TorchFunctionMode`), before everything else;
- tensors of a class of a user's. `Tensor.__torch_function__`, which such a class has where it
  defines none, makes results tensors of that class;
- objects that are no tensors, by functions that cannot take them. Ops refuse what they cannot take
  before they write anything.

Calls of ordinary tensors pay nothing for it: a function looks at its arguments only while there is
a class or a mode that has a say (`speakers`). Inside of `DisableTorchFunctionSubclass` tensors have
none; there `Tensor.__torch_function__` calls the function itself.
"""
import functools
import inspect
import types
import weakref

from . import declared_for_tracing, tensor_base
from .autograd import modes

declared_for_tracing.only_computes(globals())
state, MUTE = modes.state, modes.MUTE
# not empty while somebody has a say: references to classes of users', and modes that are entered
speakers: list = []
NUMBERS = frozenset((int, float, bool, type(None), str))
MINE = object()                  # what `asked` gives where nobody has a say


def disabled(func, types, args=(), kwargs=None):
    """The `__torch_function__` of classes of tensors that have no say."""
    with DisableTorchFunctionSubclass():
        return func(*args, **kwargs or {})


def has_own(x):
    """Does an operand's type say what functions are of it?"""
    return speaks(type(x))


def speaks(cls):
    """Does a class say what functions are of its objects?"""
    own = getattr(cls, "__torch_function__", disabled)
    return own is not disabled and cls is not tensor_base.tensor_class()


def is_tensor_class(cls):
    """Is it a class of tensors, those included that are made of tensors and stand for none?"""
    return issubclass(cls, tensor_base.Base)


def operands(args, kwargs, wanted):
    """Which arguments of a call, or elements of lists among them, are asked what the call does.
    `wanted`: is a type asked? Of each type it is the first, subclasses before what they are made
    from."""
    found: list = []
    for x in (*args, *kwargs.values()):
        for y in x if type(x) in (list, tuple) else (x,):
            t = type(y)
            if wanted(t) and not any(t is type(z) for z in found):
                at = next((i for i, z in enumerate(found) if issubclass(t, type(z))), len(found))
                found.insert(at, y)
    return found


def is_foreign(cls):
    """Has a class a say that is none of tensors?"""
    return speaks(cls) and not is_tensor_class(cls)


def is_asked(cls):
    """Has a class a say, here and now?"""
    return speaks(cls) and not (state.flags & MUTE and is_tensor_class(cls))


def foreign(args, kwargs):
    """The operands that are no tensors, and have a say."""
    return operands(args, kwargs, is_foreign)


def is_to_ask(args, kwargs):
    """Is somebody to be asked before a function looks at its arguments?"""
    if state.function_modes:
        return True
    if state.flags & MUTE:
        return False
    for x in (*args, *kwargs.values()) if kwargs else args:
        t = type(x)
        if t is list or t is tuple:
            if any([is_tensor_class(type(y)) and speaks(type(y)) for y in x]):
                return True
        elif t not in NUMBERS and is_tensor_class(t) and speaks(t):
            return True
    return False


def hand_over(func, args, kwargs, relevant=None):
    """What modes and operands say that a public function is of its arguments; of the `relevant`
    ones, where not all are. Each may leave it to the next."""
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


# ---- where nobody is asked -----------------------------------------------------------------------
class DisableTorchFunctionSubclass:
    """Inside, tensors have no say in what functions are.

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
    """Inside, neither tensors nor modes have a say."""
    __slots__ = ("_modes",)

    def __enter__(self):
        super().__enter__()
        self._modes = _Without(len(state.function_modes))
        self._modes.__enter__()

    def __exit__(self, *exc):
        self._modes.__exit__()
        super().__exit__()


class _Without:
    """Inside, this number of the modes that were entered last are not asked."""
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
    """While it is entered, its `__torch_function__(func, types, args, kwargs)` is asked what each
    public function is, whatever its arguments are. Inside of it the mode is not entered.

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
    """A class of tensors was made. Where it has a say, it is asked from now on: of functions, and
    of the members that it has from `Tensor` and that ask nobody themselves."""
    if not speaks(cls):
        return
    speakers.append(weakref.ref(cls, speakers.remove))
    tensor = tensor_base.tensor_class()
    for name, member in vars(tensor).items():
        if _is_to_be_asked(name, member) and inspect.getattr_static(cls, name) is member:
            setattr(cls, name, _AskedAttribute(member) if hasattr(member, "__set__")
                    else _asked_method(member))


# members that are what the class is, not what a tensor is; and `__iter__`, which others make up
OF_THE_CLASS = frozenset("__new__ __init__ __init_subclass__ __torch_function__ __hash__ __dir__ "
                         "as_subclass __iter__".split())


def _is_to_be_asked(name, member):
    """Is a member of `Tensor` a function or an attribute that consults no override itself?"""
    if name in OF_THE_CLASS or name[0] == "_" and not name.endswith("__"):
        return False
    if isinstance(member, types.FunctionType):
        return not (hasattr(member, "guarded") or member.__code__.co_filename == "<whet>")
    return isinstance(member, property)


class _AskedAttribute:
    """An attribute of tensors of a class that is asked what it is."""

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
    """A method of tensors of a class that is asked what it is."""
    @functools.wraps(fn)
    def call(self, *args, **kwargs):
        if is_to_ask((self, *args), kwargs):
            return hand_over(fn, (self, *args), kwargs)
        return fn(self, *args, **kwargs)
    return call
