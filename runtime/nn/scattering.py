"""Batches in parts, and modules in copies, on several devices: what `DataParallel` is made of."""
import copy

from .. import devices as _devices
from ..autograd import modes
from ..ops import cat
from ..ops.registry import is_tensor


def _placed(x, device):
    """A tensor on a device, which a number stands for; its gradient comes back."""
    return x.to(_devices.as_device(device))


def scatter(inputs, target_gpus, dim=0):
    """For each device (or as many as there are parts for) its part of tensors along a dimension.
    Containers are taken apart; what is no tensor goes to all.

    >>> import whet
    >>> whet.nn.parallel.scatter(whet.arange(4), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2, 3]))
    >>> whet.nn.parallel.scatter([whet.arange(2), "same"], ["cpu", "cpu"])
    [[tensor([0]), 'same'], [tensor([1]), 'same']]
    """
    if is_tensor(inputs):
        parts = inputs.chunk(len(target_gpus), dim)
        return tuple([_placed(part, device) for part, device in zip(parts, target_gpus)])
    if isinstance(inputs, tuple | list) and inputs:
        parts = zip(*[scatter(x, target_gpus, dim) for x in inputs])
        if hasattr(inputs, "_fields"):
            return [type(inputs)(*part) for part in parts]
        return [*parts] if isinstance(inputs, tuple) else [[*part] for part in parts]
    if isinstance(inputs, dict) and inputs:
        parts = zip(*[scatter(item, target_gpus, dim) for item in inputs.items()])
        return [type(inputs)(part) for part in parts]
    return [inputs for _ in target_gpus]


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """For each device its part of the positional and keyword arguments of a call."""
    args = [*scatter(inputs, target_gpus, dim)] if inputs else []
    named = [*scatter(kwargs, target_gpus, dim)] if kwargs else []
    count = max(len(args), len(named))
    return (tuple(args + [()] * (count - len(args))),
            tuple(named + [{} for _ in range(count - len(named))]))


def gather(outputs, target_device, dim=0):
    """The results of several devices as one on a device: tensors are put together along a
    dimension, containers taken apart.

    >>> import whet
    >>> whet.nn.parallel.gather([{"y": whet.ones(1)}, {"y": whet.zeros(2)}], "cpu")
    {'y': tensor([1., 0., 0.])}
    """
    first = outputs[0]
    if is_tensor(first):
        if dim == 0 and all(x.ndim == 0 for x in outputs):
            modes.warn("Was asked to gather along dimension 0, but all input tensors were scalars; "
                       "will instead unsqueeze and return a vector.")
            outputs = [x.unsqueeze(0) for x in outputs]
        return cat([_placed(x, target_device) for x in outputs], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(first) != len(other) for other in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([x[k] for x in outputs], target_device, dim)) for k in first)
    parts = [gather(part, target_device, dim) for part in zip(*outputs, strict=True)]
    return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)


def replicate(network, devices, detach=False):
    """A copy of a module for each device. Its parameters are tensors there whose gradients come
    back to the module's, unless `detach` is true.

    >>> import whet
    >>> layer = whet.nn.Linear(2, 1)
    >>> a, b = whet.nn.parallel.replicate(layer, ["cpu", "cpu"])
    >>> (a(whet.ones(2)) + b(whet.ones(2))).backward()
    >>> layer.bias.grad
    tensor([2.])
    """
    return [_copy(network, device, detach, {}) for device in devices]


def _copy(module, device, detach, copies):
    """A copy of a module and of those below it, each once."""
    if module not in copies:
        copies[module] = made = copy.copy(module)
        attrs, names = made.__dict__, module.__dict__
        for kind in ("_parameter_names", "_buffer_names", "_module_names"):
            attrs[kind] = dict(names[kind])
        for name in names["_module_names"]:
            if names[name] is not None:
                attrs[name] = _copy(names[name], device, detach, copies)
        for name in (*names["_parameter_names"], *names["_buffer_names"]):
            if names[name] is not None:
                t = names[name].detach() if detach else names[name]
                attrs[name] = _placed(t, device)
        attrs["_parameter_names"].clear()        # they are no leaves
    return copies[module]


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """The results of modules, each of its own arguments.

    >>> import whet
    >>> parallel_apply = whet.nn.parallel.parallel_apply
    >>> parallel_apply([whet.nn.ReLU(), whet.nn.Tanh()], [whet.ones(1), (whet.zeros(1),)])
    [tensor([1.]), tensor([0.])]
    """
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    for other, what in ((inputs, "inputs"), (kwargs_tup, "keyword arguments"),
                        (devices or modules, "devices")):
        if len(modules) != len(other):
            raise AssertionError(f"The number of modules {len(modules)} is not equal to the number "
                                 f"of {what} {len(other)}")
    return [module(*(args if isinstance(args, tuple | list) else (args,)), **kwargs)
            for module, args, kwargs in zip(modules, inputs, kwargs_tup)]
