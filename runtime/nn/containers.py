"""Modules and parameters in sequences and dictionaries."""
import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice

from .. import declared_for_tracing
from ..autograd.modes import warn
from ..tensor import Tensor
from .module import Module
from .parameter import Parameter

__all__ = [
    "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "DataParallel",
    "Container"]


class _ModuleSequence(Module):
    """Submodules named "0", "1", ...: what Sequential and ModuleList share."""

    def _at(self, index):
        """The name at a position."""
        n = len(self)
        index = operator.index(index)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return next(islice(self._module_names, index % n, None))

    @declared_for_tracing.goes_by_no_size
    def __len__(self):
        return len(self._module_names)

    def __iter__(self):
        attrs = self.__dict__
        return iter([attrs[name] for name in attrs["_module_names"]])

    def __getitem__(self, index):
        if isinstance(index, slice):
            names = list(self._module_names)[index]
            return self._new(OrderedDict((n, self.__dict__[n]) for n in names))
        return self.__dict__[self._at(index)]

    def __setitem__(self, index, module):
        setattr(self, self._at(index), module)

    def __delitem__(self, index):
        for name in (list(self._module_names)[index] if isinstance(index, slice) else [
                self._at(index)]):
            delattr(self, name)
        self._rename(list(self._modules.items()))

    def _rename(self, items):
        """Number the modules again."""
        for name, _ in items:
            delattr(self, name)
        for i, (_, module) in enumerate(items):
            self.add_module(str(i), module)

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module):
        """Add at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add before a position."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        items = list(self._modules.items())
        at = index + n if index < 0 else index
        for name, _ in items:
            delattr(self, name)
        for i, m in enumerate([*(m for _, m in items[:at]), module, *(m for _, m in items[at:])]):
            self.add_module(str(i), m)

    def extend(self, modules):
        """Add several at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, key):
        """Remove and return."""
        module = self[key]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Modules called one after the other.

    >>> import whet
    >>> from whet import nn
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> model(whet.ones(3, 4)).shape
    whet.Size([3, 2])
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def _new(self, modules):
        return type(self)(modules)

    def insert(self, index, module):
        """Add before a position."""
        super().insert(index, module)
        return self

    def forward(self, input):
        attrs = self.__dict__
        for name in attrs["_module_names"]:
            input = attrs[name](input)
        return input

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is "
                "given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is "
                "given.")
        return self.extend(other)

    def __mul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return Sequential(*(list(self) * times))

    __rmul__ = __mul__

    def __imul__(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return self.extend(list(self) * (times - 1))


class ModuleList(_ModuleSequence):
    """A list of modules.

    >>> import whet
    >>> from whet import nn
    >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _new(self, modules):
        return type(self)(modules.values())

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __iadd__(self, other):
        return self.extend(other)

    def __repr__(self):
        """Runs of equal modules are shown once, with their range."""
        runs: list = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = []
        for first, last, text in runs:
            text = text.replace("\n", "\n  ")
            lines.append(f"  ({first}): {text}" if first == last else f"  ({first}-{last}): "
                                                                      f"{last - first + 1} x "
                                                                      f"{text}")
        return f"{self._get_name()}(\n" + "\n".join(lines) + "\n)"


def _pairs(items, what):
    """The items of a mapping, or of an iterable of pairs."""
    if isinstance(items, Mapping | ModuleDict | ParameterDict):
        return list(items.items())
    if not isinstance(items, Iterable):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but got "
            f"{type(items).__name__}")
    pairs = []
    for i, pair in enumerate(items):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(
                f"{what} update sequence element #{i} has length {len(pair)}; 2 is required")
        pairs.append(tuple(pair))
    return pairs


class ModuleDict(Module):
    """A dictionary of modules.

    >>> import whet
    >>> from whet import nn
    >>> layers = nn.ModuleDict({"up": nn.Linear(2, 4), "act": nn.ReLU()})
    >>> list(layers.keys())
    ['up', 'act']
    >>> layers["act"](layers["up"](whet.ones(2))).shape
    whet.Size([4])
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    @declared_for_tracing.goes_by_no_size
    def __len__(self):
        return len(self._module_names)

    def __iter__(self):
        return iter(self._module_names)

    def __contains__(self, key):
        return key in self._module_names

    def clear(self):
        """Remove all."""
        for key in list(self):
            del self[key]

    def pop(self, key):
        """Remove and return."""
        module = self[key]
        del self[key]
        return module

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """Pairs of name and module."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add or replace from a mapping or from pairs."""
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


class ParameterList(Module):
    """A list of parameters (a Tensor becomes a Parameter; anything else is kept as it is).

    >>> import whet
    >>> from whet import nn
    >>> p = nn.ParameterList([whet.ones(2), whet.zeros(3)])
    >>> len(p), p[1].requires_grad
    (2, True)
    """

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index):
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise IndexError(f"index {index} is out of range")
        return str(index % self._size)

    @declared_for_tracing.goes_by_no_size
    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(self._size)])

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(self[i] for i in range(*index.indices(self._size)))
        return getattr(self, self._name(index))

    def __setitem__(self, index, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, self._name(index), value)

    def append(self, value):
        """Add at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add several at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values):
        return self.extend(values)

    def pop(self, index=-1):
        """Remove and return."""
        values = list(self)
        value = values.pop(index)
        for i in range(self._size):
            delattr(self, str(i))
        self._size = 0
        self.extend(values)
        return value

    def __dir__(self):
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self):
        return "\n".join(_describe(i, v, lambda x: x.dtype) for i, v in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters (a Tensor becomes a Parameter; anything else is kept as it is).

    >>> import whet
    >>> from whet import nn
    >>> p = nn.ParameterDict({"scale": nn.Parameter(whet.ones(2))})
    >>> list(p), p["scale"].requires_grad
    (['scale'], True)
    """

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _attr(self, key):
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                "(type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        # a key that is also a method or an attribute of Module gets a name of its own
        return f"_{key}" if hasattr(Module, key) or hasattr(type(self), key) else key

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, self._attr(key))

    def __setitem__(self, key, value):
        attr = self._attr(key)
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, attr, value)
        self._keys[key] = None

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._attr(key))

    @declared_for_tracing.goes_by_no_size
    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def values(self):
        """The values."""
        return [self[k] for k in self._keys]

    def items(self):
        """Pairs of key and value."""
        return [(k, self[k]) for k in self._keys]

    def get(self, key, default=None):
        """The value, or a default."""
        return self[key] if key in self._keys else default

    def setdefault(self, key, default=None):
        """The value; sets it to `default` first where it is missing."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def fromkeys(self, keys, default=None):
        """A new ParameterDict with the same value for all keys."""
        return ParameterDict((k, default) for k in keys)

    def copy(self):
        """A new ParameterDict of the same parameters."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def clear(self):
        """Remove all."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key):
        """Remove and return."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove and return the last pair."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def update(self, parameters):
        """Add or replace from a mapping or from pairs."""
        for key, value in _pairs(parameters, "ParameterDict"):
            self[key] = value

    def __or__(self, other):
        new = self.copy()
        new.update(other)
        return new

    def __ror__(self, other):
        new = ParameterDict(other)
        new.update(self)
        return new

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(_describe(k, v, Tensor.type) for k, v in self.items())

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called.")


