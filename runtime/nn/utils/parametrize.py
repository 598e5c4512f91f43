"""Parameters that are computed from other parameters, at every use."""
import copy
from contextlib import contextmanager

import whet

from ... import declared_for_tracing as _declared_for_tracing
from ...autograd import modes
from ...tensor import Tensor
from ..containers import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations"]

class _Computed:
    """`values`: (id(module), name) -> value, inside of `cached()`; None outside. `observers`: who
    watched ops when the block began."""

    def __init__(self):
        self.values, self.observers = None, ()


_computed = _Computed()


@contextmanager
def cached():
    """Compute each parametrised tensor once inside of this block.

    >>> import whet
    >>> from whet.nn.utils import parametrize
    >>> layer = whet.nn.Linear(2, 2)
    >>> _ = parametrize.register_parametrization(layer, "weight", whet.nn.Tanh())
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    modes.goes_by(_computed)
    if _computed.values is not None:
        yield
        return
    _computed.values, _computed.observers = {}, modes.state.observers
    try:
        yield
    finally:
        _computed.values, _computed.observers = None, ()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors they start from: `original`, or
    `original0`, `original1`, ...

    >>> import whet
    >>> from whet.nn.utils import parametrize
    >>> layer = whet.nn.Linear(2, 2)
    >>> _ = parametrize.register_parametrization(layer, "weight", whet.nn.ReLU())
    >>> bool(whet.equal(layer.parametrizations.weight.original.relu(), layer.weight))
    True
    """

    def __init__(self, modules, original, unsafe=False):
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with whet.no_grad():
            value = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        pass
        self.is_tensor = isinstance(value, Tensor)
        if not self.is_tensor and not isinstance(value, tuple | list):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(value).__name__}")
        values = [value] if self.is_tensor else value
        self.ntensors = len(values)
        for i, t in enumerate(values):
            if not isinstance(t, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple"
                    f"...). Got element {i} of the sequence with type {type(t).__name__}.")
        if self.is_tensor:
            for what in ("dtype", "device"):
                before, after = getattr(original, what), getattr(value, what)
                if before != after:
                    raise ValueError(
                        f"When `right_inverse` outputs one tensor, it may not change the {what}: "
                        f"{before} to {after}.")
        if not unsafe:
            with whet.no_grad():
                check_same_kind(self._computed_from(values), original)
        for i, t in enumerate(values):
            name = "original" if self.is_tensor else f"original{i}"
            if isinstance(original, Parameter):
                if self.is_tensor and t.shape == original.shape:
                    # an optimizer that has the parameter goes on having it
                    original.data = t.data
                    t = original
                else:
                    t = Parameter(t.detach(), requires_grad=original.requires_grad)
                self.register_parameter(name, t)
            else:
                self.register_buffer(name, t)

    @property
    def _steps(self):
        """The parametrizations, without what belongs to those of the originals themselves."""
        return [m for name, m in self._modules.items() if name != "parametrizations"]

    @property
    def originals(self):
        """The tensors the first parametrization gets."""
        return ([self.original] if self.is_tensor else [
            getattr(self, f"original{i}") for i in range(self.ntensors)])

    def right_inverse(self, value):
        """Set the originals so that the parametrised tensor is `value`."""
        with whet.no_grad():
            for module in reversed(self._steps):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else value
            if len(values) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got {len(values)}")
            for mine, new in zip(self.originals, values):
                if mine.dtype is not new.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {new.dtype} while the "
                        f"original tensor has dtype {mine.dtype}")
                mine.data = new.data

    def _computed_from(self, originals):
        first, *rest = self._steps
        value = first(*originals)
        for module in rest:
            value = module(value)
        return value

    def forward(self):
        if not len(self):
            raise RuntimeError("Calling a parametrization that has been removed.")
        return self._computed_from(self.originals)


def check_same_kind(made, before):
    """Raise unless what a parametrization made is a tensor like the one that it stands for."""
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(made, what) != getattr(before, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"the `unsafe` flag is enabled: {getattr(before, what)} to {getattr(made, what)}.")


