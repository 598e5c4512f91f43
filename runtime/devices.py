"""Where tensors live."""
import functools
import importlib
from typing import Any

from . import declared_for_tracing


class device:
    """A device: `device("cpu")`, `device("cuda", 1)`, `device("cuda:1")`.

    >>> import whet
    >>> whet.device("cpu")
    device(type='cpu')
    """
    __slots__ = ("type", "index")
    type: str
    index: int | None
    _TYPES = ("cpu", "cuda", "meta")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        if isinstance(type, bool) or not isinstance(type, str | int):
            raise TypeError(f"device: expected a string such as 'cpu', got {type!r}")
        if isinstance(type, int):
            type, index = "cuda", type
        if ":" in type:
            type, _, number = type.partition(":")
            if index is not None or not number.isdigit():
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        if type not in self._TYPES:
            raise RuntimeError(
                f"Expected one of {', '.join(self._TYPES)} device type at start of device string: "
                f"{type}")
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"device.{name} is read-only")

    def __reduce__(self):
        return device, (self.type, self.index)

    def __enter__(self):
        """Inside, this is the device of new tensors."""
        before = _default
        set_default_device(self)
        _outer.append(before)
        return self

    def __exit__(self, *exc):
        set_default_device(_outer.pop())

    @declared_for_tracing.goes_by_no_size
    def __repr__(self):
        return (f"device(type='{self.type}')"
                if self.index is None else f"device(type='{self.type}', index={self.index})")

    @declared_for_tracing.goes_by_no_size
    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return (isinstance(other, device)
                and (self.type, self.index or 0) == (other.type, other.index or 0))

    def __hash__(self):
        return hash((self.type, self.index or 0))


CPU = device("cpu")
_default = CPU
_outer: list[device] = []        # what that was outside of each `with device(...)`
# what computes on devices beyond the CPU, once a program asked for one: `whet.cuda.execute`, or
# `whet.meta.execute`, which hands on to the other
beyond: Any = None


@functools.lru_cache(64)
def parsed(text):
    """The device of a text."""
    return device(text)


@functools.lru_cache(64)
def cuda(index):
    """The device of this number."""
    return device("cuda", index)


def as_device(d):
    """A usable device from what users write; None is the default device."""
    if d is None:
        return _default
    if d is CPU or d == "cpu":
        return CPU
    if type(d) is not device:
        d = parsed(d) if type(d) is str else device(d)
    if d.type == "cuda":
        return cuda(_loaded("cuda").existing(d.index))
    if d.type == "meta":
        return _loaded("meta").META
    if d.index not in (None, 0):
        raise RuntimeError(f"device '{d}' does not exist: there is one 'cpu'")
    return CPU


@functools.cache
def _loaded(type):
    """What computes on devices of a type."""
    return importlib.import_module(f".{type}.execute", __package__)


def comes(type, module):
    """What computes on devices of a type is loaded."""
    global beyond
    if beyond is None:
        beyond = module
    elif type == "meta":
        module.others, beyond = beyond, module
    else:
        beyond.others = module


def has_cuda():
    """Is there a CUDA device?"""
    return importlib.import_module(".cuda", __package__).is_available()


def function_of(family, name):
    """A function of a family of `whet.cuda`, which is found when it is called."""
    def run(*arrays, **attrs):
        return getattr(getattr(beyond, family), name)(*arrays, **attrs)
    return run


def is_elsewhere(a):
    """Is an array the memory of a tensor on another device than the CPU?"""
    return beyond is not None and beyond.is_here(a)


def of(a):
    """The device that an array is on."""
    return a.device if is_elsewhere(a) else CPU


def check_same(made, out):
    """Raise if a result is on another device than the tensor that it is written to."""
    if beyond is not None and made.device != out.device:
        raise RuntimeError(f"Attempting to copy from device {made.device} to device {out.device}, "
                           "but cross-device copies are not allowed!")


def places(a):
    """A NumPy array with the address, shape and strides of an array on any device."""
    return a.geometry if is_elsewhere(a) else a


def on_host(a):
    """An array whose elements the host can read; waits for the device if necessary."""
    return a if beyond is None else beyond.on_host(a)


def get_default_device():
    """The device of new tensors.

    >>> import whet
    >>> whet.get_default_device()
    device(type='cpu')
    """
    return _default


def set_default_device(device):
    """Set the device of new tensors; None is the CPU.

    >>> import whet
    >>> whet.set_default_device("meta")
    >>> whet.ones(2).device
    device(type='meta')
    >>> whet.set_default_device(None)
    """
    global _default
    before, _default = _default, CPU if device is None else as_device(device)
    if _default is not before:
        for clear in on_default_change:
            clear()


on_default_change: list = []     # caches that depend on it