def _describe(key, value, kind_of):
    """A line on an element; PyTorch's lists and dicts name the types of tensors differently."""
    if isinstance(value, Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        return (
            f"  ({key}): {kind} containing: [{kind_of(value)} of size "
            f"{'x'.join(map(str, value.shape))}]")
    return f"  ({key}): Object of type: {type(value).__name__}"


class Container(Module):
    """A module of the modules that it is given by name. PyTorch's name from before modules could
    have modules: subclass `nn.Module`.

    >>> import whet
    >>> from whet import nn
    >>> len(list(nn.Container(first=nn.ReLU(), second=nn.Tanh()).children()))
    2
    """

    def __init__(self, **kwargs):
        super().__init__()
        warn("`nn.Container` is deprecated. All of its functionality is now implemented in "
             "`nn.Module`. Subclass that instead.", FutureWarning,
             stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


class DataParallel(Module):
    """A module whose batches could be split over several devices; with one device (or none) it
    calls the module.

    >>> import whet
    >>> from whet import nn
    >>> nn.DataParallel(nn.Linear(3, 2))(whet.ones(4, 3)).shape
    whet.Size([4, 2])
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = list(device_ids or []), output_device
        if len(self.device_ids) > 1:
            raise NotImplementedError("DataParallel: more than one device is not supported")

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
