"""What a datapipe is: a dataset with functions that make further datapipes of it."""
import functools

from ....autograd.modes import warn
from ..dataset import Dataset, IterableDataset


class _Functions:
    """The functions that datapipes of a kind have, under names."""
    functions: dict

    def __getattr__(self, name):
        made = type(self).functions.get(name)
        if made is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return functools.partial(made, self)

    def __dir__(self):
        return [*super().__dir__(), *type(self).functions]

    @classmethod
    def register_function(cls, function_name, function):
        """Give all datapipes of the kind a function of a name."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = function

    register_datapipe_as_function = register_function

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __class_getitem__(cls, item):
        """The class with the type of its items, which `runtime_validation` checks."""
        return type(cls.__name__, (cls,), {"item_type": item, "__module__": cls.__module__})

    def __repr__(self):
        return type(self).__qualname__

    def __len__(self):
        raise TypeError(f"object of type '{type(self).__name__}' has no len()")


class IterDataPipe(_Functions, IterableDataset):
    """A datapipe that is a stream: a subclass gives `__iter__`.

    There is one iterator of it at a time: another one invalidates those before, so that what a
    datapipe keeps while it runs is of one run.

    >>> from whet.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(5)).map(lambda i: i * 10).batch(2))
    [[0, 10], [20, 30], [40]]
    """
    functions: dict = {}
    item_type = None

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__iter__" in vars(cls):
            cls.__iter__ = _one_at_a_time(cls.__iter__)   # type: ignore[method-assign]


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""


class MapDataPipe(_Functions, Dataset):
    """A datapipe with indices: a subclass gives `__getitem__` and `__len__`.

    >>> from whet.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper("abc").map(str.upper)[1]
    'B'
    """
    functions: dict = {}


def _one_at_a_time(begin):
    """A function that begins an iteration, which ends where another one has begun."""
    @functools.wraps(begin)
    def iterate(self):
        mine = self.__dict__["_iteration"] = object()
        items = begin(self)

        def checked():
            for item in items:
                if self.__dict__.get("_iteration") is not mine:
                    raise RuntimeError(
                        "This iterator has been invalidated because another iterator has been "
                        f"created from the same IterDataPipe: {self!r}")
                yield item
        return checked()
    return iterate


def with_shuffling(datapipe, shuffle):
    """A datapipe whose shuffling parts, and those of what it is made of, shuffle or not. Where one
    is asked for and there is none, it comes last."""
    found = [pipe for pipe in _made_of(datapipe, {}) if hasattr(type(pipe), "set_shuffle")]
    for pipe in found:
        pipe.set_shuffle(shuffle)
    if shuffle and not found:
        warn("`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one "
             "at the end. Be aware that the default buffer size might not be sufficient for your "
             "task.")
        return datapipe.shuffle()
    return datapipe


def _made_of(x, seen):
    """The datapipes that lead to one, and itself."""
    if id(x) in seen or not isinstance(x, _Functions | list | tuple | dict):
        return
    seen[id(x)] = x
    if isinstance(x, _Functions):
        yield x
        x = vars(x)
    for inside in x.values() if isinstance(x, dict) else x:
        yield from _made_of(inside, seen)


def functional_datapipe(name, enable_df_api_tracing=False):
    """Give datapipes a function of a name, which makes one of this class.

    >>> import whet
    >>> from whet.utils.data.datapipes.iter import IterableWrapper
    >>> @whet.utils.data.functional_datapipe("doubled")
    ... class Doubled(whet.utils.data.IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (2 * item for item in self.source)
    >>> list(IterableWrapper([1, 2]).doubled())
    [2, 4]
    """
    def register(cls):
        kind = next((kind for kind in (IterDataPipe, MapDataPipe)
                     if isinstance(cls, type) and issubclass(cls, kind)), None)
        if kind is None:
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        kind.register_datapipe_as_function(name, cls)
        return cls
    return register


class DataChunk(list):
    """The items of a batch.

    >>> import whet
    >>> from whet.utils.data import DataChunk
    >>> DataChunk([1, 2]), list(DataChunk([1, 2]).raw_iterator())
    ([1, 2], [1, 2])
    """

    def __init__(self, items):
        super().__init__(items)

    def as_str(self, indent=""):
        """How it is written, behind some text."""
        return indent + str(list(self))

    def raw_iterator(self):
        """Its items, whatever a subclass makes of them."""
        return super().__iter__()