def _check_inverse(parametrization, made, before):
    """Raise unless the parametrization's right_inverse, if it has one, takes back what it made to
    a tensor like the one before."""
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(made)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(
            f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(before, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as the parametrized one, unless the `unsafe` flag is enabled: "
                f"{getattr(before, what)}, got {getattr(back, what)}.")


def _property(name):
    def get(self):
        modes.goes_by(_computed)
        values, key = _computed.values, (id(self), name)
        if values is None:
            return self.parametrizations[name]()
        if modes.state.observers != _computed.observers:
            modes.beyond(
                "it is called inside of parametrize.cached(), which keeps what it computes")
        if key not in values:
            values[key] = self.parametrizations[name]()
        return values[key]

    def set_(self, value):
        self.parametrizations[name].right_inverse(value)
    return property(get, set_)


def _as_parametrized_class(module):
    """Give the module a class of its own, to hold the properties."""
    cls = type(module)

    def refuse(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict().")

    def deepcopy(self, memo):
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = {k: copy.deepcopy(v, memo) for k, v in self.__dict__.items()}
        return made

    own = {"__getstate__": refuse, "__module__": cls.__module__}
    if not hasattr(cls, "__deepcopy__"):        # a module that copies itself goes on doing so
        own["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), own)
    module.parametrizations = ModuleDict()


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """From now on `module.tensor_name` is what `parametrization` makes of the tensor that is
    there now.

    >>> import whet
    >>> class Symmetric(whet.nn.Module):
    ...     def forward(self, w):
    ...         return w.triu() + w.triu(1).mT
    >>> layer = whet.nn.Linear(3, 3)
    >>> layer = whet.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> whet.equal(layer.weight, layer.weight.mT)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        chain = module.parametrizations[tensor_name]
        if not unsafe:
            with whet.no_grad():
                now = getattr(module, tensor_name)
                after = parametrization(now)
                check_same_kind(after, now)
                _check_inverse(parametrization, after, now)
        chain.append(parametrization)
        chain.unsafe = chain.unsafe or unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            "with name "
            f"'{tensor_name}'")
    chain = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _as_parametrized_class(module)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = chain
    return module


@_declared_for_tracing.goes_by_no_size
def is_parametrized(module, tensor_name=None):
    """Has the module a parametrization (of that tensor)?

    >>> import whet
    >>> from whet.nn.utils import parametrize
    >>> layer = whet.nn.Linear(2, 2)
    >>> _ = parametrize.register_parametrization(layer, "weight", whet.nn.Tanh())
    >>> parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    chains = module.__dict__.get("parametrizations")
    if not isinstance(chains, ModuleDict):
        return False
    return len(chains) > 0 if tensor_name is None else tensor_name in chains


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make the tensor an ordinary one again: with its parametrised value, or with the original
    one.

    >>> import whet
    >>> from whet.nn.utils import parametrize
    >>> layer = whet.nn.Linear(2, 2)
    >>> _ = parametrize.register_parametrization(layer, "weight", whet.nn.Tanh())
    >>> sorted(parametrize.remove_parametrizations(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    chain = module.parametrizations[tensor_name]
    original = chain.originals[0]
    if chain.is_tensor:
        if leave_parametrized:
            with whet.no_grad():
                value = getattr(module, tensor_name)
            original.data = value.data
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class without its parametrizations.

    >>> import whet
    >>> from whet.nn.utils import parametrize
    >>> layer = whet.nn.Linear(2, 2)
    >>> _ = parametrize.register_parametrization(layer, "weight", whet.nn.Tanh())
    >>> parametrize.type_before_parametrizations(layer) is whet.nn.Linear
    True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Copy the parametrizations, and the tensors they start from, to another module.

    >>> import whet
    >>> from whet.nn.utils import parametrize
    >>> layer = whet.nn.Linear(2, 2)
    >>> _ = parametrize.register_parametrization(layer, "weight", whet.nn.Tanh())
    >>> other = parametrize.transfer_parametrizations_and_params(layer, whet.nn.Linear(2, 2))
    >>> whet.equal(layer.weight, other.weight)
    True
    """
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        chain = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        for parametrization in chain._steps:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        for mine, theirs in zip(to_module.parametrizations[name].originals, chain.originals):
            mine.data = theirs.detach().clone()
    return to_module
