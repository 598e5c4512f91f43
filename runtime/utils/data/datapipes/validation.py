"""What can be asked of datapipes: types of their items, and the same order each time."""
import contextlib
import functools
import inspect
import types
import typing
from collections.abc import Iterator

from .pipes import IterDataPipe, MapDataPipe


class _Settings:
    checks_items = True
    is_deterministic = False


@contextlib.contextmanager
def runtime_validation_disabled():
    """Inside, the types of items are not checked."""
    before, _Settings.checks_items = _Settings.checks_items, False
    try:
        yield
    finally:
        _Settings.checks_items = before


def runtime_validation(f):
    """Check what the `__iter__` of a datapipe gives against the type that its class states.

    >>> import whet
    >>> class Numbers(whet.utils.data.IterDataPipe[int]):
    ...     @whet.utils.data.runtime_validation
    ...     def __iter__(self):
    ...         yield "one"
    >>> list(Numbers())
    Traceback (most recent call last):
    RuntimeError: Expected an instance of <class 'int'> from Numbers, but found 'one' of type str
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def iterate(self):
        for item in f(self):
            kind = self.item_type
            if _Settings.checks_items and kind is not None and not _is_of(item, kind):
                raise RuntimeError(f"Expected an instance of {kind} from {self!r}, but found "
                                   f"{item!r} of type {type(item).__name__}")
            yield item
    return iterate


def argument_validation(f):
    """Check that a function is given datapipes where its annotations say so."""
    signature, hints = inspect.signature(f), typing.get_type_hints(f)

    @functools.wraps(f)
    def checked(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            kind = next((k for k in (IterDataPipe, MapDataPipe)
                         if isinstance(hint, type) and issubclass(hint, k)), None)
            if kind is not None and not isinstance(value, kind):
                raise TypeError(f"Expected argument '{name}' as a {kind.__name__}, but found "
                                f"{type(value)}")
        return f(*args, **kwargs)
    return checked


def _is_of(item, kind):
    """Is an item of a type, or of one that `typing` writes?"""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any or isinstance(kind, typing.TypeVar):
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_is_of(item, k) for k in inside)
    if origin is tuple:
        if inside[1:] == (...,):
            return isinstance(item, tuple) and all(_is_of(x, inside[0]) for x in item)
        return (isinstance(item, tuple) and len(item) == len(inside)
                and all(map(_is_of, item, inside)))
    if origin is Iterator or origin is None:
        return isinstance(item, origin or (type(None) if kind is None else kind))
    if not isinstance(item, origin):
        return False
    if isinstance(item, dict):
        return all(_is_of(k, inside[0]) and _is_of(v, inside[1]) for k, v in item.items())
    return all(_is_of(x, inside[0]) for x in item) if isinstance(item, list | set) else True


class guaranteed_datapipes_determinism:
    """Whether datapipes must give their items in the same order each time: those that are
    `non_deterministic` are refused. A setting, or a `with` block."""

    def __init__(self, mode=True):
        self.before, _Settings.is_deterministic = _Settings.is_deterministic, bool(mode)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        _Settings.is_deterministic = self.before


def non_deterministic(arg):
    """Say of a class of datapipes that its items come in another order each time; or of some of
    them, by a function of what they are made with.

    >>> import whet
    >>> @whet.utils.data.non_deterministic
    ... class Listed(whet.utils.data.IterDataPipe):
    ...     pass
    >>> with whet.utils.data.guaranteed_datapipes_determinism():
    ...     Listed()
    Traceback (most recent call last):
    TypeError: Listed is non-deterministic, but you set 'guaranteed_datapipes_determinism'
    """
    if not isinstance(arg, type):
        return lambda cls: _refused_where(cls, arg)
    if not issubclass(arg, IterDataPipe):
        raise TypeError("Only `IterDataPipe` can be decorated with `non_deterministic`, but "
                        f"{arg.__name__} is found")
    return _refused_where(arg, lambda *args, **kwargs: True)


def _refused_where(cls, is_random):
    """A class whose objects are refused where order is asked for and `is_random` says that these
    have none."""
    made = cls.__init__

    @functools.wraps(made)
    def init(self, *args, **kwargs):
        if _Settings.is_deterministic and is_random(*args, **kwargs):
            raise TypeError(f"{cls.__name__} is non-deterministic, but you set "
                            "'guaranteed_datapipes_determinism'")
        made(self, *args, **kwargs)
    cls.__init__ = init
    return cls
